"""The loops of scaling calibrators of many classes: the log loss, and products with its Hessian.

A row's Hessian is ``D - q q'`` with q its probability-weighted features, so a product takes two
passes over the probabilities, and nothing of the size of classes squared is made.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._threads import summed_over_rows
from abstain._numerics import one_blas_thread

__all__ = ["ScalingLoss"]

# Numbers in one piece, so that what is between stays in near cache.
_AT_A_TIME = 65_536
# Partial sums over rows that are held at a time.
_PARTS = 16


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
        with one_blas_thread():
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
