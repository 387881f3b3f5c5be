"""Outcome: what was decided about the rows of a batch, and what is expected of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask, both_columns
from abstain.certificates import Certificate
from abstain.deciding._shift import ShiftEvidence
from abstain.estimation import LEVEL, Drawn, Estimate, Marks, Replicates, drawn_rows
from abstain.exceptions import RepairWarning, warn_user
from abstain.metrics import Metric
from abstain.regions import Choice
from abstain.shift import Assumption, World
from abstain.summaries import BatchSummary, own_order, summarise


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was decided about the rows of a batch, all of which have a score and no known label.

    Attributes
    ----------
    metric : Metric
        What the figures are of.
    choice : Choice
        Whom to withhold, and how to predict the rest.
    compact : ndarray of shape (n, n_classes), or (n,) for the positive class of two
        Calibrated, adapted probabilities; of rows that are elsewhere those that were kept.
    abstain : ndarray of bool, shape (n,)
        Which rows are withheld.
    weight : ndarray of shape (n,) or None
        How much each row counts.
    shift : ShiftEvidence or None
        What happened to the batch; None where that was not asked.
    assumption : Assumption or None
        What the figures rest on, the evidence, and what speaks against it.
    seed, level : int and float
        Seeds what is drawn; how often intervals are to hold.
    certificate : Certificate or None
        What held-out labels prove.
    reached : float or None
        How probably the kept reach the target that was asked for.
    values : ndarray of shape (n,) or None
        The score that ordered the rows, where the probabilities do not tell it.
    over_capacity : ndarray of bool, shape (n,), or None
        Which rows the rule withholds and are kept all the same; None where nobody asked.
    least_pressing : float or None
        The least priority that is withheld, where a capacity and not the region says so.
    figures : Estimate or None
        The estimate, where it is at hand; otherwise it is drawn when it is asked for.
    """

    metric: Metric
    choice: Choice
    compact: FloatArray
    abstain: Mask
    weight: FloatArray | None = None
    shift: ShiftEvidence | None = None
    assumption: Assumption | None = None
    seed: int = 0
    level: float = LEVEL
    certificate: Certificate | None = None
    reached: float | None = None
    values: FloatArray | None = None
    over_capacity: Mask | None = None
    least_pressing: float | None = None
    figures: Estimate | None = None

    @cached_property
    def proba(self) -> FloatArray:
        """Calibrated, adapted probabilities, a column per class."""
        return both_columns(self.compact)

    @property
    def replicates(self) -> tuple[Replicates, ...]:
        """What intervals are made of, under each assumption that may be right."""
        return () if self.shift is None else self.shift.replicates

    @cached_property
    def columns(self) -> IntArray:
        """The predicted column of each row."""
        return self.choice.rule.predict(self.compact)

    @cached_property
    def estimate(self) -> Estimate:
        """The metric before and after abstaining, estimated on these rows without labels."""
        if self.figures is not None:
            return self.figures
        if not len(self.abstain):
            return Estimate.undefined(self.level)
        return self.drawn().estimate(self.level)

    @cached_property
    def alternative(self) -> dict[World, Estimate] | None:
        """The same in each world, where several were weighed."""
        if self.shift is None or not self.shift.worlds:
            return None
        return {
            world: self.drawn(replicates).estimate(self.level)
            for world, replicates in self.shift.worlds.items()
        }

    def judged(self, *, figures: Estimate | None = None, **changes: Any) -> Self:
        """Return the same rows by another metric or choice; figures not given are drawn anew."""
        return replace(self, figures=figures, **changes)

    def drawn(self, replicates: tuple[Replicates, ...] | None = None) -> Drawn:
        """Draw the metric on all rows and on the kept; under what may be right, if not given."""
        replicates = self.replicates if replicates is None else replicates
        by_rule = self.metric.ranks and self.values is None
        if by_rule and (self.choice.withheld(self.compact) == self.abstain).all():
            summary = self._atoms
            decided = self.metric.applied(self.choice, summary)
        else:
            # In the order in which rows are decided about, so that the same draws are of each.
            order = own_order(self.proba, self.weight)
            order = np.arange(len(self.proba)) if order is None else order
            weight = None if self.weight is None else self.weight[order]
            summary = summarise(self.proba[order], weight)
            decided = self.columns[order], self.abstain[order]
        return self.drawn_on(summary, self.choice, decided, replicates)

    @property
    def _atoms(self) -> BatchSummary:
        bins = self.metric.bins_for(len(self.abstain))
        return self.metric.summarised(self.compact, self.weight, bins)

    def drawn_on(
        self,
        summary: BatchSummary,
        choice: Choice,
        decided: Marks,
        replicates: tuple[Replicates, ...],
    ) -> Drawn:
        """Draw what a choice would do to these rows, from a summary and what it does to that."""
        labelled = None
        if replicates:
            proba = replicates[0].labelled.proba
            # What a score from outside would do to labelled rows nobody knows.
            labelled = choice.apply(proba) if self.values is None else choice.predicted(proba)
            if self.least_pressing is not None and choice is self.choice:
                pressing = choice.region.priority(proba, labelled[0], choice.rule)
                labelled = labelled[0], labelled[1] & (pressing >= self.least_pressing)
        return drawn_rows(
            self.metric.for_choice(choice),
            summary,
            decided,
            labelled,
            replicates=replicates,
            seed=self.seed,
        )

    @property
    def gain(self) -> FloatArray:
        """What withholding each row is worth; see :attr:`abstain.Decisions.gain`."""
        n = len(self.abstain)
        if self.values is not None:
            return self.values
        if not n:
            return np.empty(0)
        score = self.choice.region.score(self.compact, self.columns)
        if score is not None:
            return score
        if not self.metric.known:
            warn_user(
                f"`gain` is NaN: it is what the metric {self.metric.name!r} gains, which is not "
                f"known here until abstain.metrics.register(metric) is called.",
                RepairWarning,
            )
            return np.full(n, np.nan)
        sign = 1.0 if self.metric.greater_is_better else -1.0
        if self.least_pressing is None:
            summary = self._atoms
            decided = self.metric.applied(self.choice, summary)
        else:
            summary = summarise(self.proba, self.weight)
            decided = self.columns, self.abstain
        before, after = self.metric.before_and_after(summary, *decided)
        each = np.nan_to_num(sign * (after - before)) / max(int(self.abstain.sum()), 1)
        return np.where(self.abstain, each, 0.0)

    @property
    def priority(self) -> FloatArray:
        """How pressing each row is: higher comes first, and what is withheld before the rest."""
        if self.values is not None:
            return self.values
        return self.choice.region.priority(self.compact, self.columns, self.choice.rule)

    def within(self, at_most: int) -> Self:
        """Return the outcome with no more than so many rows withheld, the most pressing ones.

        Of rows that are as pressing as each other the first come first. The others are kept, and
        the estimate is of what is kept then; nothing is proved of it.
        """
        over = np.zeros(len(self.abstain), dtype=np.bool_)
        withheld = np.flatnonzero(self.abstain)
        pressing = self.priority[withheld]
        order = np.argsort(-pressing, kind="stable")
        over[withheld[order[at_most:]]] = True
        return self.let_through(over, float(pressing[order[:at_most]].min(initial=np.inf)))

    def let_through(self, over: Mask, least_pressing: float) -> Self:
        """Return the outcome with some rows kept all the same, for lack of capacity."""
        if not over.any():
            return replace(self, over_capacity=over)
        return self.judged(
            abstain=self.abstain & ~over,
            over_capacity=over,
            least_pressing=least_pressing,
            certificate=None,
        )
