"""Bins of the positive probability: all that is kept of rows of two classes, however many.

Sums are in whole numbers and the ends of what lies in a bin are those of rows, so parts of a
batch merge to what the whole batch gives, to the last bit and in any order.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._pieces import over_rows
from abstain._kernels.bins import (
    N_BINS,
    PARTS,
    add_to_cells,
    bin_edges,
    empty_cells,
    merge_cells,
)
from abstain._numerics import kind_width
from abstain.summaries._atoms import Atoms
from abstain.summaries._summary import BatchSummary, BinarySummary, RowSummary

#: What is left of a weight beside a whole number is kept in units of one over this.
UNIT = 2**20
#: The weights between which all but no weight at all must be.
SMALLEST, LARGEST = 1e-3, 1e6
# Rows that one thread adds at a time.
_ROWS = 131_072
_BEGIN, _WIDTH = bin_edges()


class FixedWeights(NamedTuple):
    """Weights as whole numbers, and what is left of them in units of ``1 / UNIT``."""

    whole: IntArray
    part: IntArray

    @classmethod
    def of(cls, weight: FloatArray) -> FixedWeights:
        """Return checked weights so.

        Raises
        ------
        ValueError
            If one is too small or too large.
        """
        off = (weight != 0) & ((weight < SMALLEST) | (weight > LARGEST))
        if off.any():
            row = int(np.argmax(off))
            raise ValueError(
                f"`sample_weight` of rows that are summarised must be 0, or from {SMALLEST:g} to "
                f"{LARGEST:g}; {int(off.sum())} of {len(weight)} are not, first is row {row} "
                f"({weight[row]:g}). Multiply all weights by one number: their ratios decide."
            )
        units = np.rint(weight * UNIT).astype(np.int64)
        return cls(units // UNIT, units % UNIT)

    @property
    def values(self) -> FloatArray:
        """The weights as they are kept."""
        return self.whole + self.part / UNIT

    @property
    def total(self) -> int:
        """The sum, in units of ``1 / UNIT``."""
        return int(self.whole.sum()) * UNIT + int(self.part.sum())


def carried(whole: IntArray, part: IntArray) -> None:
    """Carry what is left over to the whole numbers, in place."""
    whole += part // UNIT
    part %= UNIT


@dataclass(frozen=True, eq=False)
class Bins:
    """The rows of two classes in bins of the positive probability.

    Parameters
    ----------
    cells : ndarray of int, shape (n_bins, 4 or 6)
        What is known of each bin; see ``_kernels.bins.empty_cells``. What is left of weights
        beside whole numbers is in units of ``1 / UNIT``.
    """

    cells: IntArray

    @classmethod
    def of(cls, p: FloatArray, weight: FixedWeights | None) -> Self:
        """Return the bins of rows."""
        # Each thread has cells of its own, as many as there are at work at a time.
        idle: deque[IntArray] = deque()
        whole, part = (_NONE, _NONE) if weight is None else (weight.whole, weight.part)
        p = np.ascontiguousarray(p)

        def add(begin: int, end: int) -> None:
            try:
                own = idle.pop()
            except IndexError:
                own = empty_cells(weighted=weight is not None)
            rows = slice(begin, end)
            add_to_cells(p[rows], whole[rows], part[rows], own)
            _carry(own)
            idle.append(own)

        over_rows(add, len(p), size=_ROWS)
        first, *others = idle
        for other in others:
            _add(first, other)
        return cls(first)

    @classmethod
    def from_sums(cls, sums: IntArray, ends: FloatArray) -> Self:
        """Return bins of which these are the sums, and the ends of those that are filled."""
        at = np.flatnonzero(ends[0] <= ends[1])
        return cls(_cells_of(at, sums[:, at], ends[:, at]))

    @property
    def weighted(self) -> bool:
        """Whether there are weights that are no whole numbers."""
        return len(self.cells[0]) > 4

    @property
    def filled(self) -> IntArray:
        """Which bins have rows."""
        return np.flatnonzero(self.cells[:, 3] >= 0)

    def filled_columns(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return which bins have rows; of each the sums, and the ends of its rows.

        Of weight and steps, and the same of what is left of weights; of the least and the
        greatest probability.
        """
        at = self.filled
        columns = np.array([0, 1, *range(4, self.cells.shape[1]), 2, 3])
        found = np.ascontiguousarray(self.cells[at][:, columns].T)
        return at, found[:-2], found[-2:].view(np.float64)

    @property
    def units(self) -> int:
        """The weight of all rows, in units of ``1 / UNIT``."""
        return int(self.cells[:, 0].sum()) * UNIT + int(self.cells[:, 4:5].sum())

    def merged(self, other: Self) -> Self:
        """Return the bins of both."""
        many, few = sorted((self.cells, other.cells), key=lambda one: one.shape[1], reverse=True)
        cells = many.copy()
        _add(cells, few)
        return replace(self, cells=cells)

    def batch(self, n_rows: int, lightest: float, *, counted: bool, ranks: bool) -> BatchSummary:
        """Return what the flow works on: atoms, or for metrics that rank nothing their rows."""
        atoms = self.atoms
        if ranks:
            return BinarySummary(atoms, n_rows, counted=counted, lightest=lightest)
        rows = BinarySummary(atoms, n_rows).proba
        return RowSummary.standing_for(rows, atoms.weight, n_rows, counted=counted)

    @property
    def atoms(self) -> Atoms:
        """An atom for each bin with rows, from its least probability up to that of the next."""
        at, sums, (low, high) = self.filled_columns()
        weight, steps = sums[:2].astype(np.float64)
        if self.weighted:
            weight, steps = weight + sums[2] / UNIT, steps + sums[3] / UNIT
        above = at >= len(_BEGIN)
        outer = np.where(above, N_BINS - 1 - at, at)
        mass = weight * _BEGIN[outer] + steps * (_WIDTH[outer] / PARTS)
        mass = np.where(above, weight - mass, mass)
        # Rows of a kind may lie on both sides of an edge, such as that at 0.5.
        apart = np.ones(len(at), dtype=np.bool_)
        np.greater(high[1:] - low[:-1], kind_width(low[:-1]), out=apart[1:])
        first = np.flatnonzero(apart)
        low = low[first]
        upper = np.append(low[1:], np.nextafter(high[-1:], 2.0))
        return Atoms(low, np.add.reduceat(weight, first), np.add.reduceat(mass, first), upper)

    @property
    def points(self) -> FloatArray:
        """The least and the greatest probability of each bin: rows that edges must stay off."""
        return np.unique(self.filled_columns()[2])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what there is, of the bins with rows alone."""
        at, sums, ends = self.filled_columns()
        return {"bins": at.astype(np.int32), "sums": sums, "ends": ends}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], weighted: bool) -> Self:
        """Return the bins that ``to_arrays`` described; what cannot be is a ValueError."""
        at, sums, ends = (arrays[name] for name in ("bins", "sums", "ends"))
        n = len(at)
        if sums.shape != (4 if weighted else 2, n) or ends.shape != (2, n) or at.shape != (n,):
            raise ValueError("its arrays do not fit each other")
        wrong = _what_is_wrong(at, sums, ends)
        if wrong:
            raise ValueError(wrong)
        return cls(_cells_of(at, sums, ends))


def _cells_of(at: IntArray, sums: IntArray, ends: FloatArray) -> IntArray:
    """Return cells of which some are filled."""
    cells = empty_cells(weighted=len(sums) > 2)
    cells[at, :2], cells[at, 4:] = sums[:2].T, sums[2:].T
    cells[at, 2:4] = np.ascontiguousarray(ends.T + 0.0).view(np.int64)
    return cells


def _what_is_wrong(at: IntArray, sums: IntArray, ends: FloatArray) -> str:
    """Return what no rows can have among bins that came from elsewhere; empty if they can.

    Parameters
    ----------
    at : ndarray of shape (n,)
        Which bins they are.
    sums : ndarray of shape (2 or 4, n)
        Their weight and steps, and what is left of both in units that are no whole numbers.
    ends : ndarray of shape (2, n)
        The least and the greatest probability of each.
    """
    if not (np.diff(at, prepend=-1) > 0).all() or (at >= N_BINS).any():
        return "its bins are not ascending numbers of bins"
    (low, high), edges = ends, _edges()
    inside = (edges[at] <= low) & (high <= edges[at + 1])
    if not (inside & (low >= 0.0) & (low <= high) & (high <= 1.0)).all():
        return "its ends are none of rows in their bins"
    whole, steps = sums[:2]
    possible = (whole >= 0) & (whole < 2**42) & (steps >= 0)
    if len(sums) == 2:
        possible &= (whole > 0) & (steps <= whole * PARTS)
    else:
        possible &= ((sums[2:] >= 0) & (sums[2:] < UNIT)).all(axis=0)
        possible &= steps <= (whole + 1) * PARTS
    return "" if possible.all() else "its sums are none that rows can have"


@cache
def _edges() -> FloatArray:
    """Return where each bin begins and the last ends."""
    return np.append(lower_edges(), 1.0)


@cache
def lower_edges() -> FloatArray:
    """Return the probability that each bin begins at."""
    return np.concatenate([_BEGIN, (1.0 - (_BEGIN + _WIDTH))[::-1]])


def _add(cells: IntArray, other: IntArray) -> None:
    """Add other cells to some, in place."""
    merge_cells(cells, other)
    _carry(cells)


def _carry(cells: IntArray) -> None:
    if cells.shape[1] > 4:
        carried(cells[:, :2], cells[:, 4:])


_NONE: IntArray = np.empty(0, dtype=np.int64)
