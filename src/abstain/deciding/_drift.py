"""What validation rows that have a time tell of later batches: how far the metric wanders.

Later rows are estimated from earlier ones, as batches will be, and compared with their labels.
What is more than intervals hold grows with the time between, as a random walk does.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import ndtri

from abstain._inputs import CheckedScores, FloatArray, IntArray, both_columns
from abstain._numerics import clone
from abstain.calibration import Calibrator
from abstain.deciding._batch import Batch
from abstain.deciding._decide import decide
from abstain.deciding._given import Given, labelled_rows
from abstain.exceptions import AbstainError, ArgumentError, AssumptionWarning, RepairWarning
from abstain.metrics import Metric
from abstain.selection import Selection
from abstain.summaries import Drift, RowSummary, compact

# Rows of a block, and how many blocks there are at least and at most.
_ROWS, _FEWEST, _MOST = 100, 3, 12


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Labelled rows as they came, and when each was where that is known."""

    scores: CheckedScores
    codes: IntArray
    weight: FloatArray | None
    times: FloatArray

    def part(self, rows: IntArray) -> Self:
        """Return some of them."""
        weight = None if self.weight is None else self.weight[rows]
        return type(self)(self.scores.part(rows), self.codes[rows], weight, self.times[rows])

    def blocks(self) -> list[Self]:
        """Return them in the order of time, cut into blocks of as many rows each."""
        n = min(len(self.codes) // _ROWS, _MOST)
        if n < _FEWEST or self.times.min() == self.times.max():
            raise ArgumentError(
                f"`time` needs {_FEWEST * _ROWS} validation rows or more, of different times, to "
                f"tell how the metric wanders; got {len(self.codes)}. Leave it out.",
                "time",
            )
        order = np.argsort(self.times, kind="stable")
        return [self.part(rows) for rows in np.array_split(order, n)]


def with_drift(
    given: Given, calibrator: Calibrator, rows: KnownRows, metrics: Sequence[Metric]
) -> Given:
    """Return what decisions are made from with how far metrics wander from block to block.

    Parameters
    ----------
    given : Given
        Without.
    calibrator : Calibrator
        That of all rows; of the same kind is one of earlier rows alone.
    rows : KnownRows
        The labelled rows.
    metrics : sequence of Metric
        Those that anything will be said of.
    """
    blocks, order = rows.blocks(), np.argsort(rows.times, kind="stable")
    above, below = np.zeros((2, len(metrics)))
    for block, first in zip(
        blocks[1:], np.cumsum([len(one.codes) for one in blocks]), strict=False
    ):
        earlier = rows.part(order[:first])
        passed = float(block.times.mean() - earlier.times.mean())
        for k, (missed, error) in enumerate(_tested(given, calibrator, earlier, block, metrics)):
            if not np.isfinite(error):
                continue
            # A line through none, by least squares: far and well known blocks count most.
            above[k] += passed * (missed**2 - error**2) / error**4
            below[k] += passed**2 / error**4
    variances = np.maximum(np.divide(above, below, out=np.zeros_like(above), where=below > 0), 0)
    last = blocks[-1].times
    drift = Drift(
        {one.name: float(found) for one, found in zip(metrics, variances, strict=True)},
        float(rows.times.mean()),
        float(last.max() + (last.max() - last.min()) / 2),
    )
    return replace(given, labelled=replace(given.labelled, drift=drift))


def _tested(
    given: Given,
    calibrator: Calibrator,
    earlier: KnownRows,
    block: KnownRows,
    metrics: Sequence[Metric],
) -> list[tuple[float, float]]:
    """Return how far off the estimates of a block are, by the rows before it, and may be.

    Nothing is far off, and anything may be, where there is no estimate.
    """
    with warnings.catch_warnings():
        # What speaks against a block is no news about a batch.
        warnings.simplefilter("ignore", AssumptionWarning)
        warnings.simplefilter("ignore", RepairWarning)
        own = clone(calibrator.picked).set_params(scale=earlier.scores.scale)
        try:
            own.fit_checked(earlier.scores.logits, earlier.codes, earlier.weight, given.classes)
            labelled = labelled_rows(own.picked, earlier.scores, earlier.codes, earlier.weight)
        except (AbstainError, ValueError):
            # Classes that are not there yet.
            return [(0.0, np.inf)] * len(metrics)
        blind = replace(given, labelled=labelled, selection=Selection(budget=0.0), proof=None)
        proba = compact(both_columns(own.picked.compact_checked(block.scores)))
        return [_missed(replace(blind, metric=one), proba, block) for one in metrics]


def _missed(given: Given, proba: FloatArray, block: KnownRows) -> tuple[float, float]:
    try:
        batch = Batch.of_rows(np.copy(proba), block.weight, given.metric, given.selection)
        found = decide(given, batch)
        rows = RowSummary(found.proba, block.weight)
        realised = given.metric.observed_on(block.codes, rows, found.columns)
    except (AbstainError, ValueError):
        return 0.0, np.inf
    estimate = found.estimate.before
    low, high = estimate.interval
    error = (high - low) / (2 * float(ndtri(0.5 + given.level / 2)))
    defined = np.isfinite([realised, error]).all() and error > 0
    return (realised - estimate.value, error) if defined else (0.0, np.inf)
