"""The loops of maximum likelihood for class proportions: sums over rows of p / (p . w)."""

import math
from functools import partial

import numba
import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels._jit import SMALL_IN_DESCENT, compiled, compiled_parallel
from abstain._kernels.gram import add_gram, rows_at_a_time

__all__ = ["expected_classes", "mixture_derivatives"]

N_BLOCKS = 16


@compiled
def _fill(proba: FloatArray, ratios: FloatArray, share: FloatArray, totals: FloatArray) -> None:
    """Fill in ``p . w`` and ``p / (p . w)`` of a few rows, a column of them per class."""
    n, n_classes = proba.shape
    for x in range(n):
        total = 0.0
        for i in range(n_classes):
            total += proba[x, i] * ratios[i]
        totals[x] = total
        # A row that the ratios rule out has a likelihood of 0, and no derivatives.
        inverse = 1.0 / total if total > 0.0 else 0.0
        for i in range(n_classes):
            share[i, x] = proba[x, i] * inverse
    for i in range(n_classes):
        for x in range(n, share.shape[1]):
            share[i, x] = 0.0


@compiled
def _sum_of_logs(totals: FloatArray, counts: FloatArray) -> float:
    """Return the weighted sum of logarithms; of rows that count once, four at a time."""
    n = len(totals)
    result = 0.0
    x = 0
    while x + 4 <= n:
        product = totals[x] * totals[x + 1] * totals[x + 2] * totals[x + 3]
        alike = counts[x] == counts[x + 1] == counts[x + 2] == counts[x + 3] == 1.0
        if alike and 1e-280 < product < 1e280:
            result += math.log(product)
        else:
            for y in range(x, x + 4):
                if counts[y] > 0.0:
                    result += counts[y] * math.log(totals[y])
        x += 4
    for y in range(x, n):
        if counts[y] > 0.0:
            result += counts[y] * math.log(totals[y])
    return result


@partial(compiled_parallel, small=SMALL_IN_DESCENT)
def mixture_derivatives(
    proba: FloatArray, weight: FloatArray, ratios: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Return the mean of ``log(p . w)`` over rows, its gradient, and minus its Hessian.

    An empty ``weight`` counts every row once.
    """
    n, n_classes = proba.shape
    values = np.zeros(N_BLOCKS)
    masses = np.zeros(N_BLOCKS)
    gradients = np.zeros((N_BLOCKS, n_classes))
    hessians = np.zeros((N_BLOCKS, n_classes, n_classes))
    for block in numba.prange(N_BLOCKS):
        lanes = rows_at_a_time(n_classes)
        share = np.zeros((n_classes, lanes))
        totals = np.empty(lanes)
        counts = np.ones(lanes)
        begin, end = n * block // N_BLOCKS, n * (block + 1) // N_BLOCKS
        for start in range(begin, end, lanes):
            filled = min(lanes, end - start)
            if len(weight):
                counts[:filled] = weight[start : start + filled]
            _fill(proba[start : start + filled], ratios, share, totals)
            values[block] += _sum_of_logs(totals[:filled], counts[:filled])
            masses[block] += counts[:filled].sum()
            if len(weight):
                for i in range(n_classes):
                    for x in range(filled):
                        gradients[block, i] += counts[x] * share[i, x]
                        share[i, x] *= math.sqrt(counts[x])
            else:
                for i in range(n_classes):
                    gradients[block, i] += share[i].sum()
            add_gram(hessians[block], share, 1.0)
    value = 0.0
    mass = 0.0
    gradient = np.zeros(n_classes)
    hessian = np.zeros((n_classes, n_classes))
    for block in range(N_BLOCKS):
        value += values[block]
        mass += masses[block]
        gradient += gradients[block]
        hessian += hessians[block]
    for i in range(n_classes):
        for j in range(i):
            hessian[i, j] = hessian[j, i]
    return value / mass, gradient / mass, hessian / mass


@partial(compiled_parallel, small=SMALL_IN_DESCENT)
def expected_classes(proba: FloatArray, weight: FloatArray, ratios: FloatArray) -> FloatArray:
    """Return the mean over rows of ``p * w`` normalised: one step of EM."""
    n, n_classes = proba.shape
    masses = np.zeros(N_BLOCKS)
    sums = np.zeros((N_BLOCKS, n_classes))
    for block in numba.prange(N_BLOCKS):
        for x in range(n * block // N_BLOCKS, n * (block + 1) // N_BLOCKS):
            count = weight[x] if len(weight) else 1.0
            total = 0.0
            for i in range(n_classes):
                total += proba[x, i] * ratios[i]
            if total > 0.0 and count > 0.0:
                masses[block] += count
                for i in range(n_classes):
                    sums[block, i] += count * proba[x, i] * ratios[i] / total
    result = np.zeros(n_classes)
    mass = 0.0
    for block in range(N_BLOCKS):
        mass += masses[block]
        result += sums[block]
    return result / mass
