"""The loops of scaling calibrators, softmax(slope * logit + bias): apply it, and fit it.

Fitting needs the log loss with its first two derivatives, in one pass over the rows.
"""

import math

import numba
import numpy as np

from abstain._kernels._jit import compiled, compiled_parallel
from abstain._validation import FloatArray, IntArray

__all__ = ["scaled_softmax", "scaling_derivatives"]


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


@compiled_parallel
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
        q = np.empty(k)
        scaled = np.empty(k)
        gradient = gradients[block]
        hessian = hessians[block]
        for x in range(n * block // n_blocks, n * (block + 1) // n_blocks):
            z = logits[x]
            target = targets[codes[x]]
            w = weight[x]
            if w == 0.0:
                continue
            losses[block] += w * _row_loss(z, target, slope, bias, p)
            q[:m] = 0.0
            for i in range(n_classes):
                a = 0 if shared else i
                residual = w * (p[i] - target[i])
                gradient[a] += residual * z[i]
                gradient[m + i] += residual
                q[a] += p[i] * z[i]
                q[m + i] = p[i]
                hessian[a, a] += w * p[i] * z[i] * z[i]
                hessian[a, m + i] += w * p[i] * z[i]
                hessian[m + i, m + i] += w * p[i]
            for i in range(k):
                scaled[i] = w * q[i]
            for i in range(k):
                line = hessian[i]
                s = scaled[i]
                for j in range(i, k):
                    line[j] -= s * q[j]
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
