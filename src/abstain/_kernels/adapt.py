"""Adaptation of probabilities by class weights, row by row."""

import numba
import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels._jit import compiled_parallel

__all__ = ["adapted", "adapted_positive"]

# Rows at a time, so that what is between stays in near cache.
_ROWS = 16_384


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


def adapted_positive(
    p: FloatArray, ratios: FloatArray, out: FloatArray | None = None
) -> FloatArray:
    """Return the positive probabilities of two classes adapted by class weights.

    One row is one fixed sequence of operations, so it comes out the same alone as in a batch.
    """
    moved = np.empty_like(p) if out is None else out
    for begin in range(0, len(p), _ROWS):
        part = p[begin : begin + _ROWS]
        above = part * ratios[1]
        total = above + (1 - part) * ratios[0]
        gone = total <= 0
        moved[begin : begin + _ROWS] = np.where(gone, part, above / np.where(gone, 1.0, total))
    return moved
