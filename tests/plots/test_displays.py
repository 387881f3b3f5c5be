import matplotlib
import numpy as np
import pytest

from abstain import Abstainer
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
    return np.trapezoid(curve[1], curve[0])


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
    display = RocAbstentionDisplay.from_decisions(decided[1])
    assert display.ax_.get_title() == "ROC, estimated"
    assert area(display.after) == pytest.approx(decided[1].estimate.after.value)


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
def test_many_classes_are_refused(display):
    simulation = simulate_four_class_normal(200, random_state=0)
    abstainer = Abstainer("kappa", budget=0.1, calibration="temperature", shift="none")
    decisions = abstainer.fit(simulation.proba, simulation.y).decide(simulation.proba)
    with pytest.raises(ValueError, match="for two classes; got 4"):
        display.from_decisions(decisions)
