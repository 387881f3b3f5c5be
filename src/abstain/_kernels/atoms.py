"""Loops that build and cut sorted atoms: ties into one atom, examples into bins, windows.

See ``abstain.metrics.Atoms`` for what an atom is.
"""

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._jit import compiled

__all__ = ["binned", "prefix_sums", "ties_counted", "ties_summed", "window_ends"]


@compiled
def ties_counted(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct values of an ascending array and how often each occurs."""
    n = len(p)
    distinct = 0
    for i in range(n):
        if i == 0 or p[i] != p[i - 1]:
            distinct += 1
    value, count = np.empty(distinct), np.empty(distinct)
    k = -1
    for i in range(n):
        if i == 0 or p[i] != p[i - 1]:
            k += 1
            value[k], count[k] = p[i], 0.0
        count[k] += 1.0
    return value, count


@compiled
def ties_summed(
    p: FloatArray, weight: FloatArray, positive: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the distinct values of an ascending array with the masses of equal ones added."""
    n = len(p)
    value, total, mass = np.empty(n), np.empty(n), np.empty(n)
    k = -1
    for i in range(n):
        if i == 0 or p[i] != p[i - 1]:
            k += 1
            value[k], total[k], mass[k] = p[i], 0.0, 0.0
        total[k] += weight[i]
        mass[k] += positive[i]
    return value[: k + 1].copy(), total[: k + 1].copy(), mass[: k + 1].copy()


@compiled
def binned(
    p: FloatArray, weight: FloatArray, positive: FloatArray, bins: int
) -> tuple[FloatArray, FloatArray]:
    """Return weight and positive mass in equal bins of [0, 1].

    An empty ``weight`` counts every example once; an empty ``positive`` takes ``weight * p``.
    """
    total, mass = np.zeros(bins), np.zeros(bins)
    for i in range(len(p)):
        k = min(int(p[i] * bins), bins - 1)
        w = weight[i] if len(weight) else 1.0
        total[k] += w
        mass[k] += positive[i] if len(positive) else w * p[i]
    return total, mass


@compiled
def prefix_sums(
    weight: FloatArray, positive: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weight, positive and negative mass below each of the n + 1 boundaries.

    Negative mass is summed by itself rather than taken as a difference of the two large sums,
    so that a nearly absent class keeps its digits.
    """
    n = len(weight)
    total, above, below = np.empty(n + 1), np.empty(n + 1), np.empty(n + 1)
    total[0] = above[0] = below[0] = 0.0
    for i in range(n):
        total[i + 1] = total[i] + weight[i]
        above[i + 1] = above[i] + positive[i]
        below[i + 1] = below[i] + (weight[i] - positive[i])
    return total, above, below


@compiled
def window_ends(total: FloatArray, capacity: float) -> IntArray:
    """Return for each start the largest end such that the weight between them fits.

    Starts run up to the first whose window reaches the last atom.
    """
    n = len(total) - 1
    ends = np.empty(n + 1, dtype=np.intp)
    end = 0
    for start in range(n + 1):
        end = max(end, start)
        while end < n and total[end + 1] - total[start] <= capacity:
            end += 1
        ends[start] = end
        if end == n:
            return ends[: start + 1].copy()
    return ends
