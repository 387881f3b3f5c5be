"""Rows without a score and rows of known label: set aside, and nothing else changes."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from abstain import Abstainer, Policy
from abstain.datasets import screening_clinic
from abstain.evaluation import evaluate
from abstain.exceptions import AssumptionWarning, RepairWarning
from abstain.monitoring import RateController

N = 400
GAPS = np.array([3, 50, 51, 399])


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(600, N, random_state=0)


@pytest.fixture(scope="module")
def gappy(clinic):
    scores = clinic.scores_target.copy()
    scores[GAPS] = np.nan
    return scores


def abstainer(clinic, metric="auroc", **options):
    options = {"budget": 0.1, "calibration": "platt", "scale": "logits", **options}
    return Abstainer(metric, **options, random_state=0).fit(clinic.scores_val, clinic.y_val)


def five(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(5, size=n)
    z = rng.normal(size=(n, 5))
    z[np.arange(n), y] += 1.5
    return z, y


SETTINGS = [
    ("auroc", {"budget": 0.1}, {"budget": 36}),
    ("auroc", {"budget": 40}, {"budget": 36}),
    ("kappa", {"budget": 0.1}, {"budget": 36}),
    ("accuracy", {"target": 0.9, "budget": None}, {}),
    ("accuracy", {"budget": 0.1, "score": "entropy"}, {"budget": 36}),
    ("sensitivity@specificity=0.9", {"budget": 0.2, "confidence": 0.8}, {"budget": 76}),
]


@pytest.mark.parametrize(("metric", "asked", "alone"), SETTINGS)
def test_what_is_decided_about_scored_rows_is_what_they_alone_would_get(
    clinic, gappy, metric, asked, alone
):
    whole = abstainer(clinic, metric, **asked).decide(gappy, missing="refer")
    there = ~np.isnan(gappy)
    part = abstainer(clinic, metric, **{**asked, **alone}).decide(gappy[there])
    for name in ("abstain", "proba", "prediction", "columns", "priority", "gain", "priors"):
        value, other = getattr(whole, name), getattr(part, name)
        np.testing.assert_array_equal(value if name == "priors" else value[there], other)
    assert whole.estimate == part.estimate == whole.scored.estimate
    assert whole.choice.region.to_dict() == part.choice.region.to_dict()
    assert whole.policy.selection.budget == asked["budget"]
    # And those without a score are withheld first, with nothing made up about them.
    assert whole.abstain[GAPS].all()
    assert (whole.priority[GAPS] == np.inf).all()
    assert np.isnan(whole.proba[GAPS]).all()
    assert np.isnan(whole.gain[GAPS]).all()
    assert all(label is None for label in whole.prediction[GAPS])
    np.testing.assert_array_equal(np.flatnonzero(whole.missing), GAPS)
    assert len(whole) == N
    assert whole.abstention_rate == whole.abstain.mean()
    if asked["budget"] is not None:
        limit = asked["budget"] if asked["budget"] > 1 else asked["budget"] * N
        assert whole.abstain.sum() <= limit


def test_many_classes_and_weights(clinic):
    scores, y = five(500, 0)
    new, _ = five(200, 1)
    weight = np.arange(200) % 3 + 0.5
    fitted = Abstainer(
        "accuracy", budget=0.2, calibration="temperature", scale="logits", random_state=0
    ).fit(scores, y)
    new[[5, 9], [0, 3]] = np.nan
    found = fitted.decide(new, weight, missing="refer")
    assert found.abstain[[5, 9]].all()
    assert weight[found.abstain].sum() <= 0.2 * weight.sum() + 1e-9
    assert found.abstention_rate == pytest.approx(weight[found.abstain].sum() / weight.sum())
    there = np.delete(np.arange(200), [5, 9])
    again = fitted.decide(new, weight, missing="drop")
    np.testing.assert_array_equal(again.rows, there)
    np.testing.assert_array_equal(again.proba, fitted.decide(new[there], weight[there]).proba)
    np.testing.assert_array_equal(again.sample_weight, weight[there])


def test_more_rows_without_a_score_than_budget_are_all_referred(clinic, gappy):
    with pytest.warns(RepairWarning, match=r"4 of 400 rows have no score.*0\.005 .* \(2\)"):
        found = abstainer(clinic, budget=0.005).decide(gappy, missing="refer")
    np.testing.assert_array_equal(np.flatnonzero(found.abstain), GAPS)
    with pytest.warns(RepairWarning, match="4 of 400 rows have no score, more than at_most=3"):
        found = found.policy.apply(gappy, missing="refer", at_most=3)
    np.testing.assert_array_equal(np.flatnonzero(found.abstain), GAPS)


def test_nothing_to_decide_about_is_said(clinic):
    fitted = abstainer(clinic)
    for missing in ("refer", "drop"):
        with pytest.raises(ValueError, match="of 9 rows 9 have no score and 0 have a known label"):
            fitted.decide(np.full(9, np.nan), missing=missing)
    with pytest.raises(ValueError, match="0 have no score and 400 have a known label"):
        fitted.decide(clinic.scores_target, y_target=clinic.y_target)


def test_rows_in_messages_are_those_that_came(clinic, gappy):
    scores = gappy.copy()
    scores[60] = np.inf
    for decide in (
        abstainer(clinic).decide,
        abstainer(clinic).decide(clinic.scores_target).policy.apply,
    ):
        with pytest.raises(ValueError, match="infinity in 1 of 400 rows, first is row 60"):
            decide(scores, missing="refer")
        with pytest.raises(
            ValueError, match=r"4 of 400 rows have no score .* rows 3, 50, 51, 399"
        ):
            decide(gappy)


def test_a_policy_refers_or_drops_too_even_alone(clinic, gappy, tmp_path):
    found = abstainer(clinic).decide(gappy, missing="refer")
    found.policy.save(tmp_path / "rule.json")
    policy = Policy.load(tmp_path / "rule.json")
    again = policy.apply(gappy, missing="refer")
    np.testing.assert_array_equal(again.abstain, found.abstain)
    there = ~np.isnan(gappy)
    alone = policy.apply(gappy[there])
    assert again.estimate == alone.estimate
    np.testing.assert_array_equal(again.proba[there], alone.proba)
    one = policy.apply([np.nan], missing="refer")
    assert one.abstain.tolist() == [True]
    assert one.reason.tolist() == ["no score"]
    assert np.isnan(one.estimate.after.value)
    assert len(one.to_frame()) == 1
    none = policy.apply([None], missing="drop")
    assert len(none) == 0
    assert len(none.to_frame()) == 0


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_keep_their_columns_and_say_why(clinic, gappy, kind):
    ids = [f"row {i}" for i in range(N)]
    frame = kind({"id": ids, "p_1": [None if np.isnan(one) else one for one in gappy]})
    fitted = abstainer(clinic)
    found = fitted.decide(frame, missing="refer")
    table = found.to_frame()
    assert type(table) is type(frame)
    columns = _columns(table)
    assert [*columns["id"]] == ids
    there = np.delete(np.arange(N), GAPS)
    for place in GAPS:
        assert columns["reason"][place] == "no score"
        assert columns["abstain"][place]
        assert columns["prediction"][place] is None
        assert np.isnan(columns["p_1"][place])
    for place in there:
        assert (columns["reason"][place] == "") != columns["abstain"][place]
        assert columns["prediction"][place] == found.prediction[place]
    dropped = fitted.decide(frame, missing="drop").to_frame()
    assert [*_columns(dropped)["id"]] == [ids[i] for i in range(N) if i not in GAPS]


def _columns(table):
    return {
        name: table[name].to_pylist() if isinstance(table, pa.Table) else table[name].to_list()
        for name in (table.column_names if isinstance(table, pa.Table) else table.columns)
    }


def test_a_pandas_index_stays(clinic, gappy):
    frame = pd.DataFrame({"p_1": gappy}, index=np.arange(N) * 3)
    table = abstainer(clinic).decide(frame, missing="drop").to_frame()
    assert table.index.tolist() == [3 * i for i in range(N) if i not in GAPS]


@pytest.mark.parametrize("metric", ["auroc", "accuracy", "sensitivity@specificity=0.9"])
@pytest.mark.parametrize("at_most", [0, 1, 17, 1_000])
def test_no_more_than_at_most_and_the_most_pressing_first(clinic, gappy, metric, at_most):
    policy = abstainer(clinic, metric).decide(clinic.scores_target).policy
    asked = policy.apply(clinic.scores_target)
    found = policy.apply(clinic.scores_target, at_most=at_most)
    assert found.abstain.sum() == min(at_most, asked.abstain.sum())
    np.testing.assert_array_equal(found.abstain | found.over_capacity, asked.abstain)
    assert not (found.abstain & found.over_capacity).any()
    order = np.argsort(-asked.priority, kind="stable")
    np.testing.assert_array_equal(
        np.flatnonzero(found.abstain), np.sort(order[: found.abstain.sum()])
    )
    assert (found.reason[found.over_capacity] == "over capacity").all()
    if at_most == 0:
        assert found.estimate.after.value == pytest.approx(found.estimate.before.value, abs=0.01)
    with_gaps = policy.apply(gappy, missing="refer", at_most=max(at_most, 4))
    assert with_gaps.abstain.sum() <= max(at_most, 4)
    assert with_gaps.abstain[GAPS].all()


def test_the_estimate_after_a_capacity_is_of_what_is_kept(clinic):
    fitted = abstainer(clinic, "accuracy")
    policy = fitted.decide(clinic.scores_target).policy
    assert policy.certificate is None
    asked = policy.apply(clinic.scores_target)
    none, some, most = (
        policy.apply(clinic.scores_target, at_most=most) for most in (0, 20, asked.abstain.sum())
    )
    assert most.estimate == asked.estimate
    assert none.estimate.after.value == pytest.approx(asked.estimate.before.value, abs=0.01)
    kept = ~some.abstain
    # Labelled rows rectify both, so it is the gain that compares.
    everyone, those_kept = (
        policy.metric.expected(some.proba[rows], prediction=some.columns[rows])
        for rows in (slice(None), kept)
    )
    gain = some.estimate.after.value - asked.estimate.before.value
    assert gain == pytest.approx(those_kept - everyone, abs=0.01)
    certified = abstainer(clinic, "sensitivity@specificity=0.9", confidence=0.8)
    policy = certified.decide(clinic.scores_target).policy
    assert policy.apply(clinic.scores_target).certificate is not None
    assert policy.apply(clinic.scores_target, at_most=1).certificate is None


@pytest.mark.parametrize("bad", [-1, 2.5, True, "40"])
def test_a_capacity_is_a_number_of_rows(clinic, bad):
    policy = abstainer(clinic).decide(clinic.scores_target).policy
    with pytest.raises(ValueError, match="`at_most` must be a number of rows, 0 or more"):
        policy.apply(clinic.scores_target, at_most=bad)


@pytest.mark.parametrize("budget", [0.1, 40])
def test_a_rule_that_withholds_more_than_its_budget_says_so(clinic, budget):
    policy = abstainer(clinic, budget=budget, shift="none").decide(clinic.scores_target).policy
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked = policy.apply(clinic.scores_target)
        policy.apply(clinic.scores_target[asked.abstain][:1])
    more = np.tile(clinic.scores_target[asked.abstain], 3)
    with pytest.warns(AssumptionWarning, match=r"withholds 120 of 120 rows .*at_most="):
        policy.apply(more)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        policy.apply(more, at_most=40)
        RateController(policy, clinic.scores_target, rate=0.1).decide(more)
    assert not [one for one in said if "budget" in str(one.message)]


def test_a_controlled_stream_refers_what_has_no_score(clinic, gappy):
    policy = abstainer(clinic).decide(clinic.scores_target).policy
    controller = RateController(policy, clinic.scores_target, rate=0.1, step=0.02)
    found = controller.decide(gappy, missing="refer")
    assert found.abstain[GAPS].all()
    assert controller.n_withheld == found.abstain.sum()
    np.testing.assert_array_equal(found.scored.abstain, found.abstain[found.scored_at])


def labels_of(clinic, rows):
    labels = np.full(N, None, dtype=object)
    labels[rows] = clinic.y_target[rows]
    return labels


def test_rows_of_known_label_need_no_person(clinic, gappy):
    rows = np.r_[3, np.arange(60, 100)]
    known = labels_of(clinic, rows)
    found = abstainer(clinic, "accuracy", budget=0.1).decide(
        gappy, y_target=known, missing="refer"
    )
    assert not found.abstain[rows].any()
    np.testing.assert_array_equal(found.prediction[rows], clinic.y_target[rows])
    assert (found.reason[rows] == "label known").all()
    assert (found.priority[rows] == -np.inf).all()
    np.testing.assert_array_equal(np.flatnonzero(found.known), rows)
    # Row 3 has a label and no score; the other three use up the budget, a tenth of 359.
    assert found.abstain[GAPS[1:]].all()
    assert found.missing[3]
    assert found.abstain.sum() == 35
    assert np.isfinite(found.proba[rows[1:]]).all()
    assert found.assumption.n_labels == 41
    assert "41 known labels" in found.assumption.summary()
    judged = evaluate(found, clinic.y_target)
    own, at = judged.realised["accuracy"], found.scored_at
    right = (found.columns == clinic.y_target)[at]
    assert own.all == right.mean()
    assert own.kept == right[~found.abstain[at]].mean()
    assert own.n == N
    assert own.abstention_rate == found.abstention_rate


def test_labels_that_are_all_unknown_change_nothing(clinic):
    fitted = abstainer(clinic)
    plain = fitted.decide(clinic.scores_target)
    same = fitted.decide(clinic.scores_target, y_target=np.full(N, np.nan))
    assert same.known is None
    assert same.estimate == plain.estimate
    np.testing.assert_array_equal(same.abstain, plain.abstain)


def test_displays_report_and_evaluation_are_about_the_scored_rows(clinic, gappy):
    pytest.importorskip("matplotlib").use("agg")
    from abstain import plots
    from abstain.report import Report

    known = labels_of(clinic, np.arange(60, 100))
    found = abstainer(clinic).decide(gappy, y_target=known, missing="refer")
    plots.AbstentionCurveDisplay.from_decisions(found, clinic.y_target, budgets=[0, 0.1, 50])
    for kind in (
        plots.ConfusionAbstentionDisplay,
        plots.PriorsDisplay,
        plots.RegionDisplay,
        plots.RocAbstentionDisplay,
    ):
        kind.from_decisions(found, clinic.y_target)
    report = Report(found, ids=np.arange(N) + 1_000, groups=np.arange(N) % 2)
    facts = report.facts
    assert facts["set_aside"] == {"no_score": 4, "label_known": 40}
    assert (facts["rows"], facts["rows_scored"]) == (len(found), 356)
    assert 1_060 not in facts["cases"]["ids"]
    dropped = abstainer(clinic).decide(gappy, missing="drop")
    with pytest.raises(ValueError, match=r"Pass y_true\[decisions.rows\]"):
        evaluate(dropped, clinic.y_target)
    evaluate(dropped, clinic.y_target[dropped.rows])


def test_the_page_refers_as_many_as_the_table_and_begins_with_what_has_no_score(clinic, gappy):
    found = abstainer(clinic).decide(gappy, missing="refer")
    facts = found.report(ids=[f"P{k}" for k in range(N)], groups=np.arange(N) % 2).facts
    step, cases = facts["steps"][facts["chosen"]], facts["cases"]
    assert step["withheld"] == found.abstain.sum()
    assert step["rate"] == pytest.approx(found.abstention_rate)
    assert step["headline"].startswith(f"Refer {found.abstain.sum()} of {N} cases")
    assert "4 of them for want of a score" in step["headline"]
    missing = np.flatnonzero(found.missing)
    assert cases["ids"][:4] == [f"P{k}" for k in missing]
    assert cases["reasons"][:5] == ["no score"] * 4 + ["the rule"]
    assert cases["proba"][0] == [None, None]
    for k, one in enumerate(facts["steps"]):
        pairs = zip(cases["ids"], cases["steps"], strict=True)
        listed = [name for name, mask in pairs if mask >> k & 1]
        assert len(listed) == one["withheld"] == sum(one["groups"])
        assert one["rate"] <= one["budget"] + 1e-9
    assert {*listed} >= {*cases["ids"][:4]}
    assert facts["steps"][0]["withheld"] == 4
