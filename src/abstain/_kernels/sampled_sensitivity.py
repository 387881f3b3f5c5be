"""The paper's Algorithm 1: sensitivity at a specificity after each window, over sampled labels.

Names follow the paper: ``above_neg`` and ``above_pos`` are its n- and n+, the tables its
t-left and t-right. Counts are whole numbers, compared as such.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._jit import compiled, compiled_parallel
from abstain._kernels.atom_labels import draw_counts
from abstain._kernels.counter_random import draw_key

__all__ = ["sampled_sensitivities"]

# Unsigned, because an index that cannot be negative is looked up in half the time.
Counts = NDArray[np.uint32]

# Samples are added up in this many parts, whatever the number of threads.
PARTS = 8


@compiled
def _counts_above(
    weight: FloatArray,
    p: FloatArray,
    unit: bool,
    key: np.uint64,
    above_pos: Counts,
    above_neg: Counts,
) -> None:
    """Sample labels and count them at or above each boundary (steps 1 and 2)."""
    n = len(p)
    above_pos[n] = above_neg[n] = 0
    # Labels first, sums after: loops without an order run on vector registers.
    draw_counts(weight, p, unit, key, above_pos)
    for i in range(n - 1, -1, -1):
        count = 1 if unit else int(weight[i])
        above_neg[i] = above_neg[i + 1] + count - above_pos[i]
        above_pos[i] += above_pos[i + 1]


@compiled
def _thresholds(
    above_neg: Counts,
    unit: bool,
    most: int,
    level: float,
    first: Counts,
    t_left: Counts,
    t_right: Counts,
) -> None:
    """Fill the moving-threshold tables for up to ``most`` withheld negatives (steps 3 and 4).

    ``first[c]`` is the lowest threshold with at most c negatives at or above it. With j
    negatives withheld, floor((1 - s)(n - j)) may stay above the threshold: counted without
    the window when it lies to the left (t-left), with it when it lies to the right (t-right).
    """
    n, negatives = len(above_neg) - 1, above_neg[0]
    if unit:
        # Counts fall one by one, so each is met; of equal ones the lowest is written last.
        for i in range(n, -1, -1):
            first[above_neg[i]] = i
    else:
        for i in range(n, 0, -1):
            for c in range(above_neg[i], above_neg[i - 1]):
                first[c] = i
        first[negatives] = 0
    for j in range(most + 1):
        allowed = int(np.floor((1 - level) * (negatives - j)))
        t_left[j] = first[min(allowed, negatives)]
        t_right[j] = first[min(allowed + j, negatives)]


@compiled
def _add_sensitivities(
    above_pos: Counts,
    above_neg: Counts,
    tables: tuple[Counts, Counts],
    windows: tuple[Counts, Counts],
    sums: FloatArray,
    undefined: Counts,
) -> None:
    """Add the sensitivity after each window under one label vector (steps 5 and 6)."""
    t_left, t_right = tables
    starts, ends = windows
    for k in range(len(starts)):
        start, end = starts[k], ends[k]
        negative = above_neg[start] - above_neg[end]
        positive = above_pos[start] - above_pos[end]
        kept = above_pos[0] - positive
        if kept == 0 or above_neg[0] == negative:
            undefined[k] += 1
            continue
        t = t_right[negative]
        found = above_pos[t] - positive if t <= start else above_pos[max(t_left[negative], end)]
        sums[k] += found / kept


@compiled
def _add_samples(
    part: int,
    weight: FloatArray,
    p: FloatArray,
    windows: tuple[Counts, Counts],
    heaviest: int,
    level: float,
    n_samples: int,
    seed: int,
    sums: FloatArray,
    undefined: Counts,
) -> None:
    """Add every PARTS-th sample's sensitivities."""
    n, total, unit = len(p), int(weight.sum()), bool((weight == 1.0).all())
    above_pos, above_neg = np.empty(n + 1, dtype=np.uint32), np.empty(n + 1, dtype=np.uint32)
    first = np.empty(total + 1, dtype=np.uint32)
    t_left, t_right = np.empty(total + 1, dtype=np.uint32), np.empty(total + 1, dtype=np.uint32)
    for sample in range(part, n_samples, PARTS):
        _counts_above(weight, p, unit, draw_key(seed, sample), above_pos, above_neg)
        most = min(heaviest, above_neg[0])
        _thresholds(above_neg, unit, most, level, first, t_left, t_right)
        _add_sensitivities(above_pos, above_neg, (t_left, t_right), windows, sums, undefined)


@compiled_parallel
def sampled_sensitivities(
    weight: FloatArray,
    p: FloatArray,
    windows: tuple[IntArray, IntArray],
    level: float,
    n_samples: int,
    seed: int,
) -> FloatArray:
    """Return the mean sensitivity after each window is withheld, over sampled label vectors.

    Weights are whole numbers. Samples in which a window leaves one class only are left out of
    its mean.
    """
    starts, ends = windows
    n_windows = len(starts)
    below = np.zeros(len(p) + 1)
    below[1:] = np.cumsum(weight)
    heaviest = int((below[ends] - below[starts]).max())
    sums = np.zeros((PARTS, n_windows))
    undefined = np.zeros((PARTS, n_windows), dtype=np.uint32)
    # Half the size, to stay nearer in the cache.
    narrow = (starts.astype(np.uint32), ends.astype(np.uint32))
    for part in numba.prange(PARTS):
        _add_samples(
            part, weight, p, narrow, heaviest, level, n_samples, seed, sums[part], undefined[part]
        )
    result = np.zeros(n_windows)
    for k in range(n_windows):
        count = n_samples
        for part in range(PARTS):
            result[k] += sums[part, k]
            count -= undefined[part, k]
        result[k] /= count
    return result
