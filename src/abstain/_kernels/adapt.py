"""Adaptation of probabilities by class weights, row by row."""

import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels._columns import by_columns

__all__ = ["adapted"]


def adapted(proba: FloatArray, weights: FloatArray) -> FloatArray:
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

    return by_columns(adapt, proba)
