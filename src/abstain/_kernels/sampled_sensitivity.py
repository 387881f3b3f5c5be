"""The paper's Algorithm 1: sensitivity at a specificity after each window, over sampled labels.

Names follow the paper: ``above_neg`` and ``above_pos`` are its n- and n+, the tables its
t-left and t-right. Counts are whole numbers, compared as such.
"""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._pieces import over_rows
from abstain._kernels.atoms import drawn_positives

# Samples are added up in this many parts, whatever the number of threads.
PARTS = 8
_LABELS_AT_A_TIME = 2**20
# Fewer labels than this are sampled before a thread is awake.
_WORTH_A_THREAD = 100_000


def _first_with(above_neg: IntArray) -> IntArray:
    """Return the lowest threshold with at most c negatives at or above it, for each c."""
    thresholds = np.arange(len(above_neg) - 1, 0, -1)
    return np.append(np.repeat(thresholds, -np.diff(above_neg)[::-1]), 0)


def _sensitivities(
    above: tuple[IntArray, IntArray], windows: tuple[IntArray, IntArray], level: float
) -> FloatArray:
    """Return the sensitivity after each window under one label vector (steps 3 to 6).

    With j negatives withheld, floor((1 - s)(n - j)) may stay above the threshold: counted without
    the window when it lies to the left (t-left), with it when it lies to the right (t-right). NaN
    where a window leaves one class only.
    """
    (above_pos, above_neg), (starts, ends) = above, windows
    negative = above_neg[starts] - above_neg[ends]
    positive = above_pos[starts] - above_pos[ends]
    withheld = np.arange(negative.max() + 1)
    allowed = np.floor((1 - level) * (above_neg[0] - withheld)).astype(np.intp)
    first = _first_with(above_neg)
    t_right = first[np.minimum(allowed + withheld, above_neg[0])][negative]
    t_left = first[allowed][negative]
    found = np.where(
        t_right <= starts, above_pos[t_right] - positive, above_pos[np.maximum(t_left, ends)]
    )
    kept = above_pos[0] - positive
    return np.where((kept == 0) | (above_neg[0] == negative), np.nan, found / kept)


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
    starts, _ = windows
    sums, undefined = np.zeros((PARTS, len(starts))), np.zeros((PARTS, len(starts)), dtype=np.intp)
    at_a_time = max(1, _LABELS_AT_A_TIME // len(p))

    def add(begin: int, end: int) -> None:
        for part in range(begin, end):
            until = n_samples * (part + 1) // PARTS
            for first in range(n_samples * part // PARTS, until, at_a_time):
                some = min(at_a_time, until - first)
                for drawn in drawn_positives(weight, p, first, some, seed):
                    above = _above(drawn), _above(weight - drawn)
                    found = _sensitivities(above, windows, level)
                    defined = ~np.isnan(found)
                    np.add(sums[part], found, out=sums[part], where=defined)
                    undefined[part] += ~defined

    over_rows(add, PARTS, size=1 if n_samples * len(p) >= _WORTH_A_THREAD else PARTS)
    counts = n_samples - undefined.sum(axis=0)
    with np.errstate(invalid="ignore"):
        result: FloatArray = sums.sum(axis=0) / counts
    return result


def _above(mass: FloatArray) -> IntArray:
    """Return how much lies at or above each boundary (step 2)."""
    return np.append(np.cumsum(mass[::-1])[::-1], 0.0).astype(np.intp)
