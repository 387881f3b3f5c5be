"""The loops of maximum likelihood for class proportions: sums over rows of p / (p . w)."""

import math
from functools import partial

import numba
import numpy as np

from abstain._kernels._jit import SMALL_IN_DESCENT, compiled_parallel
from abstain._validation import FloatArray

__all__ = ["expected_classes", "mixture_derivatives"]

N_BLOCKS = 16


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
        share = np.empty(n_classes)
        gradient = np.zeros(n_classes)
        hessian = np.zeros((n_classes, n_classes))
        value = 0.0
        mass = 0.0
        for x in range(n * block // N_BLOCKS, n * (block + 1) // N_BLOCKS):
            count = weight[x] if len(weight) else 1.0
            if count == 0.0:
                continue
            total = 0.0
            for i in range(n_classes):
                total += proba[x, i] * ratios[i]
            value += count * math.log(total)
            mass += count
            for i in range(n_classes):
                share[i] = proba[x, i] / total
            for i in range(n_classes):
                scaled = count * share[i]
                gradient[i] += scaled
                for j in range(i, n_classes):
                    hessian[i, j] += scaled * share[j]
        values[block] = value
        masses[block] = mass
        gradients[block] = gradient
        hessians[block] = hessian
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
