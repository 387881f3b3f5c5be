"""Loops over examples for confusion metrics: gains of rows, best classes, expected confusion."""

import numba
import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._jit import compiled_parallel

__all__ = ["best_gain", "expected_confusion", "linear_gain", "top_share"]

# Sums over rows are cut into at most this many blocks, whatever the number of threads.
_BLOCKS = 64


@compiled_parallel
def linear_gain(proba: FloatArray, prediction: IntArray, gains: FloatArray) -> FloatArray:
    """Return ``sum_i proba[x, i] * gains[i, prediction[x]]`` for every row x.

    One row is one fixed sequence of additions, so a row scores the same alone as in a batch.
    """
    n, n_classes = proba.shape
    score = np.empty(n)
    for x in numba.prange(n):
        total = 0.0
        for i in range(n_classes):
            total += proba[x, i] * gains[i, prediction[x]]
        score[x] = total
    return score


@compiled_parallel
def best_gain(proba: FloatArray, gains: FloatArray) -> IntArray:
    """Return the column j with the largest ``sum_i proba[x, i] * gains[i, j]`` for every row x."""
    n, n_classes = proba.shape
    best = np.empty(n, dtype=np.intp)
    for x in numba.prange(n):
        winner, highest = 0, -np.inf
        for j in range(gains.shape[1]):
            total = 0.0
            for i in range(n_classes):
                total += proba[x, i] * gains[i, j]
            if total > highest:
                winner, highest = j, total
        best[x] = winner
    return best


@compiled_parallel
def expected_confusion(
    proba: FloatArray, prediction: IntArray, weight: FloatArray, kept: NDArray[np.bool_]
) -> FloatArray:
    """Return C[i, j], the expected weight of kept rows of true class i predicted as j.

    An empty ``weight`` means that every row counts once, an empty ``kept`` that all are kept.
    """
    n, n_classes = proba.shape
    # Never more room for partial sums than a quarter of the input takes.
    blocks = max(1, min(_BLOCKS, n // (4 * n_classes)))
    partial = np.zeros((blocks, n_classes, n_classes))
    for block in numba.prange(blocks):
        for x in range(n * block // blocks, n * (block + 1) // blocks):
            if kept.size and not kept[x]:
                continue
            w = weight[x] if weight.size else 1.0
            for i in range(n_classes):
                partial[block, prediction[x], i] += w * proba[x, i]
    total = np.zeros((n_classes, n_classes))
    for block in range(blocks):
        total += partial[block].T
    return total


@compiled_parallel
def top_share(proba: FloatArray, k: int) -> FloatArray:
    """Return the sum of the k largest entries of every row, added from the largest down."""
    n, n_classes = proba.shape
    most = min(k, n_classes)
    share = np.empty(n)
    for x in numba.prange(n):
        row = np.sort(proba[x])
        total = 0.0
        for i in range(most):
            total += row[n_classes - 1 - i]
        share[x] = total
    return share


def confusion_moments(
    proba: FloatArray, prediction: IntArray, weight: FloatArray, withheld: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Return sums of p and of p p' over the kept and the withheld rows, by predicted class."""
    k = proba.shape[1]
    sums, squares = np.zeros((2, k, k)), np.zeros((2, k, k, k))
    for g in range(2):
        for j in range(k):
            rows = (withheld == bool(g)) & (prediction == j)
            w = np.ones(int(rows.sum())) if not weight.size else weight[rows]
            p = proba[rows]
            sums[g, :, j] = w @ p
            squares[g, j] = (p * w[:, None]).T @ p
    return sums, squares
