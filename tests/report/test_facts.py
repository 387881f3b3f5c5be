import html
import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from abstain import Abstainer, Cost, metrics
from abstain._numerics import plain
from abstain._words import metric_title
from abstain.datasets import simulate_binary_normal, simulate_four_class_normal
from abstain.estimation import Estimate, EstimatedValue
from abstain.evaluation import operating_point
from abstain.exceptions import AssumptionWarning
from abstain.metrics import ExpectedCost
from abstain.regions import GainThreshold, Interval
from abstain.report import Report, _cases, _view
from abstain.rules import Argmax, Threshold
from abstain.shift import KnownPriors
from abstain.summaries import LabelledSummary


@pytest.fixture
def few_batches(monkeypatch):
    """A few batches are enough where the back-test is not what is tested."""
    monkeypatch.setattr("abstain.report._trust.N_SHIFTS", 4)


def chosen(report):
    return report.facts["steps"][report.facts["chosen"]]


def test_facts_are_plain_json(report, four_classes):
    for page in (report, four_classes):
        assert json.loads(page.to_json()) == page.facts


def test_the_chosen_step_is_what_was_decided(report, binary):
    step = chosen(report)
    assert step["withheld"] == binary.abstain.sum() == 225
    assert step["rate"] == pytest.approx(binary.abstention_rate)
    assert step["value"] == pytest.approx(binary.estimate.after.value, rel=1e-6)
    assert step["interval"] == pytest.approx(binary.estimate.after.interval, rel=1e-6)
    assert report.facts["before"]["value"] == pytest.approx(binary.estimate.before.value, rel=1e-6)
    assert report.headline.startswith(
        "Refer 225 of 1,500 cases (15%). Estimated sensitivity at 90% specificity rises from "
    )


def test_every_step_keeps_its_budget_and_is_what_the_abstainer_would_decide(clinic, report):
    steps = report.facts["steps"]
    budgets = [step["budget"] for step in steps]
    assert budgets == sorted(budgets)
    assert budgets[0] == 0
    assert all(step["rate"] <= step["budget"] + 1e-9 for step in steps)
    for step in (steps[5], steps[-1]):
        abstainer = Abstainer(
            "sensitivity@specificity=0.9",
            budget=step["budget"],
            calibration="platt",
            scale="logits",
            random_state=0,
        )
        other = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
        assert step["withheld"] == other.abstain.sum()
        # Drawn at every fourth position, and in between as those around it.
        drawn = step is steps[-1]
        assert step["value"] == pytest.approx(
            other.estimate.after.value, abs=1e-6 if drawn else 0.01
        )
        assert step["interval"] == pytest.approx(
            other.estimate.after.interval, abs=1e-6 if drawn else 0.02
        )


def test_the_first_step_refers_nobody(report, four_classes):
    for page in (report, four_classes):
        first = page.facts["steps"][0]
        assert first["withheld"] == 0
        assert first["value"] == page.facts["before"]["value"]
        if page is report:
            assert set(first["alternatives"].values()) == {first["value"]}
        assert sum(first["histogram"]["withheld"]) == 0
        assert first["headline"].startswith("Refer none of")


def test_counts_add_up_at_every_step(report, four_classes):
    for page in (report, four_classes):
        for step in page.facts["steps"]:
            kept = page.facts["rows"] - step["withheld"]
            assert np.sum(step["confusion"]) == pytest.approx(kept, rel=1e-5)
            assert sum(step["histogram"]["all"]) == page.facts["rows"]
            assert sum(step["histogram"]["withheld"]) == step["withheld"]
            assert sum(step["proportions"]) == pytest.approx(1, rel=1e-5)


def test_the_confusion_matrix_is_that_of_the_rule(report, binary):
    step = chosen(report)
    (kept_well, false), (missed, found) = step["confusion"]
    assert kept_well / (kept_well + false) == pytest.approx(0.9, abs=0.005)
    # The matrix is what the probabilities say; the estimate hears the labelled rows too.
    low, high = step["interval"]
    assert low <= found / (found + missed) <= high
    assert step["threshold"] == pytest.approx(binary.choice.rule.threshold)
    assert step["rule"] == binary.choice.rule.in_words("ill")


