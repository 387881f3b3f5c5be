"""Realised metrics by hand, by group, and what had been estimated."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.estimation import EstimatedValue
from abstain.evaluation import evaluate
from abstain.exceptions import AssumptionWarning
from abstain.metrics import AUROC, Accuracy


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(2_000, 2_000, random_state=0)


def decide(clinic, metric="auroc", **parameters):
    settings = {"budget": 0.2, "calibration": "platt", "scale": "logits", "random_state": 0}
    abstainer = Abstainer(metric, **{**settings, **parameters})
    return abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)


def test_realised_values_are_the_metrics_own(clinic):
    decisions = decide(clinic)
    found = evaluate(decisions, clinic.y_target, metrics=("accuracy",))
    kept = ~decisions.abstain
    own = found.realised["auroc"]
    assert (own.n, own.abstention_rate) == (2_000, 0.2)
    assert own.all == AUROC().observed(clinic.y_target, decisions.proba)
    assert own.kept == AUROC().observed(clinic.y_target[kept], decisions.proba[kept])
    assert own.withheld == AUROC().observed(clinic.y_target[~kept], decisions.proba[~kept])
    accuracy = found.realised["accuracy"]
    assert accuracy.all == Accuracy().observed(clinic.y_target, decisions.proba)
    assert found.estimated_after == decisions.estimate.after


def test_whether_the_intervals_held(clinic):
    found = evaluate(decide(clinic), clinic.y_target)
    own = found.realised["auroc"]
    assert found.inside_before is found.estimated_before.holds(own.all)
    assert found.inside_after is found.estimated_after.holds(own.kept)
    said = "inside" if found.inside_after else "outside"
    assert f"realised {own.kept:.4f}, {said}" in found.to_text()
    assert found.to_dict()["estimated"]["after"]["inside"] is found.inside_after
    wrong = replace(found, estimated_after=EstimatedValue(0.1, (0.0, 0.2)))
    assert wrong.inside_after is False
    assert f"realised {own.kept:.4f}, outside" in wrong.to_text()
    nothing = replace(found, estimated_after=EstimatedValue(np.nan, (np.nan, np.nan)))
    assert nothing.inside_after is None


def test_groups_are_judged_apart(clinic):
    decisions = decide(clinic, "accuracy")
    groups = np.where(np.arange(2_000) < 500, "north", "south")
    found = evaluate(decisions, clinic.y_target, groups=groups)
    assert list(found.groups) == ["north", "south"]
    north = found.groups["north"]["accuracy"]
    rows = np.arange(2_000) < 500
    assert north.n == 500
    assert north.abstention_rate == decisions.abstain[rows].mean()
    kept = rows & ~decisions.abstain
    assert north.kept == (decisions.prediction[kept] == clinic.y_target[kept]).mean()


def test_several_groupings_are_judged_each_by_itself(clinic):
    decisions = decide(clinic, "accuracy")
    site = np.where(np.arange(2_000) < 500, "north", "south")
    sex = np.where(np.arange(2_000) % 2, "f", "m")
    both = {"site": site, "sex": sex}
    found = evaluate(decisions, clinic.y_target, groups=both)
    assert [*found.groups] == [("site", "north"), ("site", "south"), ("sex", "f"), ("sex", "m")]
    alone = evaluate(decisions, clinic.y_target, groups=sex)
    assert found.groups["sex", "f"] == alone.groups["f"]
    data = found.to_dict()["groups"]
    assert data["site"]["north"]["accuracy"]["n"] == 500
    text = found.to_text()
    assert "\nby site " in text
    assert "\nby sex " in text
    for frame in (pd.DataFrame(both), pl.DataFrame(both), pa.table(both)):
        assert evaluate(decisions, clinic.y_target, groups=frame).groups == found.groups


def test_rows_without_a_group_are_a_group(clinic):
    decisions = decide(clinic, "accuracy")
    site = np.array(["north", None] * 1_000, dtype=object)
    found = evaluate(decisions, clinic.y_target, groups=site)
    assert {label: one["accuracy"].n for label, one in found.groups.items()} == {
        "north": 1_000,
        "(missing)": 1_000,
    }


def test_small_groups_are_said(clinic):
    decisions = decide(clinic, "accuracy")
    site = np.where(np.arange(2_000) < 20, "north", "south")
    with pytest.warns(AssumptionWarning, match=r"Too few rows to say much: site north \(20 rows"):
        found = evaluate(decisions, clinic.y_target, groups={"site": site})
    assert len(found.small) == 1
    assert found.to_dict()["small"] == list(found.small)
    with pytest.warns(AssumptionWarning, match=r"group 0 \(.* rows, 0 of 1\), group 1 \(.*0 of 0"):
        evaluate(decisions, clinic.y_target, groups=clinic.y_target)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluate(decisions, clinic.y_target).small == ()


def test_columns_line_up(clinic):
    decisions = decide(clinic, "sensitivity@specificity=0.9")
    names = np.where(
        np.arange(2_000) % 2, "\u6771\u4eac\u5927\u5b66", "a hospital with a long name indeed"
    )
    text = evaluate(decisions, clinic.y_target, groups=names, metrics=("f1",)).to_text()
    blocks = [block for block in text.split("\n\n") if "on the withheld" in block]
    assert len(blocks) == 2
    for block in blocks:
        head, *lines = block.splitlines()
        ends = [head.index(" on all"), head.index(" on the kept"), head.index(" on the withheld")]
        for line in lines:
            wide = "".join(f"{c}." if ord(c) > 0x2E80 else c for c in line)
            for end in ends:
                assert wide[end - 1 : end + 1].strip() in ("", ")", "%")
                assert wide[end + 1] != " "


@pytest.mark.parametrize("score", [None, "entropy", "random", "class-thresholds"])
@pytest.mark.parametrize("metric", ["auroc", "accuracy"])
def test_any_kind_of_region_has_a_curve(clinic, metric, score):
    decisions = decide(clinic, metric, score=score)
    curve = evaluate(decisions, clinic.y_target).risk_coverage
    errors = np.mean(decisions.prediction != clinic.y_target)
    assert curve.selective_risk[-1] == pytest.approx(errors)
    assert 0 <= curve.excess_aurc <= curve.aurc


def test_what_was_withheld_is_last_in_the_curve(clinic):
    decisions = decide(clinic, "accuracy")
    curve = evaluate(decisions, clinic.y_target).risk_coverage
    kept = ~decisions.abstain
    errors = np.mean(decisions.prediction[kept] != clinic.y_target[kept])
    assert curve.selective_risk[kept.sum() - 1] == pytest.approx(errors, abs=0.01)


def test_weights_and_labels_of_any_kind(clinic):
    weight = np.random.default_rng(0).integers(1, 3, 2_000)
    names = np.array(["well", "ill"])
    abstainer = Abstainer(
        "auroc", budget=0.2, calibration="platt", scale="logits", random_state=0
    ).fit(clinic.scores_val, names[clinic.y_val], classes=["well", "ill"])
    decisions = abstainer.decide(clinic.scores_target, weight)
    found = evaluate(decisions, names[clinic.y_target]).realised["auroc"]
    assert found.abstention_rate == pytest.approx(decisions.abstention_rate)
    wanted = AUROC().observed(clinic.y_target, decisions.proba, sample_weight=weight)
    assert found.all == pytest.approx(wanted)


def test_weights_of_ones_own(clinic):
    decisions, weight = decide(clinic), np.arange(2_000) % 3
    found = evaluate(decisions, clinic.y_target, sample_weight=weight).realised["auroc"]
    assert found.all == AUROC().observed(clinic.y_target, decisions.proba, sample_weight=weight)
    assert found.abstention_rate == pytest.approx(np.average(decisions.abstain, weights=weight))
    repeated = decide(clinic).policy.apply(np.repeat(clinic.scores_target, weight))
    again = evaluate(repeated, np.repeat(clinic.y_target, weight)).realised["auroc"]
    assert (again.all, again.kept) == pytest.approx((found.all, found.kept))
    with pytest.raises(ValueError, match="`sample_weight` must have one weight per row"):
        evaluate(decisions, clinic.y_target, sample_weight=weight[:5])


def test_as_plain_data_and_as_text(clinic):
    found = evaluate(decide(clinic), clinic.y_target, groups=clinic.y_target)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    # One class alone has no ROC curve.
    assert data["groups"]["1"]["auroc"]["all"] is None
    assert data["realised"]["auroc"]["kept"] == found.realised["auroc"].kept
    assert data["estimated"]["after"]["realised"] == found.realised["auroc"].kept
    text = found.to_text()
    assert "estimated without labels against realised" in text
    assert f"AURC {found.risk_coverage.aurc:.4f}" in text


def test_errors(clinic):
    decisions = decide(clinic)
    with pytest.raises(ValueError, match="one label per row"):
        evaluate(decisions, clinic.y_target[:-1])
    with pytest.raises(ValueError, match="same number of rows"):
        evaluate(decisions, clinic.y_target, groups=[1, 2])
    with pytest.raises(ValueError, match="`groups` must be one-dimensional"):
        evaluate(decisions, clinic.y_target, groups=np.zeros((2_000, 1)))


def few(weight=None):
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    proba = np.column_stack([1 - y, y]) * 0.5 + rng.dirichlet([1, 1], size=24) * 0.5
    how = {"calibration": "identity", "shift": "none", "random_state": 0}
    return Abstainer("accuracy", budget=0.25, **how).fit(proba, y).decide(proba, weight), y


@pytest.mark.filterwarnings("ignore:Too few rows")
def test_a_group_that_weighs_nothing_has_no_metric():
    weight = np.repeat([0.0, 1.0], 12)
    decisions, y = few(weight)
    found = evaluate(decisions, y, groups=np.repeat(["none", "some"], 12)).groups
    nothing = found["none"]["accuracy"]
    assert nothing.n == 12
    assert np.isnan([nothing.abstention_rate, nothing.all, nothing.kept, nothing.withheld]).all()
    assert np.isfinite(found["some"]["accuracy"].all)


@pytest.mark.filterwarnings("ignore:Too few rows")
def test_numbers_of_the_frame_are_numbers():
    pytest.importorskip("pandas")
    decisions, y = few()
    frame = evaluate(decisions, y, groups=["a", "b"] * 12).to_frame()
    assert frame["n"].dtype.kind == "i"
    assert {frame[name].dtype.kind for name in ("abstention_rate", "all", "kept_low")} == {"f"}


@pytest.mark.filterwarnings("ignore:Too few rows")
@pytest.mark.parametrize("gap", [None, np.nan, float("nan")])
def test_rows_without_a_group_are_one_of_their_own(gap):
    decisions, y = few()
    found = evaluate(decisions, y, groups=["a", gap, "(missing)"] * 8)
    assert [*found.groups] == ["(missing)", "a", "((missing))"]
    assert {by["accuracy"].n for by in found.groups.values()} == {8}


@pytest.mark.filterwarnings("ignore:Too few rows")
def test_groups_that_read_the_same_stay_apart():
    decisions, y = few()
    found = evaluate(decisions, y, groups=[1, "1", 2**53, 2**53 + 1] * 6)
    assert len(found.groups) == 4
    assert len(found.to_dict()["groups"]) == 4
    assert len({*found.to_frame()["group"]}) == 5


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([True, 1] * 12, "both booleans and numbers"),
        ([(1, 2), (3, 4)] * 12, "one-dimensional"),
        ([{}, {}] * 12, "must be text, numbers, dates or the like"),
        ([1, 2], "same number of rows"),
    ],
)
def test_what_is_no_group_is_refused(groups, message):
    decisions, y = few()
    with pytest.raises((TypeError, ValueError), match=message):
        evaluate(decisions, y, groups=groups)


def test_there_is_an_end_to_groups(monkeypatch):
    monkeypatch.setattr("abstain.evaluation._groups.MOST_GROUPS", 20)
    decisions, y = few()
    with pytest.raises(ValueError, match="at most 20 groups; got 24"):
        evaluate(decisions, y, groups=range(24))
