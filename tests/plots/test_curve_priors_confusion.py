"""What a budget buys, how the proportions moved, and where each class goes."""

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from abstain import Abstainer, AbstainingClassifier
from abstain.datasets import screening_clinic, simulate_binary_normal
from abstain.exceptions import AssumptionWarning
from abstain.plots import AbstentionCurveDisplay, ConfusionAbstentionDisplay, PriorsDisplay

matplotlib.use("agg")

BUDGETS = [0.0, 0.1, 0.2]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def decided():
    clinic = screening_clinic(1_000, 1_000, random_state=0)
    abstainer = Abstainer("auroc", budget=0.2, calibration="platt", scale="logits", random_state=0)
    return clinic, abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)


@pytest.fixture(scope="module")
def irises():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    classifier = AbstainingClassifier(
        LogisticRegression(max_iter=1_000), "accuracy", budget=0.1, calibration="bcts", cv=3,
        random_state=0,
    )  # fmt: skip
    return classifier.fit(X, names), X, names


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_the_curve_at_the_chosen_budget_is_the_estimate(decided):
    clinic, decisions = decided
    display = AbstentionCurveDisplay.from_decisions(decisions, clinic.y_target, budgets=BUDGETS)
    own = display.curves["delta-metric"]
    assert own.estimated[0] == pytest.approx(decisions.estimate.before.value)
    assert own.estimated[2] == pytest.approx(decisions.estimate.after.value)
    assert own.intervals[2] == pytest.approx(decisions.estimate.after.interval)
    kept = ~decisions.abstain
    assert own.realised[2] == pytest.approx(
        decisions.policy.metric.observed(clinic.y_target[kept], decisions.proba[kept])
    )
    # What is chosen for the metric is estimated to be the best for it.
    # But for what the labelled rows say of either, which is drawn.
    assert (own.estimated >= display.curves["max-probability"].estimated - 1e-3).all()
    assert legend(display) == [
        "delta-metric",
        "max-probability",
        "90% interval of the estimate",
        "estimated without labels",
        "realised",
    ]
    assert display.ax_.get_ylabel() == "auroc of the kept rows"


def test_without_labels_nothing_is_realised(decided):
    display = AbstentionCurveDisplay.from_decisions(
        decided[1], budgets=BUDGETS, methods=["delta-metric", "class-thresholds", "random"]
    )
    assert all(curve.realised is None for curve in display.curves.values())
    assert legend(display)[-1] == "90% interval of the estimate"
    colors = [line.get_color() for line in display.ax_.get_lines()]
    assert len(colors) == len(set(colors)) == 3


def test_curves_of_arrays():
    data = simulate_binary_normal(200, random_state=0)
    display = AbstentionCurveDisplay.from_predictions(
        data.y, data.proba, metric="error-rate", budgets=BUDGETS, methods=["delta-metric"]
    )
    assert np.diff(display.curves["delta-metric"].estimated).max() < 0
    assert display.ax_.get_ylabel() == "error-rate of the kept rows (lower is better)"
    weighted = AbstentionCurveDisplay.from_predictions(
        data.y, data.proba, metric="error-rate", budgets=BUDGETS, methods=["delta-metric"],
        sample_weight=np.full(len(data.y), 3), ax=display.ax_,
    )  # fmt: skip
    # More labels are drawn of heavier rows, which is less noise around the same.
    ours, heavier = (each.curves["delta-metric"] for each in (display, weighted))
    np.testing.assert_allclose(heavier.estimated, ours.estimated, atol=0.01)
    assert (np.ptp(heavier.intervals, axis=1) < np.ptp(ours.intervals, axis=1)).all()
    assert weighted.ax_ is display.ax_


def test_what_a_curve_cannot_be_drawn_of(irises):
    classifier, X, _ = irises
    proba = classifier.predict_proba(X)
    draw = AbstentionCurveDisplay.from_predictions
    with pytest.raises(ValueError, match="`metric` 'auroc' is for two classes; got 3"):
        draw(None, proba, metric="auroc")
    with pytest.raises(ValueError, match="at least one entry"):
        draw(None, proba, metric="accuracy", budgets=[])
    with pytest.raises(ValueError, match="`budgets` must be a fraction"):
        draw(None, proba, metric="accuracy", budgets=[15.0])
    with pytest.raises(ValueError, match="150 may be withheld, and there are 150 rows"):
        draw(None, proba, metric="accuracy", budgets=[150])
    display = draw(None, proba, metric="accuracy", budgets=[15, 0.1])
    assert display.budgets.tolist() == [0.1, 0.1]


def test_every_display_takes_a_classifier(irises):
    classifier, X, names = irises
    for draw in (AbstentionCurveDisplay, ConfusionAbstentionDisplay, PriorsDisplay):
        figure, ax = matplotlib.pyplot.subplots()
        display = draw.from_estimator(classifier, X, names, ax=ax)
        assert display.figure_ is figure
        draw.from_estimator(classifier, X)