def test_the_roc_curve_passes_through_the_metric(report):
    for name, step in (("before", report.facts["steps"][0]), ("after", chosen(report))):
        height = np.interp(0.1, step["roc"]["x"], step["roc"]["y"])
        low, high = step["interval"]
        assert low <= height <= high, name


def test_the_cases_listed_are_those_each_step_refers(report, binary):
    cases = report.facts["cases"]
    for k, step in enumerate(report.facts["steps"]):
        assert sum((mask >> k) & 1 for mask in cases["steps"]) == step["withheld"]
    k = report.facts["chosen"]
    listed = [i for i, mask in enumerate(cases["steps"]) if (mask >> k) & 1]
    proba = np.array(cases["proba"])[listed]
    np.testing.assert_allclose(proba, binary.proba[binary.abstain], atol=1e-5)
    assert cases["columns"] == ["p(well)", "p(ill)"]


def test_groups_are_counted(report, binary):
    groups = report.facts["groups"]
    assert groups == {"names": ["<b>South</b>", "North"], "rows": [1000, 500]}
    assert chosen(report)["groups"][1] == binary.abstain[::3].sum()


def test_alternatives_are_estimated_as_the_rule_is(clinic, report):
    for step in report.facts["steps"]:
        assert set(step["alternatives"]) == {"max-probability", "js-divergence", "random"}
        # Labelled rows may speak for another order, but not against all that was drawn.
        assert all(value <= step["interval"][1] for value in step["alternatives"].values())
    abstainer = Abstainer(
        "sensitivity@specificity=0.9",
        budget=0.15,
        score="max-probability",
        calibration="platt",
        scale="logits",
        random_state=0,
    )
    other = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    assert chosen(report)["alternatives"]["max-probability"] == pytest.approx(
        other.estimate.after.value, abs=0.01
    )


def test_what_moved(report, binary):
    moved = report.facts["moved"]
    assert moved["target"] == pytest.approx(binary.current_priors.values.tolist(), rel=1e-6)
    for share, (low, high) in zip(moved["target"], moved["interval"], strict=True):
        assert low < share < high
    assert moved["test"]["shifted"]
    assert moved["check"]["fits"]
    assert "Class ill is estimated to be more frequent" in moved["meaning"]


def test_the_back_test_is_seeded_and_near(clinic, binary, report):
    found = report.facts["trust"]["back_test"]
    assert len(found["points"]) + found["undecided"] == 12
    assert len(found["points"]) >= 8
    assert found["mean_gap"] < 0.15
    assert found["inside"] == sum(point["inside"] for point in found["points"])
    names = np.array(["well", "ill"])[clinic.y_val]
    again = Report(binary, scores_val=clinic.scores_val, y_val=names).facts["trust"]
    assert again == report.facts["trust"]


def test_without_validation_data_less_is_said(binary):
    facts = Report(binary).facts
    # What moved is known from the summary that the policy carries.
    assert facts["moved"]["interval"] is not None
    assert facts["trust"]["back_test"] is None
    assert "no validation data" in facts["trust"]["reason"]
    assert facts["trust"]["verdict"]["state"] == "not checked"
    # What was checked when it was decided stays checked.
    assert facts["moved"]["verdict"]["state"] == "plausible"


def test_provenance(report):
    found = report.facts["reproduce"]
    path = Path(__file__).parent / "conftest.py"
    assert list(found["inputs"].values()) == [sha256(path.read_bytes()).hexdigest()]
    assert found["command"] == "abstain run validation.csv target.csv"
    assert {"abstain", "python", "numpy"} <= set(found["versions"])


def test_many_classes_have_no_roc_but_gains(four_classes):
    step = chosen(four_classes)
    assert step["roc"] is None
    assert step["histogram"]["label"] == "expected gain from referring the case"
    assert np.shape(step["confusion"]) == (4, 4)
    assert "entropy" in step["alternatives"]


def test_a_large_batch_of_two_classes_is_drawn_whole(binary, report, monkeypatch):
    monkeypatch.setattr(_view, "LARGE", 1_000)
    monkeypatch.setattr(_view, "MANY_ATOMS", 1_000)
    monkeypatch.setattr(_view, "FEW_ATOMS", 600)
    facts = Report(binary).facts
    assert facts["rows_drawn"] == 1_500
    assert len(facts["steps"]) == 21
    for step, exact in zip(facts["steps"], report.facts["steps"][::2], strict=True):
        # Bins are withheld whole, and of 1,500 rows a few share one.
        assert step["withheld"] == pytest.approx(exact["withheld"], abs=3)
        # Other draws of labels, so a part of the interval away.
        width = np.ptp(exact["interval"])
        assert step["value"] == pytest.approx(exact["value"], abs=0.3 * width)
        assert np.sum(step["confusion"]) == pytest.approx(1_500 - step["withheld"], abs=3)
        assert np.ptp(step["interval"]) == pytest.approx(np.ptp(exact["interval"]), rel=0.25)
    assert chosen(Report(binary))["interval"] == chosen(report)["interval"]


