"""BatchSummary: all that is known of a batch of calibrated probabilities, made in one pass.

A weighted set of probability vectors that stands for the rows: the rows themselves, or of two
classes the atoms of the positive probability, exact or in bins. Class proportions are estimated,
windows chosen and intervals drawn on it, never on the rows again. Summaries of parts of a batch
merge, so nothing here assumes that the rows are at hand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask, both_columns, whole_rows
from abstain._kernels.proportions import adapted
from abstain._kernels.softmax import scaled_softmax
from abstain.exceptions import ArgumentError, Way
from abstain.summaries._atoms import Atoms, Windows

# From this many rows on, two classes are summed in this many bins of p. A power of two keeps the
# edges of bins exact.
MANY_ROWS = 1_000_000
BINS = 2**18
# A likelihood is taken on at most about this many atoms, evenly heavy: of each, the mean
# probability stands for all. The class proportions move by less than 1e-6.
MOST_ATOMS = 65_536
# Vectors that stand for all rows of a batch where it is asked what they leave open.
SKETCH = 4_096

# More rows than this are taken in the order they come in: sorting would take longest of all.
_MOST_SORTED = 32_768

_SMALLEST = np.finfo(np.float64).eps
# Rows that differ by less are the same but for rounding; a probability of 0 is taken as this.
_SAME = 1e-9
_LEAST = np.finfo(np.float64).tiny


class BatchSummary(ABC):
    """What is known of a batch.

    Attributes
    ----------
    proba : ndarray of shape (size, n_classes)
        The probability vectors of the set.
    weight : ndarray of shape (size,) or None
        The weight of each vector; None where each counts once.
    n_rows : int
        How many rows it stands for.
    counted : bool
        Whether every row counts once, so that weights are numbers of rows.
    lightest : float
        The least weight of a row that has any.
    atoms : Atoms
        The atoms of the positive probability; for two classes only.
    """

    proba: FloatArray
    weight: FloatArray | None
    n_rows: int
    counted: bool
    lightest: float
    atoms: Atoms

    @property
    def compact(self) -> FloatArray:
        """The same, of two classes the probability of the positive one where that is at hand."""
        return self.proba

    def in_bins(self, bins: int) -> Atoms:
        """Return the atoms; where rows are at hand, summed in so many bins."""
        return self.atoms

    def capacity(self, budget: float) -> float:
        """Return the largest weight that a budget allows to withhold.

        A fraction of the weight, whole rows where each counts once; or a count.

        Raises
        ------
        ValueError
            If a count is the batch or more: with nothing left to predict, there is nothing to
            choose.
        """
        if isinstance(budget, int):
            if budget >= self.total:
                raise ArgumentError(
                    f"`budget` as a count must be less than the batch: {budget} may be withheld, "
                    f"and there are {self.total:g} rows, so all of them can go to a person and "
                    f"there is nothing to choose. Pass a smaller count, or a fraction such as "
                    f"0.15.",
                    "budget",
                    ways=[Way("", python="pass a smaller count")],
                )
            return min(float(budget), self.total - self.lightest)
        # A fraction next to 1 leaves a row, too.
        share = min(budget * self.total, self.total - self.lightest)
        return whole_rows(share) if self.counted else share

    @cached_property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.n_rows if self.weight is None else self.weight.sum())

    @cached_property
    def class_sums(self) -> FloatArray:
        """The expected weight of each class."""
        if self.weight is None:
            return np.asarray(self.proba.sum(axis=0))
        return np.asarray(self.weight @ self.proba)

    @abstractmethod
    def adapted(self, ratios: FloatArray, *, in_place: bool = False) -> Self:
        """Return the summary at other class proportions, given new over old ones.

        In place, this summary is lost where that saves the memory of a second one.
        """

    @abstractmethod
    def moved(self, slope: FloatArray, bias: FloatArray, ratios: FloatArray) -> Self:
        """Return the same set with ``softmax(slope * log p + bias)``, then adapted, for labels.

        The vectors stay in their places and their order: only what is believed of the labels
        moves.
        """

    @abstractmethod
    def only(self, chosen: Mask | IntArray) -> Self:
        """Return the part of the set that is marked or numbered."""

    @abstractmethod
    def merged(self, other: Self) -> Self:
        """Return the summary of both batches together."""

    def window(self, withheld: Mask) -> Windows | None:
        """Return nothing, and the marked part, as windows of the atoms; None if it is not one."""
        return None

    @property
    def one_by_one(self) -> tuple[FloatArray, FloatArray | None]:
        """Compact probabilities to count, and weights; of bins those of rows that are at hand."""
        return self.compact, self.weight

    def for_likelihood(self, most: int = MOST_ATOMS) -> tuple[FloatArray, FloatArray | None]:
        """Return vectors and weights on which a likelihood of class proportions may be taken."""
        return self.proba, self.weight

    @cached_property
    def sketch(self) -> tuple[FloatArray, FloatArray]:
        """About as many vectors as ``SKETCH``, and weights, that stand for all; of their own."""
        return fewer(*self.for_likelihood(SKETCH), SKETCH)


@dataclass(frozen=True, eq=False)
class RowSummary(BatchSummary):
    """A weighted set of probability vectors: all rows as they are, or some that stand for them.

    Parameters
    ----------
    proba : ndarray of shape (size, n_classes)
    weight : ndarray of shape (size,) or None
        How much each counts; None for once.
    stands_for : int or None
        How many rows that count once they stand for; None where they are the rows.
    """

    proba: FloatArray
    weight: FloatArray | None = None
    stands_for: int | None = None

    @classmethod
    def standing_for(
        cls, proba: FloatArray, weight: FloatArray, n_rows: int, *, counted: bool
    ) -> Self:
        """Return weighted rows that stand for so many, each of which counts once or not."""
        if counted and (weight == 1.0).all():
            return cls(proba)
        return cls(proba, weight, stands_for=n_rows if counted else None)

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """How many rows there are."""
        return len(self.proba) if self.stands_for is None else self.stands_for

    @property
    def counted(self) -> bool:  # type: ignore[override]
        """Whether every row counts once."""
        return self.weight is None or self.stands_for is not None

    @property
    def lightest(self) -> float:  # type: ignore[override]
        """The least weight of a row that has any."""
        if self.weight is None or self.counted:
            return 1.0
        return float(self.weight[self.weight > 0].min())

    @cached_property
    def atoms(self) -> Atoms:  # type: ignore[override]
        """The atoms of the positive probability."""
        p = np.ascontiguousarray(self.proba[:, 1])
        return Atoms.from_proba(p, sample_weight=self.weight)

    def in_bins(self, bins: int) -> Atoms:
        """Return the atoms of rows summed in bins."""
        p = np.ascontiguousarray(self.proba[:, 1])
        return Atoms.from_proba(p, sample_weight=self.weight, bins=bins)

    @cached_property
    def sketch(self) -> tuple[FloatArray, FloatArray]:
        """About as many vectors as ``SKETCH``, and weights, that stand for all; of their own."""
        if self.proba.shape[1] != 2 or len(self.proba) <= SKETCH:
            return super().sketch
        # Groups of neighbours, as some rows may have none of a rare class among them.
        return summarise(self.proba[:, 1], self.weight).sketch

    def adapted(self, ratios: FloatArray, *, in_place: bool = False) -> Self:
        """Return the rows adapted one by one, two classes by the positive one's probability."""
        if self.proba.shape[1] == 2:
            p = adapted(np.ascontiguousarray(self.proba[:, 1]), ratios)
            return replace(self, proba=both_columns(p))
        return replace(self, proba=adapted(self.proba, ratios, self.proba if in_place else None))

    def moved(self, slope: FloatArray, bias: FloatArray, ratios: FloatArray) -> Self:
        """Return the rows with other probabilities."""
        logs = np.log(np.maximum(self.proba, _SMALLEST))
        return replace(self, proba=adapted(scaled_softmax(logs, slope, bias), ratios))

    def only(self, chosen: Mask | IntArray) -> Self:
        """Return the rows that are marked or numbered."""
        weight = None if self.weight is None else self.weight[chosen]
        some = None
        if self.stands_for is not None and weight is not None:
            some = round(float(weight.sum()))
        return replace(self, proba=self.proba[chosen], weight=weight, stands_for=some)

    def in_own_order(self) -> Self:
        """Return the rows in an order that does not depend on how they came."""
        order = own_order(self.proba, self.weight)
        return self if order is None else self.only(order)

    def merged(self, other: Self) -> Self:
        """Return the rows of both."""
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate(
                [
                    np.ones(len(one.proba)) if one.weight is None else one.weight
                    for one in (self, other)
                ]
            )
        return replace(self, proba=np.concatenate([self.proba, other.proba]), weight=weight)


