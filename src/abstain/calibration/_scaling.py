"""The family softmax(slope * logit + bias), fitted by maximum likelihood.

Platt, temperature, bias-corrected temperature, vector and beta scaling are members, which differ
in what is free: one slope or one per class, with or without biases.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray, Scale, two_logits
from abstain._kernels.softmax import scaled_softmax, scaling_derivatives
from abstain._numerics import minimise
from abstain.calibration._base import Calibrator
from abstain.calibration._many_classes import MANY_CLASSES, fit_many_classes
from abstain.calibration._prior import PRIOR_ROWS, smoothed_targets

__all__ = ["RegularisedScaling", "ScalingCalibrator", "fit_scaling", "largest_slope"]

# The log-odds that validation rows separated without error may be stretched to, on average.
_STRETCH = 100.0
# Logits this far apart are in another unit: at a slope of 1 nothing is left of the curvature.
_IMMENSE = 1e6
# Whatever the scores, a slope up to this is allowed.
_ALWAYS_ALLOWED = 10.0
# Up to so many classes a fit of them all at once is finished with the whole Hessian, if need be.
_MOST_DENSE = 256


class ScalingCalibrator(Calibrator):
    """Base of the calibrators softmax(slope * logit + bias).

    Attributes
    ----------
    slope_, bias_ : ndarray of shape (n_classes,)
        What each column of logits is multiplied by, and what is added.
    """

    _state: ClassVar[tuple[str, ...]] = ("slope_", "bias_")

    slope_: FloatArray
    bias_: FloatArray

    @abstractmethod
    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        """Set ``slope_`` and ``bias_``."""

    def _proba(self, logits: FloatArray) -> FloatArray:
        return scaled_softmax(np.ascontiguousarray(logits), self.slope_, self.bias_)

    def _compact(self, scores: NDArray[Any], n_classes: int) -> FloatArray:
        if n_classes != 2:
            return super()._compact(scores, n_classes)
        odds: FloatArray = np.empty(len(scores))
        self._compact_into(odds, scores, n_classes)
        return odds

    def _compact_into(self, out: FloatArray, scores: NDArray[Any], n_classes: int) -> None:
        if n_classes != 2:
            super()._compact_into(out, scores, n_classes)
            return
        negative, positive = two_logits(scores, scale=self.scale)
        np.multiply(positive, -self.slope_[1], out=out)
        out += self.slope_[0] * negative + (self.bias_[0] - self.bias_[1])
        with np.errstate(over="ignore"):
            np.exp(out, out=out)
        out += 1.0
        np.reciprocal(out, out=out)


class RegularisedScaling(ScalingCalibrator):
    """Base of the scalings with the weak prior.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are.
    prior_rows : float
        How many rows the prior is worth; 0 for none.
    """

    def __init__(self, *, scale: Scale = "probabilities", prior_rows: float = PRIOR_ROWS) -> None:
        super().__init__(scale=scale)
        self.prior_rows = prior_rows

    def _scale(
        self, logits: FloatArray, codes: IntArray, weight: FloatArray, **options: Any
    ) -> None:
        """Fit ``slope_`` and ``bias_``, with the options of ``fit_scaling``."""
        targets = smoothed_targets(codes, weight, logits.shape[1], self.prior_rows)
        self.slope_, self.bias_ = fit_scaling(logits, codes, weight, targets=targets, **options)


def largest_slope(logits: FloatArray, weight: FloatArray) -> float:
    """Return the bound on slopes, which scores that separate the classes would exceed."""
    spread = float(np.sqrt(np.average(np.var(logits, axis=1), weights=weight)))
    return max(_ALWAYS_ALLOWED, _STRETCH / spread) if spread > 0 else _ALWAYS_ALLOWED


def fit_scaling(
    logits: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    *,
    shared_slope: bool,
    with_bias: bool,
    lower: float = 0.0,
    start: tuple[FloatArray, FloatArray] | None = None,
    targets: FloatArray | None = None,
    max_iter: int = 100,
) -> tuple[FloatArray, FloatArray]:
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
    shared_slope, with_bias : bool
        What is free.
    lower : float
        The least a slope may be.
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
    n, n_classes = logits.shape
    present = np.bincount(codes, weights=weight, minlength=n_classes) > 0
    slope, bias = (np.ones(n_classes), np.zeros(n_classes))
    if start is not None:
        slope, bias = start[0] * unit, start[1]
    if n_classes >= MANY_CLASSES:
        bound = largest_slope(logits, weight)
        slope, bias, finished = fit_many_classes(
            logits,
            codes,
            weight,
            shared_slope=shared_slope,
            with_bias=with_bias,
            bounds=(lower if np.isfinite(lower) else -bound, bound),
            start=(slope, bias),
            targets=targets,
            max_iter=max_iter,
        )
        if finished or n_classes > _MOST_DENSE:
            return slope / unit, bias
    basis, offset = _parametrisation(slope, present, shared_slope, with_bias)
    n_slopes = 1 if shared_slope else n_classes
    n_free_slopes = 1 if shared_slope else int(present.sum())
    aims = np.eye(n_classes) if targets is None else targets
    scale = weight / weight.sum()
    n_blocks = int(np.clip(n * n_classes // (n_slopes + n_classes) ** 2, 1, 16))

    def objective(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        full = offset + basis @ x
        slopes = np.broadcast_to(full[:n_slopes], (n_classes,)).copy()
        loss, gradient, hessian = scaling_derivatives(
            logits, codes, scale, aims, slopes, full[n_slopes:], shared_slope, n_blocks
        )
        return loss, basis.T @ gradient, basis.T @ hessian @ basis

    bound = largest_slope(logits, weight)
    low = np.full(basis.shape[1], -np.inf)
    high = np.full(basis.shape[1], np.inf)
    low[:n_free_slopes] = lower if np.isfinite(lower) else -bound
    high[:n_free_slopes] = bound
    begin = np.concatenate([slope[:1] if shared_slope else slope, bias]) - offset
    found = minimise(objective, basis.T @ begin, lower=low, upper=high, max_iter=max_iter)
    full = offset + basis @ found.x
    return np.broadcast_to(full[:n_slopes] / unit, (n_classes,)).copy(), full[n_slopes:]


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


def _parametrisation(
    slope: FloatArray, present: NDArray[np.bool_], shared_slope: bool, with_bias: bool
) -> tuple[FloatArray, FloatArray]:
    """Return basis and offset: slopes and biases are offset + basis @ free parameters.

    Free biases are coordinates in an orthonormal basis of the vectors that sum to 0.
    """
    n_classes = len(present)
    which = np.flatnonzero(present)
    n_slopes = 1 if shared_slope else n_classes
    slopes = np.ones((1, 1)) if shared_slope else np.eye(n_classes)[:, which]
    biases = np.zeros((n_classes, 0))
    if with_bias and len(which) > 1:
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
    if not shared_slope:
        offset[:n_classes] = np.where(present, 0.0, slope)
    return basis, offset