def test_a_large_batch_of_many_classes_is_drawn_from_a_part(monkeypatch):
    validation = simulate_four_class_normal(1_500, random_state=0)
    target = simulate_four_class_normal(1_000, random_state=1)
    abstainer = Abstainer(
        "accuracy",
        budget=0.2,
        calibration="temperature",
        random_state=0,
    )
    decisions = abstainer.fit(validation.proba, validation.y).decide(target.proba)
    exact = Report(decisions).facts["steps"]
    monkeypatch.setattr(_view, "LARGE", 500)
    monkeypatch.setattr(_view, "FEW_ROWS", 600)
    facts = Report(decisions).facts
    assert facts["rows_drawn"] == 500
    for step, known in zip(facts["steps"], exact[::2], strict=True):
        assert step["withheld"] == known["withheld"]
        assert step["value"] == pytest.approx(known["value"], abs=0.01)
        assert step["interval"] == pytest.approx(known["interval"], abs=0.02)
        assert np.sum(step["confusion"]) == pytest.approx(1_000 - step["withheld"], rel=0.1)


def least_probable(proba):
    """A score of a user's own."""
    return proba.min(axis=1)


@pytest.mark.usefixtures("few_batches")
@pytest.mark.parametrize(
    "settings",
    [
        {"score": "max-probability"},
        pytest.param({"score": "class-thresholds"}, marks=pytest.mark.slow),
        pytest.param({"score": "random"}, marks=pytest.mark.slow),
        {"score": least_probable},
        pytest.param({"metric": "kappa", "score": least_probable}, marks=pytest.mark.slow),
        pytest.param({"level": 0.5, "metric": "f1"}, marks=pytest.mark.slow),
        pytest.param({"decision": "optimal"}, marks=pytest.mark.slow),
        pytest.param({"shift": "em"}, marks=pytest.mark.slow),
        {"budget": 0.0},
        {"budget": None, "target": 0.8},
        {"budget": None, "cost": Cost(abstain=0.1)},
        {"metric": "accuracy"},
        pytest.param({"metric": "f1", "decision": "optimal"}, marks=pytest.mark.slow),
        {"metric": "auroc", "budget": 0.6},
        {"shift": "none"},
        {"budget": None, "target": 0.75, "confidence": 0.8, "metric": "balanced-accuracy"},
    ],
    ids=lambda settings: ",".join(f"{k}={getattr(v, '__name__', v)}" for k, v in settings.items()),
)
def test_any_way_of_deciding_has_a_report(clinic, settings, monkeypatch):
    monkeypatch.setattr("abstain.report._trust.N_SHIFTS", 4)
    parameters = {"metric": "sensitivity@specificity=0.9", "budget": 0.1, **settings}
    abstainer = Abstainer(**parameters, calibration="platt", scale="logits", random_state=0)
    few = clinic.scores_val[:1000], clinic.y_val[:1000]
    decisions = abstainer.fit(*few).decide(clinic.scores_target[:500])
    report = Report(decisions, scores_val=few[0], y_val=few[1])
    assert chosen(report)["withheld"] == decisions.abstain.sum()
    assert "<!DOCTYPE html>" in report.to_html()
    assert (report.facts["trust"]["certificate"] is not None) == ("confidence" in settings)


