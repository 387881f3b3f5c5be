"""Probabilities at other class proportions: adapted row by row, and how likely those are.

Adapted by class weights w, a row p becomes ``p * w / (p . w)``; the likelihood of the weights is
the product of the ``p . w``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels._pieces import columns_of, filled, rows_at_a_time, summed_over_rows

N_BLOCKS = 16


def adapted(proba: FloatArray, weights: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return ``proba * weights`` with each row renormalised; a row that vanishes is kept.

    One dimension is the positive class of two. The result is written into ``out`` where that is
    given, which may be the probabilities themselves.
    """
    result = np.empty(proba.shape) if out is None else out
    n_classes = 2 if proba.ndim == 1 else proba.shape[1]

    def adapt(rows: FloatArray) -> Any:
        part = rows if rows.ndim == 1 else columns_of(rows)
        if rows.ndim == 1:
            product = part * weights[1]
            total = (1 - part) * weights[0]
            total += product
        else:
            product = part * weights[:, None]
            total = product.sum(axis=0)
        vanished = ~(total > 0)
        product /= total
        if vanished.any():
            product[..., vanished] = part[..., vanished]
        return product.T[: len(rows)]

    return filled(result, adapt, proba, size=rows_at_a_time(n_classes))


def mixture_derivatives(
    proba: FloatArray, weight: FloatArray, ratios: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Return the mean of ``log(p . w)`` over rows, its gradient, and minus its Hessian.

    An empty ``weight`` counts every row once.
    """
    n, n_classes = proba.shape

    def derivatives(begin: int, end: int) -> tuple[FloatArray, ...]:
        rows, counts = proba[begin:end], weight[begin:end]
        totals = rows @ ratios
        share = columns_of(rows)[:, : end - begin]
        # A row that the ratios rule out has a likelihood of 0, and no derivatives.
        share *= np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
        if not weight.size:
            return _sum_of_logs(totals), share.sum(axis=1), share @ share.T
        # A row that does not count may be ruled out.
        with np.errstate(divide="ignore"):
            logs = np.log(totals, out=np.zeros_like(totals), where=counts > 0)
        gradient = share @ counts
        share *= np.sqrt(counts)
        return np.asarray(logs @ counts), gradient, share @ share.T

    value, gradient, hessian = summed_over_rows(
        derivatives, n, size=rows_at_a_time(n_classes), most_blocks=N_BLOCKS
    )
    mass = weight.sum() if weight.size else float(n)
    return float(value / mass), gradient / mass, hessian / mass


def _sum_of_logs(values: FloatArray) -> FloatArray:
    """Return the sum of logarithms; those of products of four, while these have all digits."""
    whole = len(values) - len(values) % 4
    products = values[:whole].reshape(4, -1).prod(axis=0)
    if products.size and products.min() > 1e-280 and products.max() < 1e280:
        return np.asarray(np.log(products).sum() + np.log(values[whole:]).sum())
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values).sum())


def expected_classes(proba: FloatArray, weight: FloatArray, ratios: FloatArray) -> FloatArray:
    """Return the mean over rows of ``p * w`` normalised: one step of EM."""
    n, n_classes = proba.shape

    def classes(begin: int, end: int) -> tuple[FloatArray, ...]:
        rows = proba[begin:end]
        totals = rows @ ratios
        counts = weight[begin:end] if weight.size else np.ones(end - begin)
        counts = np.where(totals > 0, counts, 0.0)
        inverse = np.divide(counts, totals, out=np.zeros_like(totals), where=totals > 0)
        return np.asarray(counts.sum()), inverse @ rows

    mass, sums = summed_over_rows(classes, n, size=rows_at_a_time(n_classes), most_blocks=N_BLOCKS)
    return sums * ratios / mass
