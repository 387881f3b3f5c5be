"""Every way of deciding can be drawn, and what is drawn is what was decided."""

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.metrics import auc

from abstain.plots import (
    AbstentionCurveDisplay,
    ConfusionAbstentionDisplay,
    PriorsDisplay,
    RegionDisplay,
    ReliabilityDisplay,
    RocAbstentionDisplay,
)

from .cells import BUDGET, CALLABLE, CELLS, DROPOUT, OWN, batch, decided, pairwise

matplotlib.use("agg")

# One metric of each family: a display reads decisions, not metrics.
DRAWN = [
    cell
    for cell in CELLS
    if cell.metric in ("auroc", "accuracy", "top-k=2", "sampled")
    if cell.mode in ("budget", "optimal", "argmax")
]
TWO = [cell for cell in DRAWN if cell.classes == "two" and cell.metric != "sampled"]
FOUR = [cell for cell in DRAWN if cell.classes == "four"]


@pytest.fixture(scope="module")
def axes():
    figure, ax = pyplot.subplots()
    yield ax
    pyplot.close(figure)


@pytest.fixture
def ax(axes):
    axes.clear()
    return axes


@pytest.mark.parametrize("cell", TWO, ids=str)
def test_the_region_is_where_rows_are_withheld(cell, ax):
    decisions = decided(cell)
    display = RegionDisplay.from_decisions(decisions, ax=ax)
    p = decisions.proba[:, 1]
    inside = np.any([(low <= p) & (p <= high) for low, high in display.stretches], axis=0)
    np.testing.assert_array_equal(inside, decisions.abstain)
    assert display.ax_ is ax
    assert ax.get_legend() is not None


@pytest.mark.parametrize("cell", TWO, ids=str)
def test_the_roc_curve_is_of_the_kept_rows(cell, ax):
    decisions, data = decided(cell), batch("two")
    display = RocAbstentionDisplay.from_decisions(decisions, data.y, ax=ax)
    kept = ~decisions.abstain
    p, positive = decisions.proba[kept, 1], data.y[kept] == "yes"
    pairs = p[positive][:, None] - p[~positive]
    auroc = np.mean((pairs > 0) + 0.5 * (pairs == 0))
    assert auc(display.after[0], display.after[1]) == pytest.approx(auroc)


@pytest.mark.parametrize("cell", FOUR, ids=str)
def test_what_is_for_two_classes_says_so(cell, ax):
    for display in (RegionDisplay, RocAbstentionDisplay):
        with pytest.raises(ValueError, match="two classes"):
            display.from_decisions(decided(cell), ax=ax)


@pytest.mark.parametrize("cell", pairwise(DRAWN))
def test_the_confusion_matrix_counts_the_withheld(cell, ax):
    decisions, data = decided(cell), batch(cell.classes)
    display = ConfusionAbstentionDisplay.from_decisions(decisions, data.y, ax=ax)
    expected = [np.sum(decisions.abstain & (data.y == name)) for name in data.names]
    assert display.withheld.tolist() == expected
    kept = ~decisions.abstain
    right = np.sum(decisions.prediction[kept] == data.y[kept])
    assert np.trace(display.kept) == right


@pytest.mark.parametrize(
    "cell",
    [cell for cell in DRAWN if cell.metric == "accuracy" and cell.score in (OWN, DROPOUT)],
    ids=str,
)
def test_the_proportions_are_those_estimated(cell, ax):
    decisions, data = decided(cell), batch(cell.classes)
    display = PriorsDisplay.from_decisions(decisions, data.y, ax=ax)
    assert display.source == pytest.approx(decisions.source_priors)
    now = decisions.current_priors
    assert display.target == pytest.approx(decisions.priors if now is None else now.values)
    assert display.true == pytest.approx([np.mean(data.y == name) for name in data.names])
    if now is not None:
        assert (display.interval[:, 0] <= display.target + 1e-9).all()
        assert (display.target <= display.interval[:, 1] + 1e-9).all()


@pytest.mark.parametrize("cell", pairwise(DRAWN))
def test_the_curve_passes_through_what_was_decided(cell, ax):
    decisions, data = decided(cell), batch(cell.classes)
    own = {OWN: "delta-metric", CALLABLE: "max-probability", DROPOUT: None}.get(
        cell.score, cell.score
    )
    display = AbstentionCurveDisplay.from_decisions(
        decisions, data.y, budgets=[0, BUDGET], methods=[own or "delta-metric"], ax=ax
    )
    (curve,) = display.curves.values()
    assert np.isfinite(curve.estimated).all()
    if cell.mode == "budget":  # an optimal decision differs where nothing is withheld
        before = decisions.estimate.before
        # Other draws of labels where something is withheld, so a part of the interval away.
        near = 0.2 * (before.interval[1] - before.interval[0]) + 1e-9
        assert curve.estimated[0] == pytest.approx(before.value, abs=near)
    if own is not None:
        after = decisions.estimate.after
        # Class thresholds come from the policy's summary of the labelled data.
        near = 0.05 if own == "class-thresholds" else 1e-9
        assert curve.estimated[1] == pytest.approx(after.value, abs=near)
        assert curve.intervals[1] == pytest.approx(after.interval, abs=0.03)
    assert cell.metric in ax.get_ylabel() or cell.metric == "sampled"


@pytest.mark.parametrize("classes", ["two", "four"])
def test_reliability_is_drawn_from_decisions(classes, ax):
    cell = next(cell for cell in CELLS if cell.classes == classes)
    ReliabilityDisplay.from_predictions(batch(classes).y, decided(cell).proba, ax=ax)
    assert ax.lines


@pytest.mark.parametrize("cell", [TWO[0], FOUR[0]], ids=str)
def test_everything_renders(cell, tmp_path):
    decisions = decided(cell)
    displays = [ConfusionAbstentionDisplay, PriorsDisplay]
    if cell.classes == "two":
        displays += [RegionDisplay, RocAbstentionDisplay]
    for display in displays:
        drawn = display.from_decisions(decisions)
        drawn.figure_.savefig(tmp_path / "picture.png")
        pyplot.close(drawn.figure_)
        assert (tmp_path / "picture.png").stat().st_size > 1_000