@pytest.mark.usefixtures("few_batches")
@pytest.mark.parametrize("n_classes", [2, 4])
def test_dropout_has_every_position(n_classes):
    simulate = simulate_binary_normal if n_classes == 2 else simulate_four_class_normal
    known, new = simulate(600, random_state=0), simulate(500, random_state=1)
    proba = new.proba if new.proba.ndim == 2 else np.column_stack([1 - new.proba, new.proba])
    rng = np.random.default_rng(0)
    noise = np.exp(0.3 * rng.normal(size=(5, *proba.shape)))
    draws = proba * noise / (proba * noise).sum(axis=2, keepdims=True)
    abstainer = Abstainer(
        "accuracy", budget=0.1, score="dropout-variance", calibration="temperature"
    )
    abstainer.fit(known.proba, known.y)
    decisions = abstainer.decide(proba, score_samples=draws)
    report = Report(decisions, scores_val=known.proba, y_val=known.y)
    steps = report.facts["steps"]
    assert len(steps) == 41
    assert [step["withheld"] for step in steps] == [int(500 * s["budget"] + 1e-9) for s in steps]
    assert "uncertainty by dropout-variance" in steps[-1]["region"]
    assert steps[report.facts["chosen"]]["value"] == pytest.approx(
        decisions.estimate.after.value, rel=1e-6
    )
    assert "<!DOCTYPE html>" in report.to_html()


def report_at(clinic, level, **options):
    abstainer = Abstainer(
        "auroc", budget=0.1, calibration="platt", scale="logits", level=level, random_state=0
    ).fit(clinic.scores_val, clinic.y_val)
    decisions = abstainer.decide(clinic.scores_target)
    return Report(decisions, scores_val=clinic.scores_val, y_val=clinic.y_val, **options)


@pytest.mark.usefixtures("few_batches")
def test_every_interval_of_the_page_is_at_the_level(clinic):
    half, most = (report_at(clinic, level) for level in (0.5, 0.95))
    for width in (
        lambda facts: [np.ptp(step["interval"]) for step in facts["steps"]],
        lambda facts: [np.ptp(facts["before"]["interval"])],
        lambda facts: [np.ptp(ends) for ends in facts["moved"]["interval"]],
        lambda facts: [np.ptp(p["interval"]) for p in facts["trust"]["back_test"]["points"]],
        lambda facts: [np.ptp(part["interval"]) for part in facts["trust"]["reliability"]["bins"]],
    ):
        assert (np.array(width(most.facts)) > np.array(width(half.facts))).all()
    assert half.facts["trust"]["back_test"]["inside"] < most.facts["trust"]["back_test"]["inside"]
    assert "(95% interval " in most.headline
    page = most.to_html()
    assert "where 95% are meant to" in page
    assert "90%" not in page.replace("90% of", "")


def test_a_rare_class_among_many_rows_does_not_stop_the_back_test(monkeypatch):
    """Of many rows some are taken, and two in a thousand of them may be none."""
    monkeypatch.setattr("abstain.report._trust.N_SHIFTS", 4)
    rng = np.random.default_rng(0)
    y = (rng.random(60_000) < 0.001).astype(int)
    scores = rng.normal(size=60_000) + 4 * y - 7
    abstainer = Abstainer("average-precision", budget=30, calibration="platt", scale="logits")
    decisions = abstainer.set_params(random_state=0).fit(scores, y).decide(scores[:20_000])
    for seed in range(3):
        facts = Report(decisions, scores_val=scores, y_val=y, random_state=seed).facts
        assert facts["trust"]["back_test"]["points"]


def test_a_class_with_few_labels_does_not_stop_the_back_test(four_classes):
    validation = simulate_four_class_normal(1_200, random_state=2)
    few = np.flatnonzero(validation.y == 3)[8:]
    proba, y = np.delete(validation.proba, few, axis=0), np.delete(validation.y, few)
    target = simulate_four_class_normal(600, random_state=1)
    abstainer = Abstainer("accuracy", budget=0.2, calibration="temperature", random_state=0)
    with pytest.warns(AssumptionWarning, match="Too few labelled rows"):
        decisions = abstainer.fit(proba, y).decide(target.proba)
    report = Report(decisions, scores_val=proba, y_val=y)
    test = report.facts["trust"]["back_test"]
    assert test["left_out"] == ["3"]
    assert len(test["points"]) + test["undecided"] == 12
    for point in test["points"]:
        assert point["priors"][3] == pytest.approx(8 / len(y), abs=0.003)
    assert len({point["priors"][0] for point in test["points"]}) > 6
    assert "In these batches they keep their share" in report.to_html()
    # One with no rows at all is left out too.
    gone = y != 3
    bare = Report(decisions, scores_val=proba[gone], y_val=y[gone]).facts["trust"]["back_test"]
    assert bare["left_out"] == ["3"]
    assert all(point["priors"][3] == 0 for point in bare["points"])