@dataclass(frozen=True, eq=False)
class BinarySummary(BatchSummary):
    """The atoms of two classes' positive probability.

    Parameters
    ----------
    atoms : Atoms
        In the order of the probability.
    n_rows, counted, lightest
        As of :class:`BatchSummary`.
    rows : (ndarray, ndarray or None) or None
        Of bins of rows that are at hand, their probabilities and weights.
    """

    atoms: Atoms
    n_rows: int
    counted: bool = True
    lightest: float = 1.0
    rows: tuple[FloatArray, FloatArray | None] | None = None

    @property
    def one_by_one(self) -> tuple[FloatArray, FloatArray | None]:
        """Compact probabilities to count, and weights; of bins those of rows that are at hand."""
        return super().one_by_one if self.rows is None else self.rows

    @cached_property
    def proba(self) -> FloatArray:  # type: ignore[override]
        """One vector for each atom."""
        return both_columns(self.atoms.middle)

    @property
    def compact(self) -> FloatArray:
        """The positive probability of each atom."""
        return self.atoms.middle

    @property
    def weight(self) -> FloatArray | None:  # type: ignore[override]
        """The weight of each atom; None where each is one row that counts once."""
        return None if self.counted and len(self.atoms.p) == self.n_rows else self.atoms.weight

    @cached_property
    def class_sums(self) -> FloatArray:
        """The expected weight of each class."""
        atoms = self.atoms
        return np.array([atoms.below.negative[-1], atoms.below.positive[-1]])

    def adapted(self, ratios: FloatArray, *, in_place: bool = False) -> Self:
        """Return the atoms adapted one by one."""
        return replace(self, atoms=self.atoms.adapted(ratios, in_place=in_place), rows=None)

    def moved(self, slope: FloatArray, bias: FloatArray, ratios: FloatArray) -> Self:
        """Return the same atoms with another positive mass."""
        logs = np.log(np.maximum(self.proba, _SMALLEST))
        p = adapted(scaled_softmax(logs, slope, bias), ratios)[:, 1]
        return replace(self, atoms=self.atoms.relabelled(self.atoms.weight * p), rows=None)

    def only(self, chosen: Mask | IntArray) -> Self:
        """Return the atoms that are marked or numbered."""
        atoms = self.atoms.only(chosen)
        n_rows = round(float(atoms.weight.sum())) if self.counted else len(atoms.p)
        return replace(self, atoms=atoms, n_rows=n_rows, rows=None)

    def window(self, withheld: Mask) -> Windows | None:
        """Return nothing, and the marked part, as windows of the atoms; None if it is not one."""
        count = np.count_nonzero(withheld)
        start = int(np.argmax(withheld)) if count else 0
        if not withheld[start : start + count].all():
            return None
        return Windows(np.array([0, start]), np.array([0, start + count]))

    def merged(self, other: Self) -> Self:
        """Return the atoms of both."""
        return replace(
            self,
            atoms=self.atoms.merged(other.atoms),
            n_rows=self.n_rows + other.n_rows,
            counted=self.counted and other.counted,
            lightest=min(self.lightest, other.lightest),
            rows=None,
        )

    def for_likelihood(self, most: int = MOST_ATOMS) -> tuple[FloatArray, FloatArray | None]:
        """Return the mean probabilities of at most about so many groups of atoms."""
        if len(self.atoms.p) <= most:
            return self.proba, self.weight
        # Evenly in both classes too, as a rare one hangs on few rows.
        few, _ = self.atoms.compressed(most)
        return both_columns(few.positive / few.weight), few.weight

    @cached_property
    def sketch(self) -> tuple[FloatArray, FloatArray]:
        """About as many vectors as ``SKETCH``, and weights, that stand for all; of their own."""
        if len(self.atoms.p) <= SKETCH:
            return self.proba, self.atoms.weight
        whole = self.atoms.upper is not None or self.atoms.equal_weight is not None
        if not (self.counted and whole):
            return super().sketch
        # As many groups of as many rows, in bins or not: what is drawn for them is the same.
        p, weight = self.atoms.in_equal_groups(-(-self.n_rows // SKETCH))
        return both_columns(p), weight


def own_order(proba: FloatArray, weight: FloatArray | None = None) -> IntArray | None:
    """Return an order of rows that is theirs, in whatever order they come; None for very many.

    Sums are rounded as they go, and what is drawn is drawn row by row. So two rows that are as
    good to withhold could change places with the order of the others, unless that is always the
    same.
    """
    if len(proba) > _MOST_SORTED:
        return None
    key = proba
    if proba.ndim == 2:
        # Any order will do that no last digit changes, and no other class proportions: these add
        # the same to the logarithms of a column, and factors that sum to 0 take out the rest.
        factors = np.sqrt(np.arange(2.0, 2 + proba.shape[1]))
        key = np.log(np.maximum(proba, _LEAST)) @ (factors - factors.mean())
    order: IntArray = np.argsort(key, kind="stable")
    if weight is None:
        return order
    level = np.empty(len(key), dtype=np.intp)
    level[order] = np.cumsum(np.diff(key[order], prepend=-np.inf) > _SAME)
    return np.lexsort([weight, level])


def fewer(
    proba: FloatArray, weight: FloatArray | None, most: int
) -> tuple[FloatArray, FloatArray]:
    """Return evenly spaced vectors of a set, at most so many, and the weight each stands for."""
    count = np.ones(len(proba)) if weight is None else weight
    step = max(-(-len(proba) // most), 1)
    part = slice((step - 1) // 2, None, step)
    if not count[part].any():
        return proba, count
    # A copy: they stay when the others are adapted in place.
    return proba[part].copy(), count[part] * (count.sum() / count[part].sum())


def summarise(
    proba: FloatArray, weight: FloatArray | None = None, *, bins: int | None = None
) -> BatchSummary:
    """Return the summary of checked, calibrated probabilities.

    Parameters
    ----------
    proba : ndarray of shape (n, n_classes), or (n,) for the positive class of two
        One dimension is summed to atoms, two are kept as rows.
    weight : ndarray of shape (n,), optional
        How much each row counts.
    bins : int, optional
        Sum one dimension in this many equal bins instead of sorting it.
    """
    if proba.ndim == 2:
        return RowSummary(proba, weight)
    atoms = Atoms.from_proba(proba, sample_weight=weight, bins=bins)
    rows = None if bins is None else (proba, weight)
    if weight is None:
        return BinarySummary(atoms, len(proba), rows=rows)
    present = weight[weight > 0]
    least = float(present.min())
    return BinarySummary(atoms, len(present), counted=False, lightest=least, rows=rows)
