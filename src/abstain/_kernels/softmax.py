"""The loops of softmax(slope * logit + bias), and of Dirichlet's softmax(W z + b): apply and fit.

Fitting needs the log loss with its first two derivatives, in one pass over the rows. Of many
classes it needs products with the Hessian: a row's is ``D - q q'`` with q its probability-weighted
features, so a product takes two passes over the probabilities, and nothing of the size of classes
squared is made.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._pieces import (
    by_columns,
    columns_of,
    rows_at_a_time,
    summed_over_rows,
)

# Numbers in one piece of a fit of many classes, so that what is between stays in near cache.
_AT_A_TIME = 65_536
# Partial sums over its rows that are held at a time.
_PARTS = 16


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

    return by_columns(softmax, logits, np.empty(logits.shape))


def scaling_derivatives(
    logits: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    targets: FloatArray,
    scaling: tuple[FloatArray, FloatArray],
    shared: bool,
    n_blocks: int,
) -> tuple[float, FloatArray, FloatArray]:
    """Return the weighted log loss, its gradient and its Hessian.

    ``scaling`` are the slope and the bias of each class; the parameters are the slope (one if
    shared, else one per class) followed by the biases. A row of class c aims at the distribution
    ``targets[c]``. The Hessian of a row is ``D - q q'`` with q the probability-weighted features,
    so it is summed as that. Partial sums are kept of at most ``n_blocks`` blocks of rows.
    """
    n, n_classes = logits.shape
    slope, bias = scaling
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
    loss, gradient, diagonal, products = summed_over_rows(
        derivatives, n, size=size, most_blocks=n_blocks
    )
    return float(loss), _joined(gradient, shared), _curvature(diagonal, shared) - products


def _joined(gradient: FloatArray, shared: bool) -> FloatArray:
    by_slope, by_bias = gradient
    return np.concatenate([by_slope.sum(keepdims=True) if shared else by_slope, by_bias])


def _curvature(diagonal: FloatArray, shared: bool) -> FloatArray:
    """Return the matrix D of slopes and biases."""
    (second, first, zeroth), n_classes = diagonal, diagonal.shape[1]
    classes, n_slopes = np.arange(n_classes), 1 if shared else n_classes
    slopes, biases = np.minimum(classes, n_slopes - 1), n_slopes + classes
    curved = np.zeros((n_slopes + n_classes, n_slopes + n_classes))
    np.add.at(curved, (slopes, slopes), second)
    curved[slopes, biases] = curved[biases, slopes] = first
    curved[biases, biases] = zeroth
    return curved


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

    loss, by_matrix, by_bias = summed_over_rows(
        gradients, n, size=rows_at_a_time(n_classes), most_blocks=n_blocks
    )
    return float(loss), by_matrix, by_bias


class ScalingLoss:
    """Weighted log loss of ``softmax(slope * logits + bias)``, at one point after the other.

    Parameters
    ----------
    logits : ndarray of shape (n, n_classes)
    codes : ndarray of shape (n,)
        True classes.
    weight : ndarray of shape (n,)
        How much each row counts; they sum to 1.
    targets : ndarray of shape (n_classes, n_classes) or None
        The distribution that rows of each class aim at; their own class when None.

    Attributes
    ----------
    value : float
        The loss where ``at`` went last.
    gradient : ndarray of shape (2, n_classes)
        Its derivatives by the slope and the bias of each class.
    """

    value: float
    gradient: FloatArray

    def __init__(
        self,
        logits: FloatArray,
        codes: IntArray,
        weight: FloatArray,
        targets: FloatArray | None = None,
    ) -> None:
        self._logits, self._codes, self._weight = logits, codes, weight
        n, n_classes = logits.shape
        self._size = max(_AT_A_TIME // n_classes, 1)
        self._own = logits[np.arange(n), codes]
        own = np.stack(
            [np.bincount(codes, weight * of, n_classes) for of in (self._own, np.ones(n))]
        )
        # The loss is linear in what rows aim at, so the part of other classes is a fixed slope.
        self._others = np.zeros((2, n_classes)) if targets is None else self._aims(targets) - own
        self._aimed = own + self._others
        # Probabilities before they are divided by their sums, and times the logits.
        self._shares, self._moments = np.empty((2, n, n_classes))
        self._total = np.empty(n)

    def _aims(self, targets: FloatArray) -> FloatArray:
        """Return the sums over rows of what they aim at, times the logits and plain."""

        def sums(begin: int, end: int) -> tuple[FloatArray]:
            aim = np.take(targets, self._codes[begin:end], axis=0)
            plain = self._weight[begin:end] @ aim
            aim *= self._logits[begin:end]
            return (np.stack([self._weight[begin:end] @ aim, plain]),)

        return self._summed(sums)[0]

    def _summed(
        self, sums: Callable[[int, int], tuple[FloatArray, ...]]
    ) -> tuple[FloatArray, ...]:
        return summed_over_rows(sums, len(self._logits), size=self._size, most_blocks=_PARTS)

    def at(self, slope: FloatArray, bias: FloatArray) -> None:
        """Go to a point."""
        own = slope[self._codes] * self._own + bias[self._codes]

        def sums(begin: int, end: int) -> tuple[FloatArray, ...]:
            z, weight = self._logits[begin:end], self._weight[begin:end]
            share = np.multiply(z, slope, out=self._shares[begin:end])
            share += bias
            highest = share.max(axis=1)
            share -= highest[:, None]
            np.exp(share, out=share)
            total = self._total[begin:end] = share.sum(axis=1)
            loss = weight @ (np.log(total) + (highest - own[begin:end]))
            each = weight / total
            moment = np.multiply(share, z, out=self._moments[begin:end])
            return np.asarray(loss), np.stack([each @ (moment * z), each @ moment, each @ share])

        loss, self._powers = self._summed(sums)
        # The own class is in the rows' losses, where its logit cancels the largest part of them.
        self.value = float(loss) - float(np.sum(self._others * (slope, bias)))
        self.gradient = self._powers[1:] - self._aimed
        self._each = self._weight / self._total

    def times(self, slope: FloatArray, bias: FloatArray) -> FloatArray:
        """Return the product of the Hessian, as of ``gradient``, with two vectors."""
        second, first, zeroth = self._powers
        shares, moments, total = self._shares, self._moments, self._total

        def sums(begin: int, end: int) -> tuple[FloatArray]:
            part = slice(begin, end)
            mean = (moments[part] @ slope + shares[part] @ bias) / total[part]
            mean *= self._each[part]
            return (np.stack([mean @ moments[part], mean @ shares[part]]),)

        (products,) = self._summed(sums)
        spread = np.stack([second * slope + first * bias, first * slope + zeroth * bias])
        return spread - products

    def curvature(self) -> FloatArray:
        """Return the second derivatives of each class: by slope, by both, and by bias.

        They are those of ``p (1 - p)`` in powers of its logit.
        """

        def sums(begin: int, end: int) -> tuple[FloatArray]:
            part = slice(begin, end)
            each = self._each[part] / self._total[part]
            square = self._shares[part] ** 2
            plain = each @ square
            square *= self._logits[part]
            once = each @ square
            square *= self._logits[part]
            return (np.stack([each @ square, once, plain]),)

        return self._powers - self._summed(sums)[0]