@pytest.mark.usefixtures("few_batches")
def test_what_was_assumed_is_said(clinic, report, binary):
    found = report.facts["assumption"]
    assert found["assumed"] == "weighed"
    assert found["summary"] == binary.assumption.summary()
    assert found["p_value"] == pytest.approx(binary.assumption.p_value, rel=1e-6)
    assert found["doubts"] == []
    assert [one["name"] for one in found["worlds"]] == ["nothing", "label", "scores", "both"]
    assert sum(one["weight"] for one in found["worlds"]) == pytest.approx(1, abs=1e-6)
    for one in found["worlds"]:
        after = binary.alternative[one["name"]].after
        assert one["after"]["value"] == pytest.approx(after.value, rel=1e-6)
    assert report.facts["target"] is None
    without = Report(binary.judged(assumption=None, shift=None)).facts
    assert without["assumption"] is None


@pytest.fixture(scope="module")
def doubtful(clinic):
    """Rows from the middle of the scale alone, which no mixture of the classes gives."""
    abstainer = Abstainer("accuracy", budget=0.2, calibration="platt", scale="logits")
    abstainer.fit(clinic.scores_val, clinic.y_val)
    scores = clinic.scores_target
    middle = np.argsort(np.abs(scores - np.quantile(scores, 0.7)))[:500]
    with pytest.warns(AssumptionWarning, match="Nothing that was weighed explains"):
        decisions = abstainer.decide(scores[middle])
    return Report(decisions, scores_val=clinic.scores_val, y_val=clinic.y_val)


@pytest.mark.usefixtures("few_batches")
def test_doubts_are_a_notice_near_the_top(doubtful, report):
    facts = doubtful.facts
    doubt = facts["assumption"]["doubts"][0]
    assert facts["moved"]["verdict"]["state"] == "doubtful"
    page = doubtful.to_html()
    assert "<table id='worlds'>" in page
    top = page.split("<main>")[0]
    assert "<section class='notice' aria-labelledby='h-notice'>" in top
    assert html.escape(doubt) in top
    assert "<section class='notice'" not in report.to_html()


def test_a_target_comes_with_how_sure_it_is(clinic):
    abstainer = Abstainer("accuracy", target=0.95, calibration="platt", scale="logits")
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    report = Report(decisions)
    assert report.facts["target"].startswith("Asked for: accuracy 0.95. The rest reaches it with")
    assert report.facts["target"] in report.to_html()


@pytest.mark.usefixtures("few_batches")
@pytest.mark.parametrize("metric", ["auroc", "sensitivity@specificity=0.9", "accuracy"])
@pytest.mark.parametrize("withheld", ["all", "none"])
def test_all_or_none_withheld(clinic, metric, withheld):
    abstainer = Abstainer(metric, budget=0.0, calibration="platt", scale="logits")
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target[:200])
    if withheld == "all":
        choice = decisions.choice._replace(region=Interval(0.0, 1.0))
        decisions = decisions.judged(choice=choice, abstain=np.ones(200, dtype=bool))
    report = Report(decisions, scores_val=clinic.scores_val, y_val=clinic.y_val)
    step = chosen(report)
    assert step["withheld"] == (200 if withheld == "all" else 0)
    assert (step["value"] is None) == (withheld == "all")
    assert "<!DOCTYPE html>" in report.to_html()


@pytest.mark.parametrize("metric", ["auroc", "accuracy"])
def test_one_row(clinic, metric):
    abstainer = Abstainer(metric, budget=0.1, calibration="platt", scale="logits", shift="none")
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target[:1])
    report = Report(decisions, scores_val=clinic.scores_val, y_val=clinic.y_val)
    assert report.headline.startswith("Refer none of 1 cases.")
    assert "<!DOCTYPE html>" in report.to_html()


@pytest.mark.usefixtures("few_batches")
def test_costs_come_from_the_decisions(clinic, binary):
    assert not Report(binary).facts["costs"]["given"]
    cost = Cost(abstain=2, errors=[[0, 1], [9, 0]])
    abstainer = Abstainer("accuracy", cost=cost, calibration="platt", scale="logits")
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    assert Report(decisions).facts["costs"] == {
        "errors": [[0, 1], [9, 0]],
        "abstain": 2,
        "given": True,
    }
    policy = replace(binary.policy, metric=ExpectedCost([[0, 1], [3, 0]]), selection=None)
    facts = Report(replace(binary, policy=policy)).facts
    assert facts["costs"] == {"errors": [[0, 1], [3, 0]], "abstain": 0, "given": True}


