import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import auc
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from abstain import Abstainer, AbstainingClassifier
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.plots import RegionDisplay, RocAbstentionDisplay

matplotlib.use("agg")


@pytest.fixture(scope="module")
def decided():
    clinic = screening_clinic(1_000, 1_000, random_state=0)
    abstainer = Abstainer("auroc", budget=0.2, calibration="platt", scale="logits", random_state=0)
    return clinic, abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    matplotlib.pyplot.close("all")


def area(curve):
    return auc(*curve[:2])


def test_the_curves_are_those_of_the_metric(decided):
    clinic, decisions = decided
    display = RocAbstentionDisplay.from_decisions(decisions, clinic.y_target)
    metric = decisions.policy.metric
    kept = ~decisions.abstain
    assert area(display.before) == pytest.approx(metric.observed(clinic.y_target, decisions.proba))
    assert area(display.after) == pytest.approx(
        metric.observed(clinic.y_target[kept], decisions.proba[kept])
    )
    assert display.ax_.get_title() == "ROC"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["all rows", "withheld rows", "kept rows"]


def test_without_labels_the_curves_are_estimated(decided):
    _, decisions = decided
    display = RocAbstentionDisplay.from_decisions(decisions)
    assert display.ax_.get_title() == "ROC, estimated"
    # What the probabilities say; the estimate takes back what labelled rows say against them.
    kept = decisions.proba[~decisions.abstain]
    assert area(display.after) == pytest.approx(decisions.metric.expected(kept))
    assert decisions.estimate.after.holds(area(display.after))


def test_the_region_is_shaded_where_rows_are_withheld(decided):
    display = RegionDisplay.from_decisions(decided[1])
    withheld = decided[1].proba[decided[1].abstain, 1]
    text = [item.get_text() for item in display.ax_.get_legend().get_texts()]
    assert f"withheld: {withheld.min():.3f} to {withheld.max():.3f}" in text
    assert display.figure_ is display.ax_.figure


def test_given_axes_are_used(decided):
    figure, ax = matplotlib.pyplot.subplots()
    assert RegionDisplay.from_decisions(decided[1], ax=ax).figure_ is figure
    assert RocAbstentionDisplay.from_decisions(decided[1], ax=ax).ax_ is ax


def test_nothing_withheld_is_drawn_too(decided):
    clinic, _ = decided
    abstainer = Abstainer("auroc", budget=0, calibration="platt", scale="logits")
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    labels = RocAbstentionDisplay.from_decisions(decisions).ax_.get_legend().get_texts()
    assert [text.get_text() for text in labels] == ["all rows", "kept rows"]
    RegionDisplay.from_decisions(decisions)


@pytest.mark.parametrize("display", [RegionDisplay, RocAbstentionDisplay])
def test_arrays_draw_what_decisions_draw(decided, display):
    clinic, decisions = decided
    by_decisions = display.from_decisions(decisions, clinic.y_target)
    by_arrays = display.from_predictions(clinic.y_target, decisions.proba, decisions.abstain)
    for name in ("stretches",) if display is RegionDisplay else ("before", "after", "withheld"):
        np.testing.assert_array_equal(getattr(by_decisions, name), getattr(by_arrays, name))


def test_a_classifier_draws_what_it_decides():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    classifier = AbstainingClassifier(model, "auroc", calibration="platt", random_state=0)
    classifier.fit(X[:300], y[:300])
    decisions = classifier.decide(X[300:])
    for display in (RegionDisplay, RocAbstentionDisplay):
        drawn = display.from_estimator(classifier, X[300:], y[300:])
        assert not drawn.estimated
        assert display.from_estimator(classifier, X[300:]).estimated
    region = RegionDisplay.from_estimator(classifier, X[300:])
    p = decisions.proba[decisions.abstain, 1]
    assert region.stretches == [(p.min(), p.max())]


def test_a_region_in_parts_is_shaded_in_parts():
    p = np.array([0.05, 0.1, 0.3, 0.5, 0.6, 0.8])
    y = np.array([0, 0, 1, 0, 1, 1])
    abstain = np.array([True, True, False, False, True, False])
    region = RegionDisplay.from_predictions(y, p, abstain)
    assert region.stretches == [(0.05, 0.1), (0.6, 0.6)]
    spans = [patch for patch in region.ax_.patches if patch.get_zorder() == 0]
    assert [(span.get_x(), span.get_width()) for span in spans] == [
        pytest.approx((0.05, 0.05)),
        pytest.approx((0.6, 0.0)),
    ]
    labels = [text.get_text() for text in region.ax_.get_legend().get_texts()]
    assert labels[2:] == ["withheld: 0.050 to 0.600, in 2 parts"]
    # From the top: 0.8 and 0.6 positive, 0.5 negative, 0.3 positive, 0.1 and 0.05 negative.
    roc = RocAbstentionDisplay.from_predictions(y, p, abstain)
    thirds = np.arange(4) / 3
    np.testing.assert_allclose(
        roc.withheld,
        [
            [0, 0, np.nan, thirds[1], thirds[2], 1],
            [thirds[1], thirds[2], np.nan, 1, 1, 1],
        ],
    )


def test_rows_withheld_among_others_have_bars_of_their_own():
    p = np.linspace(0.01, 0.99, 200)
    abstain = np.arange(200) % 2 == 0
    region = RegionDisplay.from_predictions(None, p, abstain, sample_weight=np.full(200, 2.0))
    labels = [text.get_text() for text in region.ax_.get_legend().get_texts()]
    assert labels == ["negatives (expected)", "positives (expected)", "withheld rows"]
    bars = region.ax_.containers[-1]
    assert sum(bar.get_height() for bar in bars) == pytest.approx(2 * abstain.sum())


def test_what_abstain_must_be():
    with pytest.raises(TypeError, match="`abstain` must be true or false for each row; got int"):
        RegionDisplay.from_predictions(None, [0.2, 0.6], [0, 1])
    with pytest.raises(ValueError, match="`proba` 2, `abstain` 1"):
        RegionDisplay.from_predictions(None, [0.2, 0.6], [True])


@pytest.mark.parametrize("display", [RegionDisplay, RocAbstentionDisplay])
def test_many_classes_are_refused(display):
    simulation = simulate_four_class_normal(200, random_state=0)
    abstainer = Abstainer("kappa", budget=0.1, calibration="temperature", shift="none")
    decisions = abstainer.fit(simulation.proba, simulation.y).decide(simulation.proba)
    with pytest.raises(ValueError, match="for two classes; got 4"):
        display.from_decisions(decisions)
