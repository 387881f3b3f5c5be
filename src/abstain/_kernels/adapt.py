"""Adaptation of probabilities by class weights, row by row."""

import numba
import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels._jit import compiled_parallel

__all__ = ["adapted"]


@compiled_parallel
def adapted(proba: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ``proba * weights`` with each row renormalised; a row that vanishes is kept."""
    n, n_classes = proba.shape
    result = np.empty((n, n_classes))
    for x in numba.prange(n):
        total = 0.0
        for i in range(n_classes):
            result[x, i] = proba[x, i] * weights[i]
            total += result[x, i]
        for i in range(n_classes):
            result[x, i] = result[x, i] / total if total > 0 else proba[x, i]
    return result
