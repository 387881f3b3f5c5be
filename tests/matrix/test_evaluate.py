"""Every way of deciding can be compared with the truth."""

import numpy as np
import pytest

from abstain.evaluation import evaluate

from .cells import CELLS, batch, decided, pairwise


@pytest.mark.parametrize("cell", pairwise(CELLS))
def test_the_realised_metric_is_that_of_the_labels(cell):
    decisions, data = decided(cell), batch(cell.classes)
    metric, kept = decisions.policy.metric, ~decisions.abstain
    found = evaluate(decisions, data.y, groups=np.arange(len(data.y)) % 2)
    own = found.realised[metric.name]
    assert own.n == len(decisions)
    assert own.abstention_rate == pytest.approx(decisions.abstain.mean())
    for value, rows in (
        (own.all, np.ones_like(kept)),
        (own.kept, kept),
        (own.withheld, ~kept),
    ):
        expected = metric.observed(
            np.searchsorted(data.names, data.y[rows]),
            decisions.proba[rows],
            prediction=np.searchsorted(data.names, decisions.prediction[rows]),
        )
        assert value == pytest.approx(expected, nan_ok=True)
    assert found.estimated_after == decisions.estimate.after
    assert [*found.groups] == [0, 1]


@pytest.mark.parametrize("cell", pairwise(CELLS))
def test_the_order_of_withholding_starts_with_what_is_withheld(cell):
    decisions, data = decided(cell), batch(cell.classes)
    curve = evaluate(decisions, data.y).risk_coverage
    assert 0 <= curve.aurc <= 1
    # Once the withheld rows are gone, the share of wrong predictions is that of the kept.
    kept = ~decisions.abstain
    at = np.flatnonzero(np.isclose(curve.coverage, kept.mean()))
    assert len(at) == 1
    wrong = np.mean(decisions.prediction[kept] != data.y[kept])
    assert curve.selective_risk[at[0]] == pytest.approx(wrong)
