"""Slopes and biases of softmax(slope * logit + bias) by maximum likelihood.

Few classes are fitted by Newton's method. For many its Hessian would take the square of the
classes in memory and their cube in time, so it is only multiplied with: the same minimum, in time
that grows with the classes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain._kernels.softmax import ScalingLoss, scaling_derivatives
from abstain._numerics import Local, minimise, minimise_by_products

# The log-odds that validation rows separated without error may be stretched to, on average.
_STRETCH = 100.0
# Logits this far apart are in another unit: at a slope of 1 nothing is left of the curvature.
_IMMENSE = 1e6
# Whatever the scores, a slope up to this is allowed.
_ALWAYS_ALLOWED = 10.0
# Up to so many classes a fit of them all at once is finished with the whole Hessian, if need be.
_MOST_DENSE = 256
# From so many classes on the Hessian is not made.
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

Scaling = tuple[FloatArray, FloatArray]


class Freedom(NamedTuple):
    """What is free in a scaling: one slope for all classes or one for each, biases or none.

    Attributes
    ----------
    shared_slope, with_bias : bool
    lower : float
        The least a slope may be.
    """

    shared_slope: bool = True
    with_bias: bool = True
    lower: float = 0.0


#: One slope for all classes, and a bias for each.
BIAS_CORRECTED = Freedom()


def fit_scaling(
    logits: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    free: Freedom = BIAS_CORRECTED,
    *,
    start: Scaling | None = None,
    targets: FloatArray | None = None,
    max_iter: int = 100,
) -> Scaling:
    """Fit slopes and biases by maximum likelihood.

    Biases sum to 0 over the classes that have examples; a class that has none keeps the bias 0
    and the slope it starts with.

    Parameters
    ----------
    logits : ndarray of shape (n, n_classes)
        Scores.
    codes : ndarray of shape (n,)
        True classes, as column numbers.
    weight : ndarray of shape (n,)
        How much each row counts.
    free : Freedom
        What is free.
    start : tuple of ndarray, optional
        Slopes and biases to begin with; 1 and 0 when not given.
    targets : ndarray of shape (n_classes, n_classes), optional
        The distribution the rows of each class aim at; their own class when not given.
    max_iter : int
        The most steps.

    Returns
    -------
    slope, bias : ndarray of shape (n_classes,)
    """
    unit = _unit(logits)
    logits = np.ascontiguousarray(logits if unit == 1 else logits / unit)
    n_classes = logits.shape[1]
    scaling = np.ones(n_classes), np.zeros(n_classes)
    if start is not None:
        scaling = start[0] * unit, start[1]
    present = np.bincount(codes, weights=weight, minlength=n_classes) > 0
    bound = _largest_slope(logits, weight)
    bounds = (free.lower if np.isfinite(free.lower) else -bound, bound)
    share, finished = weight / weight.sum(), False
    task = _Task(scaling, present, free, bounds, max_iter)
    if n_classes >= MANY_CLASSES:
        loss = ScalingLoss(logits, codes, share, targets)
        scaling, finished = _fit_many_classes(loss, task)
    if not finished and n_classes <= _MOST_DENSE:
        aims = np.eye(n_classes) if targets is None else targets
        scaling = _fit_few_classes(logits, codes, share, aims, task._replace(start=scaling))
    return scaling[0] / unit, scaling[1]


class _Task(NamedTuple):
    """Where a fit begins, which classes have examples, what is free, and between which bounds."""

    start: Scaling
    present: Mask
    free: Freedom
    bounds: tuple[float, float]
    max_iter: int


def _fit_few_classes(
    logits: FloatArray, codes: IntArray, share: FloatArray, targets: FloatArray, task: _Task
) -> Scaling:
    """Fit by Newton's method."""
    n, n_classes = logits.shape
    (slope, bias), present, free, bounds, max_iter = task
    basis, offset = _parametrisation(slope, present, free)
    n_slopes = 1 if free.shared_slope else n_classes
    n_free_slopes = 1 if free.shared_slope else int(present.sum())
    n_blocks = int(np.clip(n * n_classes // (n_slopes + n_classes) ** 2, 1, 16))

    def scaling(x: FloatArray) -> Scaling:
        full = offset + basis @ x
        return np.broadcast_to(full[:n_slopes], (n_classes,)).copy(), full[n_slopes:]

    def objective(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        loss, gradient, hessian = scaling_derivatives(
            logits, codes, share, targets, scaling(x), free.shared_slope, n_blocks
        )
        return loss, basis.T @ gradient, basis.T @ hessian @ basis

    low, high = np.full(basis.shape[1], -np.inf), np.full(basis.shape[1], np.inf)
    low[:n_free_slopes], high[:n_free_slopes] = bounds
    begin = np.concatenate([slope[:n_slopes], bias]) - offset
    found = minimise(objective, basis.T @ begin, lower=low, upper=high, max_iter=max_iter)
    return scaling(found.x)


def _parametrisation(
    slope: FloatArray, present: Mask, free: Freedom
) -> tuple[FloatArray, FloatArray]:
    """Return basis and offset: slopes and biases are offset + basis @ free parameters.

    Free biases are coordinates in an orthonormal basis of the vectors that sum to 0.
    """
    n_classes = len(present)
    which = np.flatnonzero(present)
    n_slopes = 1 if free.shared_slope else n_classes
    slopes = np.ones((1, 1)) if free.shared_slope else np.eye(n_classes)[:, which]
    biases = np.zeros((n_classes, 0))
    if free.with_bias and len(which) > 1:
        k = len(which)
        # Columns of the reflection that maps the constant vector to an axis, less that axis.
        normal = np.full(k, 1 / np.sqrt(k))
        normal[-1] -= 1.0
        reflection = np.eye(k) - 2 * np.outer(normal, normal) / (normal @ normal)
        biases = np.zeros((n_classes, k - 1))
        biases[which] = reflection[:, :-1]
    basis = np.zeros((n_slopes + n_classes, slopes.shape[1] + biases.shape[1]))
    basis[:n_slopes, : slopes.shape[1]] = slopes
    basis[n_slopes:, slopes.shape[1] :] = biases
    offset = np.zeros(n_slopes + n_classes)
    if not free.shared_slope:
        offset[:n_classes] = np.where(present, 0.0, slope)
    return basis, offset


class _Problem:
    """The loss as a function of the free slopes (one if shared) and biases.

    Biases are those of all classes, in the subspace where they sum to 0 over the classes with
    examples and are 0 for the others.
    """

    def __init__(self, loss: ScalingLoss, slope: FloatArray, present: Mask, free: Freedom) -> None:
        self._loss, self._slope, self._present = loss, slope, present
        self._shared, self._with_bias = free.shared_slope, free.with_bias and present.sum() > 1
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
        return np.concatenate([by_slope, self.centred(bias)])

    def centred(self, bias: FloatArray) -> FloatArray:
        """Return biases moved into the subspace."""
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


def _fit_many_classes(loss: ScalingLoss, task: _Task) -> tuple[Scaling, bool]:
    """Fit by products with the Hessian.

    And tell whether that was finished: not where the data determine slopes and biases too badly
    for the products that are worth it.
    """
    (slope, bias), present, free, bounds, max_iter = task
    problem = _Problem(loss, slope, present, free)
    n_slopes = 1 if free.shared_slope else len(present)
    begin = np.concatenate([slope[:n_slopes], problem.centred(bias)])
    bounded = np.zeros(len(begin), dtype=np.bool_)
    bounded[:n_slopes] = True if free.shared_slope else present
    found = minimise_by_products(
        problem.objective,
        begin,
        lower=np.where(bounded, bounds[0], -np.inf),
        upper=np.where(bounded, bounds[1], np.inf),
        exact=_EXACT if free.shared_slope and not present.all() else _USUALLY_EXACT,
        max_iter=max_iter,
        most_work=10 * _MOST_WORK if free.shared_slope else _MOST_WORK,
    )
    slope, bias = problem.split(found.x)
    return (slope.copy(), bias.copy()), found.converged or found.n_iter >= max_iter


def _largest_slope(logits: FloatArray, weight: FloatArray) -> float:
    """Return the bound on slopes, which scores that separate the classes would exceed."""
    # Class by class, which is along memory.
    spread = float(np.sqrt(np.average(np.var(logits.T.copy(), axis=0), weights=weight)))
    return max(_ALWAYS_ALLOWED, _STRETCH / spread) if spread > 0 else _ALWAYS_ALLOWED


def _unit(logits: FloatArray) -> float:
    """Return what logits are divided by for the fit: 1, or a power of two for immense ones.

    How far the highest of a row is above the next tells their unit. A class that is ruled out by
    an immense negative logit does not.
    """
    if max(-float(logits.min()), float(logits.max())) <= _IMMENSE:
        return 1.0
    highest = np.partition(logits, -2, axis=1)[:, -2:]
    gap = float(np.median(highest[:, 1] - highest[:, 0]))
    return 1.0 if gap <= _IMMENSE else float(2.0 ** np.frexp(gap)[1])
