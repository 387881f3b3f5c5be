"""Loops over windows for ranking metrics.

``positive`` and ``negative`` are masses below each boundary between sorted atoms (n + 1 values
each). A window withholds the atoms ``start .. end - 1``; a threshold ``t`` predicts positive
from atom t on.
"""

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._jit import compiled

__all__ = [
    "auroc_windows",
    "average_precision_windows",
    "best_window",
    "masses_above",
    "pairs_won",
    "partial_auroc_windows",
    "precision_sums",
    "precision_thresholds",
    "specificity_thresholds",
    "undefined_windows",
]


@compiled
def _gone(below: FloatArray, start: int, end: int, share: float) -> bool:
    total = below[len(below) - 1]
    return bool(below[start] + (total - below[end]) <= share * total)


@compiled
def undefined_windows(
    positive: FloatArray,
    negative: FloatArray,
    starts: IntArray,
    ends: IntArray,
    shares: tuple[float, float],
) -> NDArray[np.bool_]:
    """Tell for each window whether it leaves at most these shares of positives or negatives."""
    gone = np.empty(len(starts), dtype=np.bool_)
    for k in range(len(starts)):
        no_positive = _gone(positive, starts[k], ends[k], shares[0])
        gone[k] = no_positive or _gone(negative, starts[k], ends[k], shares[1])
    return gone


@compiled
def best_window(
    values: FloatArray,
    positive: FloatArray,
    negative: FloatArray,
    starts: IntArray,
    ends: IntArray,
    shares: tuple[float, float],
) -> int:
    """Return the first window with the highest value that leaves its classes, or -1."""
    best, highest = -1, -np.inf
    for k in range(len(values)):
        if values[k] > highest:
            no_positive = _gone(positive, starts[k], ends[k], shares[0])
            if not (no_positive or _gone(negative, starts[k], ends[k], shares[1])):
                best, highest = k, values[k]
    return best


