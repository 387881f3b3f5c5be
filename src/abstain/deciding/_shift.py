"""What happened to a batch: class proportions, what they rest on, and what the data leave open."""

from __future__ import annotations

from dataclasses import dataclass, replace

from abstain import shift as shifts
from abstain._inputs import FloatArray
from abstain._logs import logger
from abstain._numerics import clone
from abstain.deciding._given import Given
from abstain.estimation import Replicates, Resampled
from abstain.exceptions import NotIdentifiable
from abstain.shift import Assumption, AutoShift, KnownLabels, Proportions, ShiftEstimator, World
from abstain.summaries import BatchSummary

_logger = logger("flow")

# Rows of a batch that stand for all of them where it is asked what they leave open.
SKETCH = 4_096


@dataclass(frozen=True, eq=False)
class ShiftEvidence:
    """What is estimated of a batch before anything is chosen.

    Attributes
    ----------
    estimator : ShiftEstimator
        Fitted: the class proportions then and now.
    assumption : Assumption
        What that rests on, the evidence, and what speaks against it.
    replicates : tuple of Replicates
        What the data leave open, under each assumption that may be right, with its weight.
    """

    estimator: ShiftEstimator
    assumption: Assumption
    replicates: tuple[Replicates, ...]
    _open: _Open

    @property
    def ratios(self) -> FloatArray:
        """New over old class proportions."""
        return self.estimator.weights_

    def proportions(self, level: float) -> Proportions:
        """Return the class proportions of the batch, pooled over what may have happened."""
        return shifts.pooled_proportions(
            [one.proportions for one in self.replicates],
            [one.weight for one in self.replicates],
            self.estimator.source_priors_ * self.ratios,
            level,
        )

    def alternative(self, world: World) -> tuple[Replicates, ...] | None:
        """Return what is open in one world, where several were weighed."""
        if not isinstance(self.estimator, AutoShift):
            return None
        return (self._open.replicates(self.estimator.under(world)),)

    @property
    def reads_rows(self) -> bool:
        """Whether the rows it was estimated from are still read: other worlds of many classes.

        Of few classes the sketch is enough.
        """
        return isinstance(self.estimator, AutoShift) and len(self.ratios) > shifts.MANY_CLASSES


@dataclass(frozen=True, eq=False)
class _Open:
    """What it takes to tell what the data leave open, under any assumption."""

    resampled: Resampled
    used: FloatArray
    known: KnownLabels | None

    def replicates(self, estimator: ShiftEstimator) -> Replicates:
        found = self.resampled.under(estimator, at=self.used)
        if self.known is None:
            return found
        return found.with_batch_rows(self.known.rows, estimator.weights_, self.resampled.seed)


def estimate_shift(
    given: Given,
    summary: BatchSummary,
    *,
    known: KnownLabels | None = None,
    used: FloatArray | None = None,
) -> ShiftEvidence:
    """Estimate the class proportions of a batch, check what that rests on, and replicate it.

    Parameters
    ----------
    given : Given
        The validation data, and how to estimate.
    summary : BatchSummary
        The batch, calibrated.
    known : KnownLabels, optional
        Further rows of it whose label is known.
    used : ndarray of shape (n_classes,), optional
        The ratios to which decisions adapt, where they are not those estimated here.
    """
    labelled, names = given.labelled, given.classes.tolist()
    try:
        counts = None if known is None else known.counts
        estimator = clone(given.shift).fit_summaries(labelled, summary, counts)
    except NotIdentifiable as error:
        # What it cannot tell apart is said by name.
        these = ", ".join(repr(names[column]) for column in error.columns)
        raise NotIdentifiable(
            f"{error} These columns are the classes {these}.", error.columns
        ) from error
    used = estimator.weights_ if used is None else used
    resampled = Resampled.of(labelled, summary.sketch(SKETCH), given.seed)
    left_open = _Open(resampled, used, known)
    unseen = estimator.unseen_ if isinstance(estimator, AutoShift) else 0.0
    replicates = tuple(
        replace(left_open.replicates(part.estimator), weight=part.weight, unseen=unseen)
        for part in estimator.parts()
    )
    heaviest = max(replicates, key=lambda one: one.weight)
    moves = heaviest.moves
    draws = heaviest.proportions[1:]
    assumption = shifts.assumption_of(estimator, labelled, summary, names, draws)
    if known is not None:
        more = shifts.known_doubts(known, summary, moves, classes=names, seed=given.seed)
        assumption = replace(assumption, doubts=(*assumption.doubts, *more), n_labels=known.n)
    _logger.info(
        "shift %s: %s Proportions %s, then %s",
        given.shift.name,
        assumption.summary(),
        estimator.source_priors_,
        estimator.priors_,
    )
    return ShiftEvidence(estimator, assumption, replicates, left_open)
