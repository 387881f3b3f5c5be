"""Loops over examples for confusion metrics: expected confusion, gains, sampled labels."""

import numba
import numpy as np

from abstain._kernels._jit import compiled_parallel
from abstain._validation import FloatArray, IntArray

__all__ = ["best_gain", "linear_gain"]


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
