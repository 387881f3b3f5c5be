"""Class proportions of a batch, what they rest on, and what the data leave open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from abstain import shift as shifts
from abstain._inputs import FloatArray
from abstain._logs import logger
from abstain._numerics import clone
from abstain.estimation import (
    Replicates,
    replicated,
)
from abstain.exceptions import NotIdentifiable
from abstain.shift import Assumption, KnownLabels, ShiftEstimator
from abstain.summaries import (
    BatchSummary,
    LabelledSummary,
)

__all__ = ["Basis", "basis_of"]

_logger = logger("flow")

# Rows of a batch that stand for all of them where it is asked what they leave open.
_SKETCH = 4_096


@dataclass(frozen=True, eq=False)
class Basis:
    """What is estimated before anything is chosen: proportions, and what the data leave open."""

    estimator: ShiftEstimator
    assumption: Assumption
    replicates: tuple[Replicates, ...]
    other: Callable[[], Replicates] | None

    @property
    def facts(self) -> dict[str, Any]:
        """What decisions carry of it."""
        return {
            "assumption": self.assumption,
            "replicates": self.replicates,
            "other": self.other,
        }


def basis_of(
    how: ShiftEstimator,
    labelled: LabelledSummary,
    summary: BatchSummary,
    seed: int,
    classes: Sequence[Any] | None,
    at: FloatArray | None = None,
    known: KnownLabels | None = None,
) -> Basis:
    """Estimate the class proportions of a batch, check what that rests on, and replicate it."""
    estimator = _fitted(how, labelled, summary, classes, known)
    sketch = summary.sketch(_SKETCH)
    used = estimator.weights_ if at is None else at

    def replicates_of(one: ShiftEstimator) -> Replicates:
        found = replicated(one, labelled, sketch, seed, at=used)
        return found if known is None else found.with_batch_rows(known.rows, one.weights_, seed)

    replicates = [replicates_of(estimator)]
    draws = replicates[0].moves.ratios[1:] * estimator.source_priors_
    assumption = shifts.assumption_of(
        estimator, labelled, summary, classes, draws / draws.sum(axis=1, keepdims=True)
    )
    if known is not None:
        moves, names = replicates[0].moves, classes or range(len(used))
        more = shifts.known_doubts(known, summary, moves, classes=[*names], seed=seed)
        assumption = replace(assumption, doubts=(*assumption.doubts, *more), n_labels=known.n)
    _logger.info(
        "shift %s: %s Proportions %s, then %s",
        how.name,
        assumption.summary(),
        estimator.source_priors_,
        estimator.priors_,
    )
    rejected, other = estimator.other(), None
    if rejected is not None:

        def other() -> Replicates:
            return replicates_of(rejected)

        if assumption.undecided:
            replicates.append(other())
    return Basis(estimator, assumption, tuple(replicates), other)


def _fitted(
    how: ShiftEstimator,
    labelled: LabelledSummary,
    summary: BatchSummary,
    classes: Sequence[Any] | None,
    known: KnownLabels | None,
) -> ShiftEstimator:
    """Return the estimator fitted on both; what it cannot tell apart is said by name."""
    try:
        counts = None if known is None else known.counts
        return clone(how).fit_summaries(labelled, summary, counts)
    except NotIdentifiable as error:
        if classes is None:
            raise
        names = ", ".join(repr(classes[column]) for column in error.columns)
        raise NotIdentifiable(
            f"{error} These columns are the classes {names}.", error.columns
        ) from error
