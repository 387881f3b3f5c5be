"""The loops of scaling calibrators, softmax(slope * logit + bias): apply it, and fit it.

Fitting needs the log loss with its first two derivatives, in one pass over the rows.
"""

import math
from functools import partial

import numba
import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._jit import SMALL_IN_DESCENT, compiled, compiled_parallel
from abstain._kernels.gram import add_gram, rows_at_a_time

__all__ = ["log_softmax", "one_versus_rest_log_odds", "scaled_softmax", "scaling_derivatives"]


@compiled_parallel
def scaled_softmax(logits: FloatArray, slope: FloatArray, bias: FloatArray) -> FloatArray:
    """Return ``softmax(slope * logits + bias)`` of every row.

    One row is one fixed sequence of operations, so it comes out the same alone as in a batch.
    """
    n, n_classes = logits.shape
    result = np.empty((n, n_classes))
    for x in numba.prange(n):
        highest = -np.inf
        for i in range(n_classes):
            result[x, i] = slope[i] * logits[x, i] + bias[i]
            highest = max(highest, result[x, i])
        total = 0.0
        for i in range(n_classes):
            result[x, i] = math.exp(result[x, i] - highest)
            total += result[x, i]
        for i in range(n_classes):
            result[x, i] /= total
    return result


@compiled_parallel
def log_softmax(logits: FloatArray) -> FloatArray:
    """Return the logarithm of ``softmax(logits)`` of every row."""
    n, n_classes = logits.shape
    result = np.empty((n, n_classes))
    for x in numba.prange(n):
        highest = -np.inf
        for i in range(n_classes):
            highest = max(highest, logits[x, i])
        total = 0.0
        for i in range(n_classes):
            total += math.exp(logits[x, i] - highest)
        for i in range(n_classes):
            result[x, i] = logits[x, i] - highest - math.log(total)
    return result


@compiled_parallel
def one_versus_rest_log_odds(logits: FloatArray) -> FloatArray:
    """Return ``log(p / (1 - p))`` of every class, p being the softmax of the row."""
    n, n_classes = logits.shape
    result = np.empty((n, n_classes))
    for x in numba.prange(n):
        top = 0
        for i in range(n_classes):
            if logits[x, i] > logits[x, top]:
                top = i
        others = 0.0
        for i in range(n_classes):
            if i != top:
                others += math.exp(logits[x, i] - logits[x, top])
        for i in range(n_classes):
            # The rest of any class but the top one contains the top one, so no digits cancel.
            gap = logits[x, i] - logits[x, top]
            rest = others if i == top else 1.0 + others - math.exp(gap)
            result[x, i] = gap - math.log(rest)
    return result


@compiled
def _row_loss(
    z: FloatArray, target: FloatArray, slope: FloatArray, bias: FloatArray, p: FloatArray
) -> float:
    """Fill p with the row's probabilities; return its cross entropy with the target."""
    n_classes = len(z)
    highest = -np.inf
    for i in range(n_classes):
        p[i] = slope[i] * z[i] + bias[i]
        highest = max(highest, p[i])
    loss = highest
    for i in range(n_classes):
        loss -= target[i] * p[i]
    total = 0.0
    for i in range(n_classes):
        p[i] = math.exp(p[i] - highest)
        total += p[i]
    for i in range(n_classes):
        p[i] /= total
    return loss + math.log(total)


@partial(compiled_parallel, small=SMALL_IN_DESCENT)
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
    ``D - q q'`` with q the probability-weighted features, so it is summed as that.
    """
    n, n_classes = logits.shape
    m = 1 if shared else n_classes
    k = m + n_classes
    losses = np.zeros(n_blocks)
    gradients = np.zeros((n_blocks, k))
    hessians = np.zeros((n_blocks, k, k))
    for block in numba.prange(n_blocks):
        p = np.empty(n_classes)
        q = np.zeros((k, rows_at_a_time(k)))
        filled = 0
        gradient = gradients[block]
        hessian = hessians[block]
        for x in range(n * block // n_blocks, n * (block + 1) // n_blocks):
            z = logits[x]
            target = targets[codes[x]]
            w = weight[x]
            root = math.sqrt(w)
            losses[block] += w * _row_loss(z, target, slope, bias, p)
            for i in range(m):
                q[i, filled] = 0.0
            for i in range(n_classes):
                a = 0 if shared else i
                residual = w * (p[i] - target[i])
                gradient[a] += residual * z[i]
                gradient[m + i] += residual
                q[a, filled] += root * p[i] * z[i]
                q[m + i, filled] = root * p[i]
                hessian[a, a] += w * p[i] * z[i] * z[i]
                hessian[a, m + i] += w * p[i] * z[i]
                hessian[m + i, m + i] += w * p[i]
            filled += 1
            if filled == q.shape[1]:
                add_gram(hessian, q, -1.0)
                filled = 0
        q[:, filled:] = 0.0
        add_gram(hessian, q, -1.0)
    loss = 0.0
    gradient = np.zeros(k)
    hessian = np.zeros((k, k))
    for block in range(n_blocks):
        loss += losses[block]
        gradient += gradients[block]
        hessian += hessians[block]
    for i in range(k):
        for j in range(i):
            hessian[i, j] = hessian[j, i]
    return loss, gradient, hessian