def test_priors_are_those_of_the_decisions_with_their_interval(decided):
    clinic, decisions = decided
    display = PriorsDisplay.from_decisions(decisions, clinic.y_target)
    np.testing.assert_allclose(display.source, decisions.source_priors)
    np.testing.assert_allclose(display.target, decisions.current_priors.values)
    assert display.true[1] == pytest.approx(clinic.y_target.mean())
    low, high = display.interval.T
    assert (low <= display.target).all()
    assert (high >= display.target).all()
    assert 0.01 < (high - low)[1] < 0.25
    assert set(legend(display)) == {
        "validation", "batch, estimated (90% interval)", "batch, true",
    }  # fmt: skip


def test_a_policy_that_cannot_estimate_again_shows_what_it_was_made_with(decided):
    from dataclasses import replace

    decisions = decided[1]
    bare = replace(decisions, outcome=replace(decisions.outcome, shift=None))
    display = PriorsDisplay.from_decisions(bare)
    assert display.interval is None
    assert (display.target == decisions.priors).all()
    assert legend(display) == ["validation", "batch, estimated"]


def test_priors_of_arrays():
    data = simulate_binary_normal(2_000, random_state=0)
    p = data.proba[:, 1] if data.proba.ndim == 2 else data.proba
    names = np.where(data.y == 1, "ill", "well")
    display = PriorsDisplay.from_predictions(
        names, 1 - p, 1 - p, y_target=names, classes=["ill", "well"]
    )
    np.testing.assert_allclose(display.target, display.source, atol=1e-3)
    assert display.true[0] == pytest.approx(data.y.mean())
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["ill", "well"]
    aslant = PriorsDisplay(list("abcdefgh"), np.full(8, 1 / 8), np.full(8, 1 / 8)).plot()
    assert aslant.ax_.get_xticklabels()[0].get_rotation() == 45


def test_confusion_by_hand():
    proba = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]])
    abstain = np.array([False, True, False, False])
    display = ConfusionAbstentionDisplay.from_predictions([0, 1, 1, 0], proba, abstain)
    assert display.before.tolist() == [[1, 1], [1, 1]]
    assert display.kept.tolist() == [[1, 1], [0, 1]]
    assert display.withheld.tolist() == [0, 1]
    cells = [text.get_text() for text in display.ax_.texts]
    assert cells == ["1\nof 1", "1\nof 1", "0\n(0%)", "0\nof 1", "1\nof 1", "1\n(50%)"]
    expected = ConfusionAbstentionDisplay.from_predictions(
        None, proba, abstain, prediction=["b", "b", "a", "a"], classes=["a", "b"],
        sample_weight=[2, 1, 1, 1],
    )  # fmt: skip
    np.testing.assert_allclose(expected.before, [[0.5, 2.4], [1.5, 0.6]])
    np.testing.assert_allclose(expected.withheld, [0.6, 0.4])
    assert expected.ax_.get_ylabel() == "true class (expected)"


def test_confusion_writes_nothing_where_there_was_nothing():
    before, kept = np.array([[5.0, 0.0], [0.04, 3.0]]), np.array([[4.0, 0.0], [0.0, 3.0]])
    display = ConfusionAbstentionDisplay(before, kept, ["a", "b"]).plot()
    cells = [text.get_text() for text in display.ax_.texts]
    assert cells == ["4\nof 5", "1\n(20%)", "3\nof 3", "0\n(1%)"]


def test_confusion_of_many_classes_is_not_written_out():
    many = np.eye(20)
    display = ConfusionAbstentionDisplay(many, many, np.arange(20)).plot()
    assert not display.ax_.texts
    assert [text.get_text() for text in display.ax_.get_xticklabels()][-1] == "withheld"


def test_bands_hold_what_the_estimate_holds_and_say_how_often(decided):
    clinic, _ = decided
    abstainer = Abstainer(
        "auroc", budget=0.2, calibration="platt", scale="logits", random_state=0, level=0.8
    )
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    display = AbstentionCurveDisplay.from_decisions(
        decisions, budgets=BUDGETS, methods=["delta-metric"]
    )
    assert legend(display)[-1] == "80% interval of the estimate"
    own = display.curves["delta-metric"]
    assert own.intervals[2] == pytest.approx(decisions.estimate.after.interval)


def test_proportions_of_a_batch_that_nothing_explains_are_drawn_all_the_same(decided):
    clinic, _ = decided
    abstainer = Abstainer("auroc", budget=0.2, calibration="platt", scale="logits", random_state=0)
    abstainer.fit(clinic.scores_val, clinic.y_val)
    # Rows from the middle of the scale alone are no mixture of the classes.
    middle = np.argsort(np.abs(clinic.scores_target - np.quantile(clinic.scores_target, 0.8)))
    with pytest.warns(AssumptionWarning):
        decisions = abstainer.decide(clinic.scores_target[middle[:400]])
    display = PriorsDisplay.from_decisions(decisions)
    assert (display.interval[:, 0] <= display.target).all()
    assert (display.target <= display.interval[:, 1]).all()
    AbstentionCurveDisplay.from_decisions(decisions, budgets=BUDGETS)
