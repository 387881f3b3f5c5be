"""What happened to a batch: class proportions, what they rest on, and what the data leave open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from abstain import shift as shifts
from abstain._inputs import FloatArray
from abstain._logs import logger
from abstain._numerics import clone
from abstain.deciding._given import Given
from abstain.estimation import Replicates, Resampled
from abstain.exceptions import NotIdentifiable
from abstain.shift import Assumption, KnownLabels, Part, Proportions, ShiftEstimator, World
from abstain.summaries import BatchSummary, LabelledSummary

_logger = logger("flow")


@dataclass(frozen=True, eq=False)
class ShiftEvidence:
    """What is estimated of a batch before anything is chosen.

    Attributes
    ----------
    estimator : ShiftEstimator
        Fitted: the class proportions then and now.
    used : ndarray of shape (n_classes,)
        New over old class proportions, as decisions adapt by them.
    labelled : LabelledSummary
        The validation data, calibrated.
    summary : BatchSummary
        The batch, calibrated and not adapted; of many rows lost once these are adapted in place.
    sketch : (ndarray, ndarray)
        Rows that stand for all of it, which stay, and their weights.
    classes : sequence
        The label of each column.
    seed : int
    known : KnownLabels or None
        Further rows of the batch whose label is known.
    """

    estimator: ShiftEstimator
    used: FloatArray
    labelled: LabelledSummary
    summary: BatchSummary
    sketch: tuple[FloatArray, FloatArray]
    classes: Sequence[Any]
    seed: int
    known: KnownLabels | None = None

    @cached_property
    def assumption(self) -> Assumption:
        """What it rests on, the evidence, and what speaks against it."""
        draws = None
        if self.estimator.worlds_ is None:
            draws = self.replicates[0].moves.ratios[1:] * self.estimator.source_priors_
            draws = draws / draws.sum(axis=1, keepdims=True)
        found = shifts.assumption_of(
            self.estimator, self.labelled, self.summary, self.classes, draws
        )
        if self.known is None:
            return found
        moves = max(self.replicates, key=lambda one: one.weight).moves
        more = shifts.known_doubts(
            self.known, self.summary, moves, classes=list(self.classes), seed=self.seed
        )
        return replace(found, doubts=(*found.doubts, *more), n_labels=self.known.n)

    @property
    def ratios(self) -> FloatArray:
        """New over old class proportions."""
        return self.estimator.weights_

    @cached_property
    def replicates(self) -> tuple[Replicates, ...]:
        """What the data leave open, under each assumption that may be right, with its weight."""
        return tuple(map(self._open, self.estimator.parts()))

    @cached_property
    def worlds(self) -> dict[World, tuple[Replicates, ...]]:
        """The same in each world alone; empty where they were not weighed."""
        return {world: (self._open(part),) for world, part in self.estimator.under.items()}

    @cached_property
    def _resampled(self) -> Resampled:
        return Resampled.of(self.labelled, self.sketch, self.seed)

    def _open(self, part: Part) -> Replicates:
        alone = self.estimator.worlds_ is None
        found = self._resampled.under(part, at=self.used, reuse=alone)
        if self.known is not None:
            found = found.with_batch_rows(self.known.speaking, part.ratios, self.seed)
        worlds = self.estimator.worlds_
        unseen = 0.0 if worlds is None else worlds.unseen
        return replace(found, unseen=unseen, drift=self.labelled.drift)

    def proportions(self, level: float) -> Proportions:
        """Return the class proportions of the batch, pooled over what may have happened."""
        return shifts.pooled_proportions(
            [self._resampled.proportions(one) for one in self.replicates],
            [one.weight for one in self.replicates],
            self.estimator.source_priors_ * self.used,
            self.estimator.priors_,
            level,
        )

    @property
    def reads_rows(self) -> bool:
        """Whether the rows it was estimated from are still read: of many classes.

        Of few classes the sketch is enough.
        """
        return len(self.ratios) > shifts.MANY_CLASSES


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
    summary = given.shift.told_by(summary)
    try:
        labels = () if known is None else (known.counts, known.speaking)
        estimator = clone(given.shift).fit_summaries(labelled, summary, *labels)
    except NotIdentifiable as error:
        # What it cannot tell apart is said by name.
        these = ", ".join(repr(names[column]) for column in error.columns)
        raise NotIdentifiable(
            f"{error} These columns are the classes {these}.", error.columns
        ) from error
    evidence = ShiftEvidence(
        estimator,
        estimator.weights_ if used is None else used,
        labelled,
        summary,
        summary.sketch,
        names,
        given.seed,
        known,
    )
    _logger.info(
        "shift %s: %s Proportions %s, then %s",
        given.shift.name,
        evidence.assumption.summary(),
        estimator.source_priors_,
        estimator.priors_,
    )
    return evidence
