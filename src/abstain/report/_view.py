"""What the page is computed on: the atoms of two classes' p, or rows and a random part of them.

Values are those of the whole batch. Of very many rows, pictures are drawn from a part, and the
noise of labels from less still, to be put around the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain.decisions import Decisions
from abstain.estimation import Drawn, EstimatedValue, Marks
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


@dataclass(frozen=True, eq=False)
class Effect:
    """What a choice does to a summary: predicted columns, and what is withheld."""

    summary: BatchSummary
    prediction: IntArray
    withheld: Mask

    @cached_property
    def kept(self) -> BatchSummary:
        """The part that is not withheld."""
        return self.summary.only(~self.withheld)


@dataclass(frozen=True, eq=False)
class View:
    """A decided batch as the page sees it.

    Parameters
    ----------
    decisions : Decisions
        What was decided.
    """

    decisions: Decisions

    @property
    def _by_atoms(self) -> bool:
        decisions = self.decisions
        if decisions.values is not None or len(decisions.classes) != 2:
            return False
        return decisions.metric.ranks or self.is_large

    @property
    def is_large(self) -> bool:
        """Whether there are so many rows that less is shown of them."""
        return len(self.decisions) > LARGE

    @property
    def proba(self) -> FloatArray:
        """The probabilities of the rows; of two classes one column, where that is all it takes."""
        return self.decisions.compact if self._by_atoms else self.decisions.proba

    @cached_property
    def whole(self) -> BatchSummary:
        """What choices are made on."""
        decisions = self.decisions
        compact, weight = decisions.compact, decisions.sample_weight
        if not self._by_atoms:
            return RowSummary(decisions.proba, weight)
        if self.is_large:
            binned = summarise(compact, weight, bins=BINS)
            capacity = binned.capacity(decisions.abstention_rate)
            if decisions.metric.coarseness(binned, capacity) <= COARSE:
                return binned
        return summarise(compact, weight)

    @cached_property
    def rows(self) -> IntArray | None:
        """The rows that stand for all of them; None where all are drawn."""
        if self._by_atoms or len(self.decisions) <= FEW_ROWS:
            return None
        n = len(self.decisions)
        # Each stands for a whole number of rows, so that as many labels can be drawn.
        part = n // -(-n // FEW_ROWS)
        return np.sort(np.random.default_rng(0).choice(n, part, replace=False))

    @cached_property
    def drawn(self) -> BatchSummary:
        """What pictures are drawn from."""
        return self.whole if self.rows is None else self.whole.only(self.rows)

    @cached_property
    def _label_sample(self) -> BatchSummary:
        """What labels are drawn for, as many as there are in all."""
        whole = self.whole
        if self.rows is not None:
            each = np.full(len(self.rows), round(len(self.decisions) / len(self.rows)))
            weight = self.drawn.weight
            return RowSummary(self.drawn.proba, each * (1.0 if weight is None else weight))
        if not self._by_atoms or len(whole.atoms) <= MANY_ATOMS:
            return self.drawn
        few, _ = whole.atoms.compressed(FEW_ATOMS)
        return BinarySummary(few, whole.n_rows, whole.counted, whole.lightest)

    def effect(self, choice: Choice, prediction: IntArray, withheld: Mask) -> Effect:
        """Return what is drawn of a choice, given what it does to the rows."""
        if self._by_atoms:
            return Effect(self.drawn, *choice.apply(self.drawn.proba))
        rows = slice(None) if self.rows is None else self.rows
        return Effect(self.drawn, prediction[rows], withheld[rows])

    def score(self, region: Region, effect: Effect) -> FloatArray | None:
        """Return what withholding is worth, of each that is drawn; None of a window."""
        values = self.decisions.values
        if values is None:
            return region.score(effect.summary.proba, effect.prediction)
        return values if self.rows is None else values[self.rows]

    def after(self, point: Point, decided: Marks, *, n_draws: int | None = None) -> EstimatedValue:
        """Return the value of a point of a budget curve, with its interval.

        Parameters
        ----------
        point : Point
            A choice, and what the probabilities alone say of it.
        decided : (ndarray, ndarray)
            Predicted columns and what is withheld, of what pictures are drawn from.
        n_draws : int, optional
            How many draws are enough; all that there are, where not given.
        """
        few, metric, level = self._label_sample, self.decisions.metric, self.decisions.level
        if len(few.proba) != len(self.drawn.proba):
            decided = point.choice.apply(few.proba)
        if decided[1].all():
            return EstimatedValue(float("nan"), (float("nan"), float("nan")), level)
        replicates = self.decisions.replicates
        if n_draws is not None:
            replicates = tuple(one.first(n_draws) for one in replicates)
        drawn = self.decisions.outcome.drawn_on(few, point.choice, decided, replicates).after
        if few is not self.whole:
            # By what a part differs from the whole is known, and taken back.
            moved = point.value - metric.before_and_after(few, *decided)[1]
            drawn = np.clip(drawn + moved, *metric.value_range)
        return Drawn(drawn, drawn).estimate(level).after