def test_weights_count(clinic):
    weight = np.where(np.arange(1_500) % 2, 2.0, 1.0)
    abstainer = Abstainer("auroc", budget=0.2, calibration="platt", scale="logits")
    abstainer.fit(clinic.scores_val, clinic.y_val)
    decisions = abstainer.decide(clinic.scores_target, sample_weight=weight)
    step = chosen(Report(decisions))
    assert step["rate"] == pytest.approx(decisions.abstention_rate, rel=1e-6)
    assert np.sum(step["confusion"]) == pytest.approx(weight[~decisions.abstain].sum(), rel=1e-5)


def test_few_validation_rows_are_said_to_be_few(clinic, binary):
    labels = np.array(["well", "ill"])[clinic.y_val]
    rows = np.r_[np.flatnonzero(labels == "ill")[:5], np.flatnonzero(labels == "well")[:50]]
    facts = Report(binary, scores_val=clinic.scores_val[rows], y_val=labels[rows]).facts
    assert "needs two classes with 20 validation rows" in facts["trust"]["reason"]


def test_a_vanished_class_is_tested_all_the_same(clinic, binary, monkeypatch):
    monkeypatch.setattr("abstain.report._trust.N_SHIFTS", 4)
    labels = np.array(["well", "ill"])[clinic.y_val]
    known = {"scores_val": clinic.scores_val, "y_val": labels}
    abstainer = Abstainer(
        "accuracy", budget=0.1, calibration="platt", shift=KnownPriors([1.0, 0.0]), scale="logits"
    ).fit(clinic.scores_val, labels, classes=["well", "ill"])
    decisions = abstainer.decide(clinic.scores_target)
    assert decisions.priors[1] == 0
    assert Report(decisions, **known).facts["moved"]["test"]["shifted"]
    applied = decisions.policy.apply(clinic.scores_target)
    assert Report(applied, **known).facts["moved"]["test"]["shifted"]
    # Of decisions made by hand nobody knows what was before, which the page says.
    vanished = replace(binary.policy, priors=np.array([1.0, 0.0]))
    gone = replace(binary, policy=vanished, scores=None)
    bare = Report(gone.judged(assumption=None), **known).facts["moved"]
    assert bare["test"] is None
    assert bare["verdict"]["state"] == "not checked"
    with_scores = Report(gone, **known, scores_target=clinic.scores_target).facts["moved"]
    assert with_scores["test"]["shifted"]


def test_what_is_calibrated_already_serves_as_validation_data(clinic, binary, report):
    names = np.array(["well", "ill"])
    proba = binary.policy.calibrator.predict_proba(clinic.scores_val)
    labelled = LabelledSummary(proba, clinic.y_val)
    facts = Report(binary, labelled=labelled).facts
    assert facts["moved"]["interval"] == report.facts["moved"]["interval"]
    assert facts["moved"]["test"] == report.facts["moved"]["test"]
    assert facts["rows_validation"] == 2_000
    test = facts["trust"]["back_test"]
    assert len(test["points"]) >= 8
    assert test["mean_gap"] == pytest.approx(
        report.facts["trust"]["back_test"]["mean_gap"], abs=0.05
    )
    # Of cells no batch can be drawn.
    cells = Report(binary, labelled=labelled.compact()).facts
    assert cells["moved"]["test"] is not None
    assert "needs the validation rows" in cells["trust"]["verdict"]["summary"]
    with pytest.raises(ValueError, match="`labelled`, not both"):
        _ = Report(
            binary, scores_val=clinic.scores_val, y_val=names[clinic.y_val], labelled=labelled
        ).facts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scores_val": [0.5]}, "Pass `scores_val` and `y_val` together"),
        ({"ids": ["a"]}, "same number of rows: `decisions` 1500, `ids` 1"),
        ({"groups": ["a"]}, "same number of rows: `decisions` 1500, `groups` 1"),
        ({"groups": np.zeros((1500, 2))}, "`groups` must be one-dimensional"),
    ],
)
def test_mistakes_are_explained(binary, options, message):
    with pytest.raises(ValueError, match=message):
        _ = Report(binary, **options).facts


