"""Slopes and biases of many classes by maximum likelihood, in time that grows with the classes.

The same minimum as of the dense Newton's method that few classes are fitted by, whose Hessian
takes the square of the classes in memory and their cube in time.
"""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain._kernels.scaling_products import ScalingLoss
from abstain._numerics import Local, minimise_by_products

__all__ = ["MANY_CLASSES", "fit_many_classes"]

#: From so many classes on.
MANY_CLASSES = 24
# After so many points the rough curvature is looked at again.
_REFRESHED = 4
# Curvatures of a class below this share of the largest count as this.
_LEAST_CURVED = 1e-10
# What is left of a class's two curvatures where its slope and its bias can hardly be told apart.
_LEAST_APART = 1e-6
_TINY = 1e-150
# Products with the Hessian for one fit, where the loss counts as eight; 100 to 250 are usual.
_MOST_WORK = 320
# A class without examples keeps the slope of the shared fit, which then is found step by step
# as exactly as by the dense method.
_EXACT = 1e-6
_USUALLY_EXACT = 0.1


class _Problem:
    """The loss as a function of the free slopes (one if shared) and biases.

    Biases are those of all classes, in the subspace where they sum to 0 over the classes with
    examples and are 0 for the others.
    """

    def __init__(
        self, loss: ScalingLoss, slope: FloatArray, present: Mask, shared: bool, with_bias: bool
    ) -> None:
        self._loss, self._slope, self._present = loss, slope, present
        self._shared, self._with_bias = shared, with_bias and present.sum() > 1
        self._visits = 0

    def split(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the slope and the bias of every class."""
        n_classes = len(self._present)
        if self._shared:
            return np.full(n_classes, x[0]), x[1:]
        return np.where(self._present, x[:n_classes], self._slope), x[n_classes:]

    def joined(self, pair: FloatArray) -> FloatArray:
        """Return slope and bias parts as one vector of the subspace."""
        slope, bias = pair
        by_slope = slope.sum(keepdims=True) if self._shared else np.where(self._present, slope, 0)
        return np.concatenate([by_slope, self._centred(bias)])

    def _centred(self, bias: FloatArray) -> FloatArray:
        if not self._with_bias:
            return np.zeros_like(bias)
        return np.where(self._present, bias - bias[self._present].mean(), 0.0)

    def objective(self, x: FloatArray) -> Local:
        """Return the loss and its derivatives at a point."""
        loss = self._loss
        loss.at(*self.split(x))
        if self._visits % _REFRESHED == 0:
            self._curvature = loss.curvature()
        self._visits += 1
        curved = float(self._curvature[0].sum() if self._shared else self._curvature.max())
        gradient = self.joined(loss.gradient)
        return Local(loss.value, gradient, self._times, self._roughly, curved)

    def _times(self, v: FloatArray) -> FloatArray:
        n_classes = len(self._present)
        slope = np.full(n_classes, v[0]) if self._shared else v[:n_classes]
        return self.joined(self._loss.times(slope, v[-n_classes:]))

    def _roughly(self, v: FloatArray, damping: float) -> FloatArray:
        """Divide by the curvatures of each class alone, within the subspace."""
        by_slope, across, by_bias = self._curvature
        n_classes = len(self._present)
        second = np.maximum(by_slope, max(_LEAST_CURVED * by_slope.max(), _TINY)) + damping
        plain = np.maximum(by_bias, max(_LEAST_CURVED * by_bias.max(), _TINY)) + damping
        if self._shared:
            # The sum of the classes' curvatures, less than which no slope of all has.
            return np.append(v[0] / second.sum(), self._level(v[1:] / plain, 1 / plain))
        if not self._with_bias:
            return np.append(np.where(self._present, v[:n_classes] / second, 0.0), v[n_classes:])
        apart = np.maximum(second * plain - across**2, _LEAST_APART * second * plain)
        slope = (plain * v[:n_classes] - across * v[n_classes:]) / apart
        bias = (second * v[n_classes:] - across * v[:n_classes]) / apart
        there = self._present
        shift = bias[there].sum() / (second / apart)[there].sum()
        return np.concatenate(
            [
                np.where(there, slope + shift * across / apart, 0.0),
                np.where(there, bias - shift * second / apart, 0.0),
            ]
        )

    def _level(self, bias: FloatArray, unit: FloatArray) -> FloatArray:
        if not self._with_bias:
            return np.zeros_like(bias)
        shift = bias[self._present].sum() / unit[self._present].sum()
        return np.where(self._present, bias - shift * unit, 0.0)


def fit_many_classes(
    logits: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    *,
    shared_slope: bool,
    with_bias: bool,
    bounds: tuple[float, float],
    start: tuple[FloatArray, FloatArray],
    targets: FloatArray | None,
    max_iter: int,
) -> tuple[FloatArray, FloatArray, bool]:
    """Fit slopes and biases by maximum likelihood, as ``fit_scaling`` without its Hessian.

    Parameters
    ----------
    logits : ndarray of shape (n, n_classes)
    codes, weight : ndarray of shape (n,)
    shared_slope, with_bias : bool
        What is free.
    bounds : (float, float)
        The least and the most a slope may be.
    start : tuple of ndarray
        Slopes and biases to begin with.
    targets : ndarray of shape (n_classes, n_classes) or None
        The distribution the rows of each class aim at.
    max_iter : int
        The most steps.

    Returns
    -------
    slope, bias : ndarray of shape (n_classes,)
    finished : bool
        False where the data determine them too badly for the products with the Hessian that are
        worth it.
    """
    n_classes = logits.shape[1]
    share = weight / weight.sum()
    present = np.bincount(codes, weights=weight, minlength=n_classes) > 0
    loss = ScalingLoss(logits, codes, share, targets)
    problem = _Problem(loss, start[0], present, shared_slope, with_bias)
    slope, bias = start
    n_slopes = 1 if shared_slope else n_classes
    begin = np.concatenate([slope[:n_slopes], problem._centred(bias)])
    free = np.zeros(n_slopes + n_classes, dtype=np.bool_)
    free[:n_slopes] = True if shared_slope else present
    found = minimise_by_products(
        problem.objective,
        begin,
        lower=np.where(free, bounds[0], -np.inf),
        upper=np.where(free, bounds[1], np.inf),
        exact=_EXACT if shared_slope and not present.all() else _USUALLY_EXACT,
        max_iter=max_iter,
        most_work=10 * _MOST_WORK if shared_slope else _MOST_WORK,
    )
    slope, bias = problem.split(found.x)
    return slope.copy(), bias.copy(), found.converged or found.n_iter >= max_iter
