"""Loops over windows for ranking metrics.

``positive`` and ``negative`` are masses below each boundary between sorted atoms (n + 1 values
each). A window withholds the atoms ``start .. end - 1``; a threshold ``t`` predicts positive
from atom t on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._pieces import filled, over_rows
from abstain._kernels.atoms import ATOMS_AT_A_TIME
from abstain._numerics import ROUNDING

# Atoms of a row in a block.
_WIDE = 16


def undefined_windows(
    positive: FloatArray,
    negative: FloatArray,
    starts: IntArray,
    ends: IntArray,
    shares: tuple[float, float],
) -> NDArray[np.bool_]:
    """Tell for each window whether it leaves at most these shares of positives or negatives."""

    def undefined(start: IntArray, stop: IntArray) -> Any:
        sides = zip((positive, negative), shares, strict=True)
        few = [b[start] + (b[-1] - b[stop]) <= share * b[-1] for b, share in sides]
        return few[0] | few[1]

    marks = np.empty(len(starts), dtype=np.bool_)
    return filled(marks, undefined, starts, ends, size=ATOMS_AT_A_TIME)


def best_window(
    values: FloatArray,
    positive: FloatArray,
    negative: FloatArray,
    starts: IntArray,
    ends: IntArray,
    shares: tuple[float, float],
) -> int:
    """Return the first window with the highest value that leaves its classes, or -1.

    Values that rounding alone tells apart are the same: which of them is highest, another
    processor sees otherwise.
    """

    def best_of(begin: int, end: int) -> tuple[float, int]:
        part = values[begin:end]
        # Most often the highest of all is defined, and the others need not be looked at.
        highest = np.fmax.reduce(part, initial=-np.inf)
        first = np.flatnonzero(part >= highest - ROUNDING)[:1]
        for candidates in (first, np.flatnonzero(part > -np.inf)):
            windows = starts[begin:end][candidates], ends[begin:end][candidates]
            gone = undefined_windows(positive, negative, *windows, shares)
            candidates = candidates[~gone]
            if len(candidates):
                left = part[candidates]
                k = int(candidates[np.argmax(left >= left.max() - ROUNDING)])
                return float(part[k]), begin + k
        return -np.inf, -1

    best, highest = -1, -np.inf
    for value, k in over_rows(best_of, len(values), size=ATOMS_AT_A_TIME):
        if value > highest + ROUNDING:
            best, highest = k, value
    return best


def masses_above(
    below: FloatArray, starts: IntArray, ends: IntArray, thresholds: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the kept mass at or above each window's threshold, and all the kept mass.

    A threshold inside the window is the same as one at its end.
    """
    total = below[-1]
    above, kept = np.empty(len(starts)), np.empty(len(starts))

    def fill(begin: int, end: int) -> None:
        start, stop, t = starts[begin:end], ends[begin:end], thresholds[begin:end]
        before = below[start]
        above[begin:end] = total - below[np.maximum(t, stop)]
        above[begin:end] += before - below[np.minimum(t, start)]
        kept[begin:end] = before + (total - below[stop])

    over_rows(fill, len(starts), size=ATOMS_AT_A_TIME)
    return above, kept


