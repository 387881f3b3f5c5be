"""Adaptation of probabilities by class weights, row by row."""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels._columns import by_columns
from abstain._kernels._threads import over_rows

# Probabilities at a time, so that what is between stays in near cache.
_AT_A_TIME = 131_072


def adapted(proba: FloatArray, weights: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return ``proba * weights`` with each row renormalised; a row that vanishes is kept."""
    factors = np.asarray(weights)[:, None]

    def adapt(columns: FloatArray) -> FloatArray:
        product = columns * factors
        total = product.sum(axis=0)
        vanished = ~(total > 0)
        product /= total
        if vanished.any():
            product[:, vanished] = columns[:, vanished]
        return product

    return by_columns(adapt, proba, out)


def adapted_compact(
    rows: FloatArray, weights: FloatArray, out: FloatArray | None = None
) -> FloatArray:
    """Return rows adapted, of two classes held as the positive probabilities alone."""
    return (adapted_positive if rows.ndim == 1 else adapted)(rows, weights, out)


def adapted_positive(
    p: FloatArray, weights: FloatArray, out: FloatArray | None = None
) -> FloatArray:
    """Return the positive probabilities of two classes adapted by class weights."""
    moved = np.empty_like(p) if out is None else out

    def adapt(begin: int, end: int) -> None:
        part = p[begin:end]
        above = part * weights[1]
        total = (1 - part) * weights[0]
        total += above
        vanished = ~(total > 0)
        above /= total
        if vanished.any():
            above[vanished] = part[vanished]
        moved[begin:end] = above

    over_rows(adapt, len(p), size=_AT_A_TIME)
    return moved
