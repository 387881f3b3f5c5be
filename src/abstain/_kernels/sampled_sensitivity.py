"""The paper's Algorithm 1: sensitivity at a specificity after each window, over sampled labels.

Names follow the paper: ``above_neg`` and ``above_pos`` are its n- and n+, the tables its
t-left and t-right. Counts are whole numbers, compared as such.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._jit import compiled
from abstain._kernels._pieces import over_rows
from abstain._kernels.atoms import drawn_positives

# Unsigned, because an index that cannot be negative is looked up in half the time.
Counts = NDArray[np.uint32]

# Samples are added up in this many parts, whatever the number of threads.
PARTS = 8
_LABELS_AT_A_TIME = 2**20
# Fewer labels than this are sampled before a thread is awake.
_WORTH_A_THREAD = 100_000


@compiled("float64[::1], boolean, uint32[::1], uint32[::1]")
def _counts_above(weight: FloatArray, unit: bool, above_pos: Counts, above_neg: Counts) -> None:
    """Turn the positives at each atom into counts at or above each boundary (step 2)."""
    n = len(weight)
    above_pos[n] = above_neg[n] = 0
    for i in range(n - 1, -1, -1):
        count = 1 if unit else int(weight[i])
        above_neg[i] = above_neg[i + 1] + count - above_pos[i]
        above_pos[i] += above_pos[i + 1]


@compiled("uint32[::1], boolean, int64, float64, uint32[::1], uint32[::1], uint32[::1]")
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


@compiled(
    "uint32[::1], uint32[::1], UniTuple(uint32[::1], 2), UniTuple(uint32[::1], 2), float64[::1], "
    "uint32[::1]"
)
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


@compiled(
    "float64[::1], int64, boolean, float64[:, ::1], UniTuple(uint32[::1], 2), int64, float64, "
    "float64[::1], uint32[::1]"
)
def _add_samples(
    weight: FloatArray,
    total: int,
    unit: bool,
    positives: FloatArray,
    windows: tuple[Counts, Counts],
    heaviest: int,
    level: float,
    sums: FloatArray,
    undefined: Counts,
) -> None:
    """Add the sensitivities of some samples of positives at each atom.

    Written as plain loops, which compile in a fraction of the time that whole arrays take.
    """
    n = len(weight)
    above_pos, above_neg = np.empty(n + 1, dtype=np.uint32), np.empty(n + 1, dtype=np.uint32)
    first = np.empty(total + 1, dtype=np.uint32)
    t_left, t_right = np.empty(total + 1, dtype=np.uint32), np.empty(total + 1, dtype=np.uint32)
    for sample in range(len(positives)):
        for i in range(n):
            above_pos[i] = np.uint32(positives[sample, i])
        _counts_above(weight, unit, above_pos, above_neg)
        most = min(heaviest, above_neg[0])
        _thresholds(above_neg, unit, most, level, first, t_left, t_right)
        _add_sensitivities(above_pos, above_neg, (t_left, t_right), windows, sums, undefined)


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
    # Of one kind in memory, for which the loop is compiled: equal weights may be one number.
    weight = np.array(weight)
    below = np.concatenate([[0.0], np.cumsum(weight)])
    counted = int(below[-1]), bool((weight == 1.0).all())
    heaviest = int((below[ends] - below[starts]).max())
    sums = np.zeros((PARTS, len(starts)))
    undefined = np.zeros((PARTS, len(starts)), dtype=np.uint32)
    # Half the size, to stay nearer in the cache.
    narrow = (starts.astype(np.uint32), ends.astype(np.uint32))
    at_a_time = max(1, _LABELS_AT_A_TIME // len(p))

    def add(begin: int, end: int) -> None:
        for part in range(begin, end):
            until = n_samples * (part + 1) // PARTS
            for first in range(n_samples * part // PARTS, until, at_a_time):
                some = min(at_a_time, until - first)
                drawn = drawn_positives(weight, p, first, some, seed)
                own = sums[part], undefined[part]
                _add_samples(weight, *counted, drawn, narrow, heaviest, level, *own)

    over_rows(add, PARTS, size=1 if n_samples * len(p) >= _WORTH_A_THREAD else PARTS)
    counts = n_samples - undefined.sum(axis=0)
    with np.errstate(invalid="ignore"):
        result: FloatArray = sums.sum(axis=0) / counts
    return result
