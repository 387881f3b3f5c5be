"""Loops over windows for ranking metrics.

``positive`` and ``negative`` are masses below each boundary between sorted atoms (n + 1 values
each). A window withholds the atoms ``start .. end - 1``; a threshold ``t`` predicts positive
from atom t on.
"""

import numpy as np

from abstain._kernels._jit import compiled
from abstain._validation import FloatArray, IntArray

__all__ = ["auroc_windows", "specificity_thresholds"]


@compiled
def auroc_windows(
    positive: FloatArray, negative: FloatArray, starts: IntArray, ends: IntArray
) -> FloatArray:
    """Return the auROC after each window is withheld (the paper's Algorithms 2 and 3).

    On atoms a pair inside one atom is a tie and counts half.
    """
    n = len(positive) - 1
    pairs = np.empty(n + 1)
    pairs[0] = 0.0
    for i in range(n):
        mass = positive[i + 1] - positive[i]
        pairs[i + 1] = pairs[i] + mass * 0.5 * (negative[i] + negative[i + 1])
    values = np.empty(len(starts))
    for k in range(len(starts)):
        start, end = starts[k], ends[k]
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
