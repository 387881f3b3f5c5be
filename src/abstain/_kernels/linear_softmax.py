"""The loops of Dirichlet calibration, softmax(W z + b): apply it, and its log loss."""

import math
from functools import partial

import numba
import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._jit import SMALL_IN_DESCENT, compiled, compiled_parallel

__all__ = ["linear_softmax", "linear_softmax_loss"]


@compiled
def _row(z: FloatArray, matrix: FloatArray, bias: FloatArray, p: FloatArray) -> float:
    """Fill p with the row's probabilities; return the logarithm of their normaliser.

    ``matrix[j, i]`` is the weight of score j in class i, so that the inner loop runs along
    memory.
    """
    n_classes = len(z)
    for i in range(n_classes):
        p[i] = bias[i]
    for j in range(n_classes):
        for i in range(n_classes):
            p[i] += matrix[j, i] * z[j]
    highest = -np.inf
    for i in range(n_classes):
        highest = max(highest, p[i])
    total = 0.0
    for i in range(n_classes):
        p[i] = math.exp(p[i] - highest)
        total += p[i]
    for i in range(n_classes):
        p[i] /= total
    return highest + math.log(total)


@compiled_parallel
def linear_softmax(scores: FloatArray, matrix: FloatArray, bias: FloatArray) -> FloatArray:
    """Return ``softmax(scores @ matrix + bias)`` of every row, each on its own."""
    result = np.empty(scores.shape)
    for x in numba.prange(len(scores)):
        _row(scores[x], matrix, bias, result[x])
    return result


@partial(compiled_parallel, small=SMALL_IN_DESCENT)
def linear_softmax_loss(
    scores: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    matrix: FloatArray,
    bias: FloatArray,
    n_blocks: int,
) -> tuple[float, FloatArray, FloatArray]:
    """Return the weighted log loss and its gradients in the matrix and the bias."""
    n, n_classes = scores.shape
    losses = np.zeros(n_blocks)
    matrices = np.zeros((n_blocks, n_classes, n_classes))
    biases = np.zeros((n_blocks, n_classes))
    for block in numba.prange(n_blocks):
        p = np.empty(n_classes)
        for x in range(n * block // n_blocks, n * (block + 1) // n_blocks):
            z = scores[x]
            c = codes[x]
            w = weight[x]
            aim = bias[c]
            for j in range(n_classes):
                aim += matrix[j, c] * z[j]
            losses[block] += w * (_row(z, matrix, bias, p) - aim)
            p[c] -= 1.0
            for i in range(n_classes):
                p[i] *= w
                biases[block, i] += p[i]
            for j in range(n_classes):
                for i in range(n_classes):
                    matrices[block, j, i] += z[j] * p[i]
    loss = 0.0
    matrix_gradient = np.zeros((n_classes, n_classes))
    bias_gradient = np.zeros(n_classes)
    for block in range(n_blocks):
        loss += losses[block]
        matrix_gradient += matrices[block]
        bias_gradient += biases[block]
    return loss, matrix_gradient, bias_gradient