def boundaries_reaching(mass: FloatArray, need: FloatArray) -> IntArray:
    """Return for each row of masses the first boundary with as much below as needed, or the last.

    Blocks are looked at first, and then the atoms of the one in which it is.
    """
    n, m = mass.shape
    blocks = -(-m // _WIDE)
    atoms, rows = np.zeros((n, blocks, _WIDE)), np.arange(n)
    atoms.reshape(n, -1)[:, :m] = mass
    below = np.cumsum(atoms @ np.ones(_WIDE), axis=1)
    block = np.minimum((below < need[:, None]).sum(axis=1), blocks - 1)
    rest = need - np.where(block > 0, below[rows, block - 1], 0.0)
    inside = (np.cumsum(atoms[rows, block], axis=1) < rest[:, None]).sum(axis=1)
    found = np.minimum(block * _WIDE + np.minimum(inside, _WIDE - 1) + 1, m)
    return np.where(need > 0, found, 0)


def sums_from(mass: FloatArray, boundaries: IntArray) -> FloatArray:
    """Return the sum of each row of masses from a boundary of its own on."""
    n, m = mass.shape
    starts = np.arange(n) * m
    ends = np.column_stack([starts, starts + np.minimum(boundaries, m - 1)])
    sums = np.add.reduceat(mass.ravel(), ends.ravel())[1::2]
    return np.where(boundaries < m, sums, 0.0)


def pairs_won(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Return the pairs of a positive below each boundary and a negative ranked lower.

    A pair inside one atom is a tie and counts half.
    """
    pairs = np.zeros(len(positive))

    def won(below: FloatArray, upto: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        return (upto - below) * 0.5 * (low + high)

    sides = positive[:-1], positive[1:], negative[:-1], negative[1:]
    filled(pairs[1:], won, *sides, size=ATOMS_AT_A_TIME)
    np.cumsum(pairs[1:], out=pairs[1:])
    return pairs


def auroc_windows(
    positive: FloatArray, negative: FloatArray, pairs: FloatArray, starts: IntArray, ends: IntArray
) -> FloatArray:
    """Return the auROC after each window is withheld (the paper's Algorithms 2 and 3)."""

    def values(start: IntArray, stop: IntArray) -> Any:
        withheld = negative[stop] - negative[start]
        above = positive[-1] - positive[stop]
        kept = pairs[start] + (pairs[-1] - pairs[stop]) - above * withheld
        above += positive[start]
        return np.divide(kept, above * (negative[-1] - withheld))

    return filled(np.empty(len(starts)), values, starts, ends, size=ATOMS_AT_A_TIME)


def _first_reaching(values: FloatArray, need: FloatArray) -> IntArray:
    """Return the first index whose value (ascending) is at least ``need``, or the last one.

    Needs of neighbouring windows are alike, so they are looked for in the part they lie in.
    """
    low, high = np.searchsorted(values, [need.min(), need.max()]) if need.size else (0, 0)
    found = np.searchsorted(values[low : high + 1], need) + low
    return np.minimum(found, len(values) - 1)


def specificity_thresholds(
    negative: FloatArray, starts: IntArray, ends: IntArray, level: float
) -> IntArray:
    """Return the lowest threshold that keeps the specificity after each window is withheld."""

    def lowest(start: IntArray, stop: IntArray) -> IntArray:
        below = negative[start]
        withheld = negative[stop] - below
        need = level * (negative[-1] - withheld)
        left = below >= need
        found = _first_reaching(negative, np.where(left, need, need + withheld))
        return np.where(left, np.minimum(found, start), np.maximum(found, stop))

    thresholds = np.empty(len(starts), dtype=np.intp)
    return filled(thresholds, lowest, starts, ends, size=ATOMS_AT_A_TIME)


def precision_thresholds(
    positive: FloatArray, negative: FloatArray, starts: IntArray, ends: IntArray, level: float
) -> IntArray:
    """Return the lowest threshold that keeps the precision after each window is withheld.

    The gain of a threshold is ``(1 - level) * positives - level * negatives`` above it, which
    must not be negative. Precision need not rise with the threshold, so the first threshold
    that gains enough is found in the running maximum.
    """
    n = len(positive) - 1

    def gained(found: FloatArray, wrong: FloatArray) -> Any:
        return (1 - level) * (positive[n] - found) - level * (negative[n] - wrong)

    gain = filled(np.empty(n + 1), gained, positive, negative, size=ATOMS_AT_A_TIME)
    highest = np.maximum.accumulate(gain)
    # The first threshold from each on that gains something without the window.
    following = np.where(gain >= 0, np.arange(n + 1), n)
    following = np.minimum.accumulate(following[::-1])[::-1]

    def lowest(start: IntArray, stop: IntArray) -> IntArray:
        need = gain[start] - gain[stop]
        left = highest[start] >= need
        return np.where(left, _first_reaching(highest, need), following[stop])

    thresholds = np.empty(len(starts), dtype=np.intp)
    return filled(thresholds, lowest, starts, ends, size=ATOMS_AT_A_TIME)


def partial_auroc_windows(
    positive: FloatArray,
    negative: FloatArray,
    pairs: FloatArray,
    starts: IntArray,
    ends: IntArray,
    thresholds: IntArray,
    rate: float,
) -> FloatArray:
    """Return the area under the ROC curve up to a false-positive rate, after each window.

    ``thresholds`` are the lowest whose false-positive rate is at most the given one; the rest
    of the area is a part of the atom just below, where the curve is a straight line.
    """
    n = len(positive) - 1
    # From pairs counted at their positive to pairs counted at their negative.
    turned = filled(
        np.empty(n + 1),
        lambda own, low, won: (positive[n] - own) * low + won,
        *(positive, negative, pairs),
        size=ATOMS_AT_A_TIME,
    )

    def areas(start: IntArray, stop: IntArray, t: IntArray) -> Any:
        withheld = positive[stop] - positive[start]
        kept = negative[start] + (negative[n] - negative[stop])
        # Above a threshold below the window lies the window; of one above it, nothing else.
        under = t <= start
        beyond, low = np.where(under, stop, t), np.minimum(t, start)
        beside = negative[start] - negative[low]
        inside = (turned[start] - turned[low]) - withheld * beside
        above_pairs = (turned[n] - turned[beyond]) + inside
        higher = (positive[n] - positive[beyond]) + (positive[start] - positive[low])
        rest = rate * kept - (negative[n] - negative[beyond]) - beside
        atom = np.where(under | (t > stop), t, start) - 1
        cut = (atom >= 0) & (rest > 0)
        first = np.maximum(atom, 0)
        wide = negative[first + 1] - negative[first]
        part = np.where(cut & (wide > 0), np.minimum(rest / wide, 1.0), 0.0)
        slope = 0.5 * part * (positive[first + 1] - positive[first])
        above_pairs += part * wide * (higher + slope)
        return np.divide(above_pairs, kept * (positive[n] - withheld))

    values = np.empty(len(starts))
    return filled(values, areas, starts, ends, thresholds, size=ATOMS_AT_A_TIME)


def precision_sums(positive: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the positives at and above each boundary, each times the precision at its atom."""
    over = np.zeros(len(positive))

    def sums(lower: FloatArray, upper: FloatArray, below: FloatArray) -> Any:
        return (upper - lower) * (positive[-1] - lower) / (weight[-1] - below)

    filled(over[:-1], sums, positive[:-1], positive[1:], weight[:-1], size=ATOMS_AT_A_TIME)
    np.cumsum(over[-2::-1], out=over[-2::-1])
    return over


def average_precision_windows(
    positive: FloatArray,
    weight: FloatArray,
    over: FloatArray,
    starts: IntArray,
    ends: IntArray,
    order: IntArray,
) -> FloatArray:
    """Return the average precision after each window is withheld.

    ``order`` sorts the windows by the weight they withhold, then by start. For one withheld
    weight the precision below the window is linear in the positives withheld, so two running
    sums serve all windows of that weight.
    """
    values = np.empty(len(starts))
    lighter = (weight[ends] - weight[starts])[order]
    firsts = np.flatnonzero(np.diff(lighter, prepend=-1.0))
    for first, stop in zip(firsts, np.append(firsts[1:], len(order)), strict=True):
        same = order[first:stop]
        values[same] = _average_precision_alike(
            positive, weight, over, starts[same], ends[same], lighter[first]
        )
    return values


def _average_precision_alike(
    positive: FloatArray,
    weight: FloatArray,
    over: FloatArray,
    starts: IntArray,
    ends: IntArray,
    lighter: float,
) -> FloatArray:
    """Return the values of windows that withhold the same weight."""
    reach = int(starts[-1])
    slope, constant = np.zeros(reach + 1), np.zeros(reach + 1)

    def terms(begin: int, end: int) -> None:
        lower = positive[begin:end]
        share = (positive[begin + 1 : end + 1] - lower) / (
            weight[-1] - weight[begin:end] - lighter
        )
        slope[begin + 1 : end + 1] = share
        constant[begin + 1 : end + 1] = share * (positive[-1] - lower)

    def averages(start: IntArray, stop: IntArray) -> Any:
        withheld = positive[stop] - positive[start]
        sums = over[stop] + constant[start] - withheld * slope[start]
        return np.divide(sums, positive[-1] - withheld)

    over_rows(terms, reach, size=ATOMS_AT_A_TIME)
    for sums in (slope, constant):
        np.cumsum(sums, out=sums)
    return filled(np.empty(len(starts)), averages, starts, ends, size=ATOMS_AT_A_TIME)
