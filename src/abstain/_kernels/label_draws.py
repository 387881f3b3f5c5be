"""Confusion matrices of sampled labels, with a random number for each (seed, draw, row).

A draw does not depend on the order of the work or the number of threads.
"""

import math

import numba
import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._jit import compiled, compiled_parallel
from abstain._kernels.counter_random import binomial, child_key, draw_key, uniform

__all__ = ["confusion_draws", "label_draw", "mean_drawn_entry"]

# A row with a whole weight up to this gets so many labels; a heavier one gets binomial counts.
_MOST_SINGLE_LABELS = 64


@compiled
def _label(proba: FloatArray, x: int, u: float) -> int:
    """Return the class of row x whose share of [0, 1) holds u."""
    last = proba.shape[1] - 1
    reached = proba[x, 0]
    label = 0
    while label < last and u >= reached:
        label += 1
        reached += proba[x, label]
    return label


@compiled
def _add_heavy_row(
    counts: FloatArray, proba: FloatArray, x: int, weight: float, key: np.uint64
) -> None:
    """Add the labels of a row that stands for ``weight`` examples."""
    n_classes = proba.shape[1]
    whole = float(math.floor(weight))
    rest = weight - whole
    if rest > 0:
        counts[_label(proba, x, uniform(key, 0))] += rest
    if whole <= _MOST_SINGLE_LABELS:
        for k in range(int(whole)):
            counts[_label(proba, x, uniform(key, k + 1))] += 1.0
        return
    mass = 1.0
    for i in range(n_classes - 1):
        share = min(proba[x, i] / mass, 1.0) if mass > 0 else 0.0
        count = binomial(whole, share, child_key(key, i + 1))
        counts[i] += count
        whole -= count
        mass -= proba[x, i]
    counts[n_classes - 1] += whole


@compiled_parallel
def confusion_draws(
    proba: FloatArray, prediction: IntArray, weight: FloatArray, seed: int, first: int, last: int
) -> FloatArray:
    """Return the confusion matrix of each of the label draws ``first .. last - 1``.

    Entry (m, i, j) is the weight of rows with label i in draw m and predicted as j. A row of
    whole weight w is w independent labels, a fractional remainder one label of that weight; an
    empty ``weight`` means that every row counts once.
    """
    n, n_classes = proba.shape
    counts = np.zeros((last - first, n_classes, n_classes))
    for m in numba.prange(last - first):
        key = draw_key(seed, first + m)
        for x in range(n):
            if weight.size == 0:
                label = _label(proba, x, uniform(key, x))
                counts[m, prediction[x], label] += 1.0
            else:
                row_key = child_key(key, x)
                _add_heavy_row(counts[m, prediction[x]], proba, x, weight[x], row_key)
    return counts.transpose(0, 2, 1).copy()


@compiled_parallel
def label_draw(proba: FloatArray, seed: int, draw: int) -> IntArray:
    """Return the labels of one draw, the same that ``confusion_draws`` counts at weight 1."""
    n = len(proba)
    labels = np.empty(n, dtype=np.intp)
    key = draw_key(seed, draw)
    for x in numba.prange(n):
        labels[x] = _label(proba, x, uniform(key, x))
    return labels


@compiled_parallel
def mean_drawn_entry(
    proba: FloatArray, prediction: IntArray, tables: FloatArray, seed: int
) -> FloatArray:
    """Return for every row x the mean over draws m of ``tables[m, label of x, prediction[x]]``."""
    n, n_draws = len(proba), len(tables)
    keys = np.empty(n_draws, dtype=np.uint64)
    for m in range(n_draws):
        keys[m] = draw_key(seed, m)
    mean = np.empty(n)
    for x in numba.prange(n):
        total = 0.0
        for m in range(n_draws):
            total += tables[m, _label(proba, x, uniform(keys[m], x)), prediction[x]]
        mean[x] = total / n_draws
    return mean