@compiled
def masses_above(
    below: FloatArray, starts: IntArray, ends: IntArray, thresholds: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the kept mass at or above each window's threshold, and all the kept mass.

    A threshold inside the window is the same as one at its end.
    """
    n = len(below) - 1
    above, kept = np.empty(len(starts)), np.empty(len(starts))
    for k in range(len(starts)):
        start, end, t = starts[k], ends[k], thresholds[k]
        above[k] = below[n] - below[max(t, end)]
        if t < start:
            above[k] += below[start] - below[t]
        kept[k] = below[start] + (below[n] - below[end])
    return above, kept


@compiled
def pairs_won(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Return the pairs of a positive below each boundary and a negative ranked lower.

    A pair inside one atom is a tie and counts half.
    """
    n = len(positive) - 1
    pairs = np.empty(n + 1)
    pairs[0] = 0.0
    for i in range(n):
        mass = positive[i + 1] - positive[i]
        pairs[i + 1] = pairs[i] + mass * 0.5 * (negative[i] + negative[i + 1])
    return pairs


@compiled
def auroc_windows(
    positive: FloatArray,
    negative: FloatArray,
    pairs: FloatArray,
    starts: IntArray,
    ends: IntArray,
) -> FloatArray:
    """Return the auROC after each window is withheld (the paper's Algorithms 2 and 3)."""
    n = len(positive) - 1
    values = np.empty(len(starts))
    for k in range(len(starts)):
        # Unsigned, because an index that cannot be negative is looked up faster.
        start, end = np.uintp(starts[k]), np.uintp(ends[k])
        withheld = negative[end] - negative[start]
        above = positive[n] - positive[end]
        kept = pairs[start] + (pairs[n] - pairs[end]) - above * withheld
        values[k] = kept / ((positive[start] + above) * (negative[n] - withheld))
    return values


@compiled
def specificity_thresholds(
    negative: FloatArray, starts: IntArray, ends: IntArray, level: float
) -> IntArray:
    """Return the lowest threshold that keeps the specificity after each window is withheld.

    It depends on the negatives of the window alone and moves little from one window to the
    next, so each search gallops from the place of the last.
    """
    n = len(negative) - 1
    thresholds = np.empty(len(starts), dtype=np.intp)
    left, right = 0, 0
    for k in range(len(starts)):
        start, end = starts[k], ends[k]
        withheld = negative[end] - negative[start]
        need = level * (negative[n] - withheld)
        if negative[start] >= need:
            left = _first_reaching(negative, need, left)
            thresholds[k] = min(left, start)
        else:
            right = _first_reaching(negative, need + withheld, right)
            thresholds[k] = max(right, end)
    return thresholds


@compiled
def _first_reaching(values: FloatArray, need: float, hint: int) -> int:
    """Return the first index whose value (ascending) is at least ``need``, or the last one."""
    last = len(values) - 1
    low, high, step = hint, hint, 1
    if values[hint] >= need:
        while low > 0 and values[low] >= need:
            high = low
            low = max(low - step, 0)
            step *= 2
        if values[low] >= need:
            return low
    else:
        while high < last and values[high] < need:
            low = high
            high = min(high + step, last)
            step *= 2
        if values[high] < need:
            return last
    while high - low > 1:
        middle = (low + high) // 2
        if values[middle] >= need:
            high = middle
        else:
            low = middle
    return high


@compiled
def precision_thresholds(
    positive: FloatArray, negative: FloatArray, starts: IntArray, ends: IntArray, level: float
) -> IntArray:
    """Return the lowest threshold that keeps the precision after each window is withheld.

    The gain of a threshold is ``(1 - level) * positives - level * negatives`` above it, which
    must not be negative. Precision need not rise with the threshold, so the first threshold
    that gains enough is found in the running maximum.
    """
    n = len(positive) - 1
    gain, highest = np.empty(n + 1), np.empty(n + 1)
    for t in range(n + 1):
        gain[t] = (1 - level) * (positive[n] - positive[t]) - level * (negative[n] - negative[t])
        highest[t] = gain[t] if t == 0 else max(highest[t - 1], gain[t])
    following = np.empty(n + 1, dtype=np.intp)
    following[n] = n
    for t in range(n - 1, -1, -1):
        following[t] = t if gain[t] >= 0 else following[t + 1]
    thresholds = np.empty(len(starts), dtype=np.intp)
    left = 0
    for k in range(len(starts)):
        start, end = starts[k], ends[k]
        need = gain[start] - gain[end]
        if highest[start] >= need:
            left = _first_reaching(highest, need, left)
            thresholds[k] = left
        else:
            thresholds[k] = following[end]
    return thresholds


@compiled
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
    pairs = (positive[n] - positive) * negative + pairs
    areas = np.empty(len(starts))
    for k in range(len(starts)):
        start, end, t = starts[k], ends[k], thresholds[k]
        withheld = positive[end] - positive[start]
        kept = negative[start] + (negative[n] - negative[end])
        if t <= start:
            beside, atom = negative[start] - negative[t], t - 1
            area = (pairs[n] - pairs[end]) + (pairs[start] - pairs[t]) - withheld * beside
            higher = (positive[n] - positive[end]) + (positive[start] - positive[t])
            rest = rate * kept - (negative[n] - negative[end]) - beside
        else:
            atom = t - 1 if t > end else start - 1
            area, higher = pairs[n] - pairs[t], positive[n] - positive[t]
            rest = rate * kept - (negative[n] - negative[t])
        if atom >= 0 and rest > 0:
            wide = negative[atom + 1] - negative[atom]
            part = min(rest / wide, 1.0) if wide > 0 else 0.0
            area += part * wide * (higher + 0.5 * part * (positive[atom + 1] - positive[atom]))
        areas[k] = area / (kept * (positive[n] - withheld))
    return areas


@compiled
def precision_sums(positive: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the positives at and above each boundary, each times the precision at its atom."""
    n = len(positive) - 1
    over = np.empty(n + 1)
    over[n] = 0.0
    for i in range(n - 1, -1, -1):
        mass = positive[i + 1] - positive[i]
        over[i] = over[i + 1] + mass * (positive[n] - positive[i]) / (weight[n] - weight[i])
    return over


@compiled
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
    n = len(positive) - 1
    values = np.empty(len(starts))
    last, at, constant, slope = -1.0, np.uintp(0), 0.0, 0.0
    for k in order:
        start, end = np.uintp(starts[k]), np.uintp(ends[k])
        lighter = weight[end] - weight[start]
        if lighter != last or start < at:
            last, at, constant, slope = lighter, np.uintp(0), 0.0, 0.0
        while at < start:
            share = (positive[at + np.uintp(1)] - positive[at]) / (
                weight[n] - weight[at] - lighter
            )
            constant += share * (positive[n] - positive[at])
            slope += share
            at += np.uintp(1)
        withheld = positive[end] - positive[start]
        values[k] = (over[end] + constant - withheld * slope) / (positive[n] - withheld)
    return values
