"""The loops of scaling calibrators, softmax(slope * logit + bias): apply it, and fit it.

Fitting needs the log loss with its first two derivatives, in one pass over the rows.
"""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._columns import by_columns, columns_of, first_highest, rows_at_a_time
from abstain._kernels._threads import summed_over_rows
from abstain._numerics import one_blas_thread

__all__ = [
    "log_softmax",
    "normalise",
    "one_versus_rest_log_odds",
    "scaled_softmax",
    "scaling_derivatives",
]


def normalise(columns: FloatArray) -> FloatArray:
    """Turn columns of logits into probabilities, in place; return the log of the normaliser."""
    highest = columns.max(axis=0)
    columns -= highest
    np.exp(columns, out=columns)
    total = columns.sum(axis=0)
    columns /= total
    log_total: FloatArray = np.log(total, out=total)
    log_total += highest
    return log_total


def scaled_softmax(logits: FloatArray, slope: FloatArray, bias: FloatArray) -> FloatArray:
    """Return ``softmax(slope * logits + bias)`` of every row.

    One row is one fixed sequence of operations, so it comes out the same alone as in a batch.
    """

    def softmax(columns: FloatArray) -> FloatArray:
        columns *= slope[:, None]
        columns += bias[:, None]
        normalise(columns)
        return columns

    return by_columns(softmax, logits)


def log_softmax(logits: FloatArray) -> FloatArray:
    """Return the logarithm of ``softmax(logits)`` of every row."""

    def logs(columns: FloatArray) -> FloatArray:
        columns -= columns.max(axis=0)
        columns -= np.log(np.exp(columns).sum(axis=0))
        return columns

    return by_columns(logs, logits)


def one_versus_rest_log_odds(logits: FloatArray) -> FloatArray:
    """Return ``log(p / (1 - p))`` of every class, p being the softmax of the row."""

    def log_odds(columns: FloatArray) -> FloatArray:
        top = first_highest(columns), np.arange(columns.shape[1])
        columns -= columns[top]
        shares = np.exp(columns)
        shares[top] = 0.0
        others = shares.sum(axis=0)
        # The rest of any class but the top one contains the top one, so no digits cancel.
        rest = 1.0 + others - shares
        rest[top] = others
        columns -= np.log(rest, out=rest)
        return columns

    return by_columns(log_odds, logits)


def scaling_derivatives(
    logits: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    targets: FloatArray,
    slope: FloatArray,
    bias: FloatArray,
    shared: bool,
    n_blocks: int,
) -> tuple[float, FloatArray, FloatArray]:
    """Return the weighted log loss, its gradient and its Hessian.

    The parameters are the slope (one if shared, else one per class) followed by the biases. A
    row of class c aims at the distribution ``targets[c]``. The Hessian of a row is
    ``D - q q'`` with q the probability-weighted features, so it is summed as that. Partial
    sums are kept of at most ``n_blocks`` blocks of rows.
    """
    n, n_classes = logits.shape
    aims = np.ascontiguousarray(targets.T)

    def derivatives(begin: int, end: int) -> tuple[FloatArray, ...]:
        z, w = columns_of(logits[begin:end])[:, : end - begin], weight[begin:end]
        aim = np.take(aims, codes[begin:end], axis=1)
        p = slope[:, None] * z
        p += bias[:, None]
        aimed = np.einsum("ix,ix->x", aim, p)
        loss = w @ (normalise(p) - aimed)
        residual = np.subtract(p, aim, out=aim)
        weighted = p * w
        # D holds the sums of w p z z, w p z and w p; the gradient those of w (p - aim) (z, 1).
        first = np.einsum("ix,ix->i", weighted, z)
        diagonal = np.stack(
            [np.einsum("ix,ix,ix->i", weighted, z, z), first, weighted.sum(axis=1)]
        )
        gradient = np.stack([np.einsum("ix,x,ix->i", residual, w, z), residual @ w])
        by_slope = np.einsum("ix,ix->x", p, z)[None] if shared else p * z
        q = np.concatenate([by_slope, p])
        q *= np.sqrt(w)
        return np.asarray(loss), gradient, diagonal, q @ q.T

    size = rows_at_a_time(2 * n_classes)
    with one_blas_thread():
        loss, gradient, diagonal, products = summed_over_rows(
            derivatives, n, size=size, most_blocks=n_blocks
        )
    return float(loss), _joined(gradient, shared), _curvature(diagonal, shared) - products


def _joined(gradient: FloatArray, shared: bool) -> FloatArray:
    by_slope, by_bias = gradient
    return np.concatenate([by_slope.sum(keepdims=True) if shared else by_slope, by_bias])


def _curvature(diagonal: FloatArray, shared: bool) -> FloatArray:
    """Return the matrix D of slopes and biases."""
    second, first, zeroth = diagonal
    if shared:
        both, across = second.sum(keepdims=True)[None], first[None]
    else:
        both, across = np.diag(second), np.diag(first)
    return np.block([[both, across], [across.T, np.diag(zeroth)]])
