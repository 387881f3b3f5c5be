"""A batch whose scores are told apart from validation rows by others than those decided by.

Scores of cross-fitting are of several models, each of which knew most rows. Those of one model
that knew all of them are spread otherwise, above all where features repeat: that is no shift.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from abstain._numerics import clone
from abstain.shift._base import ShiftEstimator
from abstain.summaries import BatchSummary, LabelledSummary


class SeenOtherwise(ShiftEstimator):
    """Another estimator, told of the batch by a summary of its own.

    Parameters
    ----------
    estimator : ShiftEstimator
        What estimates.
    seen : callable
        Gives the batch, scored as the validation rows are, once that is asked for.
    """

    def __init__(self, estimator: ShiftEstimator, seen: Callable[[], BatchSummary]) -> None:
        super().__init__()
        self.estimator = estimator
        self.seen = seen

    def told_by(self, batch: BatchSummary) -> BatchSummary:
        """Return the summary of its own."""
        return self.seen()

    def fit_summaries(self, source: LabelledSummary, target: BatchSummary, *known: Any) -> Any:
        """Return the estimator, fitted."""
        return clone(self.estimator).fit_summaries(source, target, *known)

    def _fit(self, source: LabelledSummary, target: BatchSummary) -> None:
        raise TypeError("The estimator that it stands for is fitted in its place.")
