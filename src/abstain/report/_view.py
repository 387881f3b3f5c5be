"""What the page is computed on: the atoms of two classes' p, or rows and a random part of them.

Values are those of the whole batch. Of very many rows, pictures are drawn from a part, and the
noise of labels from less still, to be put around the value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain._words import FEW_DECIMALS, places
from abstain.decisions import Decisions
from abstain.estimation import EstimatedValue, Marks
from abstain.evaluation import as_most_probable
from abstain.metrics import Point
from abstain.regions import Choice, Region
from abstain.summaries import BatchSummary, BinarySummary, RowSummary, summarise

# Above this many rows they are summed in bins or, where they cannot be, drawn from a part.
LARGE = 200_000
# Rows of which labels are drawn for each position of the slider.
FEW_ROWS = 20_000
BINS = 2**16
# Bins may move a value by about this much; the page has three decimals.
COARSE = 1e-4
# Labels of so many atoms are drawn one by one; of more, for a few groups of them.
MANY_ATOMS = 16_384
FEW_ATOMS = 2_048


class Effect(NamedTuple):
    """What a choice does to a summary: predicted columns, what is withheld, and what is kept."""

    summary: BatchSummary
    prediction: IntArray
    withheld: Mask
    kept: BatchSummary


@dataclass(frozen=True, eq=False)
class View:
    """A decided batch as the page sees it.

    Attributes
    ----------
    decisions : Decisions
        What was decided about the rows that have a score and no known label.
    total, referred : float
        How much all rows count, and those that are referred for want of a score.
    before : EstimatedValue
        The metric if nobody is referred: predicted by the rule or, where that is better, as the
        most probable class. Of a rule for the kept rows nobody would predict all of them by it.
    by_atoms : bool
        Whether the atoms of two classes' p say all that choices are made on.
    is_large : bool
        Whether there are so many rows that less is shown of them.
    proba : ndarray
        The probabilities of the rows; of two classes one column, where that is all it takes.
    whole : BatchSummary
        What choices are made on.
    rows : ndarray of int or None
        The rows that stand for all of them; None where all are drawn.
    drawn : BatchSummary
        What pictures are drawn from.
    few : BatchSummary
        What labels are drawn for, as many as there are in all.
    """

    decisions: Decisions
    total: float
    referred: float
    before: EstimatedValue
    by_atoms: bool
    is_large: bool
    proba: FloatArray
    whole: BatchSummary
    rows: IntArray | None
    drawn: BatchSummary
    few: BatchSummary

    @classmethod
    def of(cls, came: Decisions) -> Self:
        """Return decisions as the page sees them."""
        counts = np.ones(len(came)) if came.sample_weight is None else came.sample_weight
        scored = np.isin(np.arange(len(came)), came.scored_at)
        sums = float(counts.sum()), float(counts[came.abstain & ~scored].sum())
        decisions = came.scored
        before, plain = decisions.estimate.before, as_most_probable(decisions)
        sign = 1.0 if decisions.metric.greater_is_better else -1.0
        if plain is not None and sign * (plain.value - before.value) > 0:
            before = plain
        n, weight, metric = len(decisions), decisions.sample_weight, decisions.metric
        is_large = n > LARGE
        by_atoms = decisions.values is None and len(decisions.classes) == 2
        by_atoms = by_atoms and (metric.ranks or is_large)
        proba = decisions.compact if by_atoms else decisions.proba
        rows = None
        if by_atoms:
            whole = summarise(proba, weight, bins=BINS if is_large else None)
            if is_large:
                capacity = whole.capacity(decisions.abstention_rate)
                if not metric.coarseness(whole, capacity) <= COARSE:
                    whole = summarise(proba, weight)
            drawn = few = whole
            if len(whole.atoms) > MANY_ATOMS:
                atoms, _ = whole.atoms.compressed(FEW_ATOMS)
                few = BinarySummary(atoms, whole.n_rows, whole.counted, whole.lightest)
            return cls(
                decisions, *sums, before, by_atoms, is_large, proba, whole, rows, drawn, few
            )
        drawn = few = whole = RowSummary(proba, weight)
        if n > FEW_ROWS:
            # Each stands for a whole number of rows, so that as many labels can be drawn.
            part = n // -(-n // FEW_ROWS)
            rows = np.sort(np.random.default_rng(0).choice(n, part, replace=False))
            drawn = whole.only(rows)
            each = np.full(part, round(n / part)) * (1.0 if weight is None else drawn.weight)
            few = RowSummary(drawn.proba, each)
        return cls(decisions, *sums, before, by_atoms, is_large, proba, whole, rows, drawn, few)

    @property
    def by_rule(self) -> bool:
        """Whether the metric if nobody is referred is of the rule's own predictions."""
        return self.before is self.decisions.estimate.before

    @cached_property
    def places(self) -> int:
        """How many decimals its figures have on the page."""
        both = self.before, self.decisions.estimate.after
        return places([end for one in both for end in (one.value, *one.interval)], FEW_DECIMALS)

    def of_all(self, share: float) -> float:
        """Return what share of all rows is referred where one of those with a score is."""
        return (share * self.whole.total + self.referred) / self.total

    def effect(self, choice: Choice, prediction: IntArray, withheld: Mask) -> Effect:
        """Return what is drawn of a choice, given what it does to the rows."""
        if self.by_atoms:
            prediction, withheld = choice.apply(self.drawn.proba)
        elif self.rows is not None:
            prediction, withheld = prediction[self.rows], withheld[self.rows]
        return Effect(self.drawn, prediction, withheld, self.drawn.only(~withheld))

    def score(self, region: Region, effect: Effect) -> FloatArray | None:
        """Return what withholding is worth, of each that is drawn; None of a window."""
        values = self.decisions.values
        if values is None:
            return region.score(effect.summary.proba, effect.prediction)
        return values if self.rows is None else values[self.rows]

    def after(self, point: Point, decided: Marks) -> EstimatedValue:
        """Return the value of a point of a budget curve, with its interval.

        Parameters
        ----------
        point : Point
            A choice, and what the probabilities alone say of it.
        decided : (ndarray, ndarray)
            Predicted columns and what is withheld, of what pictures are drawn from.
        """
        few, metric, level = self.few, self.decisions.metric, self.decisions.level
        if len(few.proba) != len(self.drawn.proba):
            decided = point.choice.apply(few.proba)
        if decided[1].all():
            return EstimatedValue(float("nan"), (float("nan"), float("nan")), level)
        outcome = self.decisions.outcome
        found = outcome.drawn_on(few, point.choice, decided, outcome.replicates)
        if few is not self.whole:
            # By what a part differs from the whole is known, and taken back.
            moved = point.value - metric.before_and_after(few, *decided)[1]
            found = replace(found, after=np.clip(found.after + moved, *metric.value_range))
        return found.estimate(level).after