@pytest.mark.usefixtures("few_batches")
def test_very_many_groups_are_joined(binary, monkeypatch):
    facts = Report(binary, groups=np.arange(1_500) % 100).facts
    assert len(facts["groups"]["names"]) == 100
    monkeypatch.setattr(_cases, "MOST_GROUPS", 30)
    facts = Report(binary, groups=np.arange(1_500) % 100).facts
    assert len(facts["groups"]["names"]) == 30
    assert facts["groups"]["names"][-1] == "all others"
    assert sum(facts["groups"]["rows"]) == 1_500


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("sensitivity@specificity=0.99", "sensitivity at 99% specificity"),
        ("specificity@sensitivity=0.995", "specificity at 99.5% sensitivity"),
        ("auroc", "auROC"),
        ("kappa:quadratic", "quadratic kappa"),
        ("fbeta:2", "fbeta (2)"),
        ("balanced-accuracy", "balanced accuracy"),
    ],
)
def test_metrics_have_titles(name, title):
    assert metric_title(metrics.get(name).name) == title


def test_the_headline_says_what_happens(binary):
    def said(before, after, ends=(0.1, 0.2)):
        values = (EstimatedValue(value, ends, 0.9) for value in (before, after))
        return Report(binary.judged(figures=Estimate(*values))).headline

    assert "falls from 0.300 to 0.150" in said(0.3, 0.15)
    assert "specificity is 0.150 (90%" in said(0.15, 0.15)
    assert said(0.1, float("nan")) == (
        "Refer 225 of 1,500 cases (15%). The sensitivity at 90% specificity of the rest is not "
        "defined."
    )
    # As many digits as tell the two apart.
    rare = said(0.00094, 0.0014, (0.0008, 0.0021))
    assert "rises from 0.00094 to 0.00140 (90% interval 0.00080 to 0.00210)" in rare


def test_regions_are_put_in_words():
    assert Interval.empty().in_words("ill") == "no case is referred"
    assert "probability of ill from 0.1000 to 0.2000" in Interval(0.1, 0.2).in_words("ill")
    assert "help the metric most" in GainThreshold(np.eye(2), 0.1).in_words("ill")


def test_the_first_screen_says_of_whom_the_figure_is_and_what_it_rests_on(report):
    top = report.to_html().split("<main>")[0]
    assert "The figure is of the cases that are not referred, as the model predicts them" in top
    assert "what a person answers about the others is not in it" in top
    assert "What the figure rests on: plausible." in top


@pytest.mark.usefixtures("few_batches")
def test_a_gain_is_told_against_what_one_would_do_without_it(clinic):
    """Nobody would predict all rows by a rule that was made for the kept ones."""
    abstainer = Abstainer(
        "f1:macro", budget=0.2, calibration="platt", scale="logits", random_state=0
    ).fit(clinic.scores_val, clinic.y_val)
    decisions = abstainer.decide(clinic.scores_target)
    few = decisions.judged(choice=decisions.choice._replace(rule=Threshold(0.99)))
    nobody = np.zeros(len(few), dtype=bool)
    plain_rule = few.choice._replace(rule=Argmax())
    other = few.judged(choice=plain_rule, abstain=nobody).estimate.before
    assert other.value > few.estimate.before.value
    page = Report(few)
    assert not page.facts["before"]["by_rule"]
    assert page.facts["before"]["value"] == pytest.approx(other.value, rel=1e-6)
    assert page.facts["steps"][0]["value"] == page.facts["before"]["value"]
    assert "predicted as its most probable class" in page.to_html().split("<main>")[0]
    own = Report(decisions).facts["before"]
    assert own["by_rule"]
    assert own["value"] == pytest.approx(decisions.estimate.before.value, rel=1e-6)


def test_the_page_says_what_the_rule_does_at_its_own_threshold(report, binary, four_classes):
    point = report.facts["operating_point"]
    assert point == json.loads(json.dumps(plain(operating_point(binary).to_dict(), digits=7)))
    page = report.to_html()
    assert "At the rule's own threshold" in page
    assert "A specificity of at least 0.9 is reached with a probability of" in page
    assert four_classes.facts["operating_point"] is None
    assert "At the rule's own threshold" not in four_classes.to_html().split("<script")[0]
