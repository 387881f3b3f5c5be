"""Sorted atoms: all that a ranking metric needs to know of a batch.

A probability, a total weight, a positive mass. Tied examples, weighted examples and bins of a
histogram are all atoms, so each ranking algorithm is written once (the paper's Section 5 has
the case where every atom is one example).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.atoms import binned, prefix_sums, ties_counted, ties_summed, window_ends
from abstain._kernels.proportions import adapted
from abstain._numerics import even_in_spread, kind_width

# Sums of weights may differ from a capacity by rounding; this share of the total is forgiven.
WEIGHT_TOLERANCE = 1e-12

_NOTHING = np.empty(0)


class Windows(NamedTuple):
    """Runs of neighbouring atoms, ``starts[k] .. ends[k] - 1`` each."""

    starts: IntArray
    ends: IntArray

    def mirrored(self, n_atoms: int) -> Windows:
        """Return the same windows counted from the last atom, in the same order."""
        return Windows(n_atoms - self.ends, n_atoms - self.starts)

    def only(self, chosen: IntArray | slice) -> Windows:
        """Return some of the windows."""
        return Windows(self.starts[chosen], self.ends[chosen])


class Below(NamedTuple):
    """Mass below each of the n_atoms + 1 boundaries; the last is the total."""

    positive: FloatArray
    negative: FloatArray


@dataclass(frozen=True, eq=False)
class Atoms:
    """A batch of binary predictions in the order of their probability.

    Parameters
    ----------
    p : ndarray of shape (n_atoms,)
        Ascending distinct probabilities; of a bin, its lower edge.
    weight : ndarray of shape (n_atoms,)
        Total weight of the examples with this probability.
    positive : ndarray of shape (n_atoms,)
        The part of the weight that is positive: expected or, with labels, observed.
    upper : ndarray of shape (n_atoms,) or None
        Of bins, their upper edges, which belong to the next; None when atoms are exact
        probabilities.

    Notes
    -----
    With probabilities for labels, an example with probability p is p of a positive and 1 - p
    of a negative at the same place in the order. Summaries of parts of the data merge, so a
    batch may be larger than memory or spread over machines.

    Examples
    --------
    >>> import numpy as np
    >>> atoms = Atoms.from_proba(np.array([0.75, 0.5, 0.75]))
    >>> atoms.p, atoms.weight, atoms.positive
    (array([0.5 , 0.75]), array([1., 2.]), array([0.5, 1.5]))
    """

    p: FloatArray
    weight: FloatArray
    positive: FloatArray
    upper: FloatArray | None = None

    @classmethod
    def from_proba(
        cls, p: FloatArray, *, sample_weight: FloatArray | None = None, bins: int | None = None
    ) -> Self:
        """Return the atoms of probabilities that stand in for the labels.

        Parameters
        ----------
        p : ndarray of shape (n,)
            Calibrated probability of the positive class.
        sample_weight : ndarray of shape (n,), optional
            How much each example counts.
        bins : int, optional
            Sum the examples in this many equal bins of p instead of sorting them; a power of
            two, so that the edges of the bins are exact.
        """
        if bins is not None:
            return cls._from_bins(p, sample_weight, None, bins)
        if sample_weight is not None:
            return cls._from_sorted(p, sample_weight, None)
        # Sorting the values alone is a third faster than sorting their order.
        value, weight = ties_counted(np.sort(p))
        return cls(value, weight, weight * value)

    @classmethod
    def from_labels(
        cls,
        y: NDArray[np.generic],
        p: FloatArray,
        *,
        sample_weight: FloatArray | None = None,
        bins: int | None = None,
    ) -> Self:
        """Return the atoms of labelled examples; labels are 0 and 1."""
        label = np.asarray(y, dtype=np.float64)
        if bins is not None:
            return cls._from_bins(p, sample_weight, label, bins)
        return cls._from_sorted(p, sample_weight, label)

    @classmethod
    def _from_sorted(
        cls, p: FloatArray, sample_weight: FloatArray | None, label: FloatArray | None
    ) -> Self:
        if sample_weight is not None:
            # A row of no weight is not there; it must not make a window of its own.
            present = sample_weight > 0
            p, sample_weight = p[present], sample_weight[present]
            label = None if label is None else label[present]
        order = np.argsort(p, kind="stable")
        value = p[order]
        weight = np.ones(len(p)) if sample_weight is None else sample_weight[order]
        positive = weight * (value if label is None else label[order])
        return cls(*ties_summed(value, weight, positive))

    @classmethod
    def _from_bins(
        cls, p: FloatArray, weight: FloatArray | None, label: FloatArray | None, bins: int
    ) -> Self:
        unit = _NOTHING if weight is None else weight
        positive = _NOTHING if label is None else label if weight is None else label * weight
        total, mass = binned(np.ascontiguousarray(p), unit, positive, bins)
        filled = np.flatnonzero(total)
        return cls(filled / bins, total[filled], mass[filled], (filled + 1) / bins)

    def merged(self, other: Self) -> Self:
        """Return the atoms of this batch and another together."""
        if (self.upper is None) != (other.upper is None):
            raise ValueError("Atoms merge when both are exact, or both are bins of one grid.")
        p = np.concatenate([self.p, other.p])
        order = np.argsort(p, kind="stable")
        weight = np.concatenate([self.weight, other.weight])[order]
        positive = np.concatenate([self.positive, other.positive])[order]
        merged = type(self)(*ties_summed(p[order], weight, positive))
        if self.upper is None or other.upper is None:
            return merged
        upper = np.concatenate([self.upper, other.upper])[order]
        last = np.searchsorted(p[order], merged.p, side="right") - 1
        if not (upper[last][:-1] <= merged.p[1:]).all():
            raise ValueError("Atoms merge when their bins are those of one grid.")
        return type(self)(merged.p, merged.weight, merged.positive, upper[last])

    def adapted(self, ratios: FloatArray, *, in_place: bool = False) -> Self:
        """Return the atoms of the probabilities adapted by target over source proportions.

        Adapting keeps the order. A bin is adapted at its mean probability and its edges. In
        place, these atoms are lost: their memory is used again.
        """
        if self.upper is None:
            moved = adapted(self.p, ratios, out=self.p if in_place else None)
            mass = moved if self.equal_weight == 1.0 else self.weight * moved
            if (moved[1:] < moved[:-1]).any():
                # Neighbours may swap places by a rounding.
                order = np.argsort(moved, kind="stable")
                return type(self)(*ties_summed(moved[order], self.weight[order], mass[order]))
            return type(self)(*ties_summed(moved, self.weight, mass))
        mass = self.weight * adapted(self.positive / self.weight, ratios)
        lower, upper = (adapted(edge, ratios) for edge in (self.p, self.upper))
        return type(self)(lower, self.weight, mass, upper)

    @property
    def middle(self) -> FloatArray:
        """The probability that stands for each atom: its own; of a bin, the mean inside it."""
        if self.upper is None:
            return self.p
        inside = np.where(self.upper < 1, np.nextafter(self.upper, 0), 1.0)
        return np.clip(self.positive / self.weight, self.p, inside)

    def only(self, chosen: NDArray[Any]) -> Self:
        """Return some of the atoms, in the same order."""
        upper = None if self.upper is None else self.upper[chosen]
        return type(self)(self.p[chosen], self.weight[chosen], self.positive[chosen], upper)

    def __len__(self) -> int:
        return len(self.p)

    @cached_property
    def total(self) -> float:
        """The weight of all atoms."""
        equal = self.equal_weight
        return float(self.weight.sum()) if equal is None else equal * len(self.p)

    @cached_property
    def weight_below(self) -> FloatArray:
        """Weight below each of the n_atoms + 1 boundaries; the last is the total."""
        if self.equal_weight is not None:
            return self.equal_weight * np.arange(len(self.p) + 1, dtype=np.float64)
        return np.concatenate([[0.0], np.cumsum(self.weight)])

    @cached_property
    def below(self) -> Below:
        """Positive and negative mass below each boundary."""
        return Below(*prefix_sums(self.weight, self.positive))

    @cached_property
    def pairs_below(self) -> FloatArray:
        """Pairs of a positive below each boundary and a negative ranked lower, ties half."""
        positive, negative = self.below
        won = np.diff(positive) * 0.5 * (negative[:-1] + negative[1:])
        return np.concatenate([[0.0], np.cumsum(won)])

    @cached_property
    def precision_above(self) -> FloatArray:
        """Positive mass above each boundary, each times the precision at its own atom."""
        positive, weight = self.below.positive, self.weight_below
        above = np.diff(positive) * (positive[-1] - positive[:-1]) / (weight[-1] - weight[:-1])
        return np.append(np.cumsum(above[::-1])[::-1], 0.0)

    @cached_property
    def equal_weight(self) -> float | None:
        """The weight that all atoms have, or None where they differ."""
        one_for_all = self.weight.strides == (0,) or np.ptp(self.weight) == 0
        return float(self.weight[0]) if one_for_all else None

    def windows(self, capacity: float) -> Windows:
        """Return the windows that fit a capacity, each as far to the right as it can reach.

        There is one for each first atom, up to the first window that reaches the last atom:
        N - d + 1 for N distinct examples of which d may be withheld. A window is empty where
        its first atom alone is too heavy: tied examples are withheld together or not at all.
        """
        return self.windows_at(np.arange(self.last_start(capacity) + 1), capacity)

    def windows_at(self, starts: IntArray, capacity: float) -> Windows:
        """Return the windows that begin at these atoms, which ascend."""
        if self.equal_weight is not None:
            # Every window is as long as the one that reaches the last atom.
            return Windows(starts, starts + (len(self.p) - self.last_start(capacity)))
        room = capacity + WEIGHT_TOLERANCE * self.total
        return Windows(starts, window_ends(self.weight_below, starts, room))

    def last_start(self, capacity: float) -> int:
        """Return the first atom whose window reaches the last one."""
        n, room = len(self.p), capacity + WEIGHT_TOLERANCE * self.total
        if self.equal_weight is not None:
            return n - int(min(room / self.equal_weight, n))
        total = self.weight_below
        return bisect_left(range(n), True, key=lambda k: total[-1] - total[k] <= room)

    def ends(self, start: int, end: int) -> tuple[float, float]:
        """Return the interval that holds exactly the atoms from ``start`` to before ``end``."""
        if start >= end:
            return 1.0, 0.0
        if self.upper is None:
            # An atom has the first probability of its kind.
            last = self.p[end - 1]
            return float(self.p[start]), float(min(last + kind_width(last), 1.0))
        edge = float(self.upper[end - 1])
        # What ends at 1 takes 1 in, unless 1 is an atom of its own.
        whole = edge >= 1 and end == len(self.p)
        return float(self.p[start]), 1.0 if whole else float(np.nextafter(edge, 0))

    def relabelled(self, positive: FloatArray) -> Self:
        """Return the same atoms with another positive mass."""
        return type(self)(self.p, self.weight, positive, self.upper)

    @cached_property
    def mirrored(self) -> Self:
        """The atoms with the classes exchanged: probabilities 1 - p, in their order."""
        negative = (self.weight - self.positive)[::-1]
        upper = None if self.upper is None else 1 - self.p[::-1]
        lower = 1 - (self.p if self.upper is None else self.upper)[::-1]
        return type(self)(lower, self.weight[::-1].copy(), negative.copy(), upper)

    def paired(self) -> Self:
        """Return the atoms with every two neighbours made one: half as fine."""
        first = np.arange(0, len(self.p), 2)
        last = np.minimum(first + 1, len(self.p) - 1)
        weight, positive = (np.add.reduceat(mass, first) for mass in (self.weight, self.positive))
        return type(self)(
            self.p[first], weight, positive, (self.p if self.upper is None else self.upper)[last]
        )

    def in_equal_groups(self, size: float) -> tuple[FloatArray, FloatArray]:
        """Return the mean probability and the weight of groups of so much weight each.

        The last may weigh less. A bin that lies across the end of a group is divided.
        """
        bounds = np.append(np.arange(0.0, self.total, size), self.total)
        if self.equal_weight is not None:
            first = np.arange(0, len(self.p), int(size / self.equal_weight))
            positive = np.add.reduceat(self.p, first) * self.equal_weight
        else:
            positive = np.diff(np.interp(bounds, self.weight_below, self.below.positive))
        weight = np.diff(bounds)
        return positive / weight, weight

    def compressed(self, most: int, windows: Windows | None = None) -> tuple[Self, Windows]:
        """Return about ``most`` atoms at most, by merging neighbours, and windows among them.

        They are merged evenly in weight and in both classes, and more finely towards the ends:
        none holds more than ``5 / most`` of any of the three unless it did before, so no metric
        moves by much more. None is merged across the end of a window.
        """
        nothing = np.empty(0, dtype=np.intp)
        kept = Windows(nothing, nothing) if windows is None else windows
        if len(self.p) <= most:
            return self, kept
        marks = even_in_spread(most // 3)[1:-1]
        cuts = [np.searchsorted(below, marks * below[-1]) for below in self.below]
        if self.equal_weight is None:
            cuts.append(np.searchsorted(self.weight_below, marks * self.weight_below[-1]))
        else:
            cuts.append((marks * len(self.p)).astype(np.intp))
        bounds = np.unique(np.concatenate([[0, len(self.p)], *cuts, *kept]))
        first, last = bounds[:-1], bounds[1:] - 1
        positive, negative = (np.diff(below[bounds]) for below in self.below)
        weight = positive + negative
        upper = None if self.upper is None else self.upper[last]
        small = type(self)(self.p[first], weight, positive, upper)
        return small, Windows(*(np.searchsorted(bounds, side) for side in kept))
