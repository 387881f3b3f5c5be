"""The loops of Dirichlet calibration, softmax(W z + b): apply it, and its log loss."""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._columns import by_columns, columns_of, rows_at_a_time
from abstain._kernels._threads import summed_over_rows
from abstain._kernels.softmax import normalise
from abstain._numerics import one_blas_thread

__all__ = ["linear_softmax", "linear_softmax_loss"]


def linear_softmax(scores: FloatArray, matrix: FloatArray, bias: FloatArray) -> FloatArray:
    """Return ``softmax(scores @ matrix + bias)`` of every row, each on its own."""

    def softmax(columns: FloatArray) -> FloatArray:
        # Not by BLAS, whose order of additions depends on how many rows there are.
        mixed: FloatArray = np.einsum("ji,jx->ix", matrix, columns)
        mixed += bias[:, None]
        normalise(mixed)
        return mixed

    return by_columns(softmax, scores)


def linear_softmax_loss(
    scores: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    matrix: FloatArray,
    bias: FloatArray,
    n_blocks: int,
) -> tuple[float, FloatArray, FloatArray]:
    """Return the weighted log loss and its gradients in the matrix and the bias.

    Partial sums are kept of at most ``n_blocks`` blocks of rows.
    """
    n, n_classes = scores.shape
    transposed = np.ascontiguousarray(matrix.T)

    def gradients(begin: int, end: int) -> tuple[FloatArray, ...]:
        z, w = columns_of(scores[begin:end])[:, : end - begin], weight[begin:end]
        p = transposed @ z
        p += bias[:, None]
        own = codes[begin:end], np.arange(end - begin)
        aim = p[own]
        loss = w @ (normalise(p) - aim)
        p[own] -= 1.0
        p *= w
        return np.asarray(loss), z @ p.T, p.sum(axis=1)

    with one_blas_thread():
        loss, by_matrix, by_bias = summed_over_rows(
            gradients, n, size=rows_at_a_time(n_classes), most_blocks=n_blocks
        )
    return float(loss), by_matrix, by_bias
