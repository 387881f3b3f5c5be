"""The family softmax(slope * logit + bias), fitted by maximum likelihood.

Its members differ in what is free: one slope or one per class, with or without biases. The paper
calibrates its binary experiments (IMDB, genomics) by Platt scaling, and pairs bias-corrected
temperature scaling with EM under label shift: without biases the mean calibrated probability
misses the class proportions, and EM takes the gap for a shift. Vector scaling, its companion in
the study the paper builds on, is richer and needs more validation data.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import CheckedScores, FloatArray, IntArray, two_logits
from abstain._kernels.softmax import scaled_softmax
from abstain._schema import Keys
from abstain.calibration._base import Calibrator, RegularisedCalibrator, smoothed_targets
from abstain.calibration._scaling_fit import BIAS_CORRECTED, Freedom, Scaling, fit_scaling
from abstain.program import Value, exp, log_softmax, of_rows, softmax


class ScalingCalibrator(Calibrator):
    """Base of the calibrators softmax(slope * logit + bias).

    Attributes
    ----------
    slope_, bias_ : ndarray of shape (n_classes,)
        What each column of logits is multiplied by, and what is added.
    """

    state: ClassVar[Keys] = {"slope_": ("classes",), "bias_": ("classes",)}

    slope_: FloatArray
    bias_: FloatArray

    @abstractmethod
    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        """Set ``slope_`` and ``bias_``."""

    def operations(self, logits: Value) -> Value:
        """State the probabilities of a block of logits."""
        if self.logistic is None:
            return softmax(logits * self.slope_ + self.bias_)
        negative, positive, bias = self.logistic
        odds = logits[1] * positive + (logits[0] * negative + bias)
        return 1.0 / (exp(odds) + 1.0)

    def _proba(self, logits: FloatArray) -> FloatArray:
        # As `operations`, but in place: the calibrations that are used most are worth it.
        return scaled_softmax(np.ascontiguousarray(logits), self.slope_, self.bias_)

    @property
    def logistic(self) -> tuple[float, float, float] | None:
        """The a, b and c of two classes, whose probability is a logistic curve of their logits."""
        if len(self.slope_) != 2:
            return None
        (negative, positive), bias = self.slope_.tolist(), self.bias_
        return negative, -positive, float(bias[0] - bias[1])

    def compact_checked(self, scores: CheckedScores) -> FloatArray:
        """Return probabilities of scores that were checked already."""
        curve = self.logistic
        if curve is None:
            return super().compact_checked(scores)
        return _positive(curve, scores.logits[:, 0], scores.logits[:, 1])

    def _compact(self, scores: NDArray[Any]) -> FloatArray:
        curve = self.logistic
        if curve is None:
            return super()._compact(scores)
        return _positive(curve, *two_logits(scores, scale=self.scale))


def _positive(
    curve: tuple[float, float, float], negative: FloatArray | float, positive: FloatArray
) -> FloatArray:
    """Return the probability of the positive class: as ``operations``, but in place."""
    of_negative, of_positive, bias = curve
    odds: FloatArray = np.multiply(positive, of_positive)
    odds += of_negative * negative + bias
    with np.errstate(over="ignore"):
        np.exp(odds, out=odds)
    odds += 1.0
    return np.reciprocal(odds, out=odds)


class FittedScaling(ScalingCalibrator):
    """Base of the scalings whose slopes and biases are the likeliest."""

    _free: ClassVar[Freedom] = BIAS_CORRECTED
    #: The shared slope is near its best after a few steps, and the slopes of all classes go on.
    _start_steps: ClassVar[int] = 3

    @abstractmethod
    def _aims(self, codes: IntArray, weight: FloatArray, n_classes: int) -> FloatArray:
        """Return the distribution that the rows of each class aim at."""

    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        start = None
        if not self._free.shared_slope:
            shared = Freedom(with_bias=self._free.with_bias)
            aims = self._aims(codes, weight, logits.shape[1])
            start = fit_scaling(
                logits, codes, weight, shared, targets=aims, max_iter=self._start_steps
            )
        self._fit_from(start, logits, codes, weight)

    def _fit_again(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        # Of the slope of a class that is not among the rows they tell nothing.
        there = np.bincount(codes, weights=weight, minlength=len(self.slope_)) > 0
        slope = np.where(there, self.slope_, self.slope_.mean())
        self._fit_from((slope, self.bias_), logits, codes, weight)

    def _fit_from(
        self,
        start: Scaling | None,
        logits: FloatArray,
        codes: IntArray,
        weight: FloatArray,
        max_iter: int = 100,
    ) -> None:
        aims = self._aims(codes, weight, logits.shape[1])
        found = fit_scaling(
            logits, codes, weight, self._free, start=start, targets=aims, max_iter=max_iter
        )
        self.slope_, self.bias_ = found


class IdentityCalibration(ScalingCalibrator):
    """No calibration: probabilities as they came, or the softmax of logits.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are.

    Attributes
    ----------
    slope_, bias_ : ndarray of shape (n_classes,)
        Ones and zeros.
    classes_ : ndarray of shape (n_classes,)
        The label of each column.

    Examples
    --------
    >>> from abstain.calibration import IdentityCalibration
    >>> IdentityCalibration().fit([0.2, 0.7], [0, 1]).predict_proba([0.0, 0.7])
    array([[1. , 0. ],
           [0.3, 0.7]])
    """

    name: ClassVar[str] = "identity"

    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        self.slope_ = np.ones(logits.shape[1])
        self.bias_ = np.zeros(logits.shape[1])

    def stated(self, scores: Value, smallest: float) -> Value:
        """State the probabilities of a block of scores; given ones are left as they are."""
        if self.scale == "logits":
            return super().stated(scores, smallest)
        return scores[1] if scores.width == 2 else scores

    @property
    def logistic(self) -> tuple[float, float, float] | None:
        """The a, b and c of two classes of logits; None of probabilities, which stay."""
        return super().logistic if self.scale == "logits" else None

    def compact_checked(self, scores: CheckedScores) -> FloatArray:
        """Return probabilities of scores that were checked already."""
        if self.scale == "logits":
            return super().compact_checked(scores)
        # Not through logarithms, which would move the last digit and lift the zeros. A copy, since
        # what is returned may be changed in place and the scores may not.
        return (scores.matrix[:, 1] if len(self.classes_) == 2 else scores.matrix).copy()


class PlattScaling(FittedScaling):
    """Platt scaling: a logistic curve on the log-odds, for two classes.

    Fitted by maximum likelihood on Platt's smoothed targets, so classes that the scores
    separate without error still give finite slopes.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are.

    Attributes
    ----------
    slope_, bias_ : ndarray of shape (2,)
        What each column of logits is multiplied by, and what is added.
    classes_ : ndarray of shape (2,)
        The label of each column.

    Notes
    -----
    With z the log-odds of the positive class, ``p = 1 / (1 + exp(-(a z + b)))``. The ``N+``
    positives aim at ``(N+ + 1) / (N+ + 2)`` and the ``N-`` negatives at ``1 / (N- + 2)``, which
    is what Bayes' rule with a flat prior says of an unseen example (Platt, 1999).

    References
    ----------
    J. Platt (1999). Probabilistic outputs for support vector machines and comparisons to
    regularized likelihood methods. Advances in Large Margin Classifiers.

    Examples
    --------
    >>> from abstain.calibration import PlattScaling
    >>> platt = PlattScaling(scale="logits").fit([-2.0, -1.0, 1.0, 2.0], [0, 1, 0, 1])
    >>> platt.predict_proba([0.0]).round(3)
    array([[0.5, 0.5]])
    """

    name: ClassVar[str] = "platt"
    binary_only: ClassVar[bool] = True

    _free: ClassVar[Freedom] = Freedom(lower=-np.inf)

    def _aims(self, codes: IntArray, weight: FloatArray, n_classes: int) -> FloatArray:
        negatives, positives = np.bincount(codes, weights=weight, minlength=2)
        low, high = 1 / (negatives + 2), (positives + 1) / (positives + 2)
        return np.array([[1 - low, low], [1 - high, high]])


class RegularisedScaling(RegularisedCalibrator, FittedScaling):
    """Base of the scalings with the weak prior."""

    def _aims(self, codes: IntArray, weight: FloatArray, n_classes: int) -> FloatArray:
        return smoothed_targets(codes, weight, n_classes, self.prior_rows)


class TemperatureScaling(RegularisedScaling):
    """Temperature scaling: all logits divided by one number.

    It changes how confident the probabilities are, never which class is the most likely.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are.
    prior_rows : float
        How many rows the prior is worth, which keeps scores that separate few rows from being
        stretched to certainty; 0 for none.

    Attributes
    ----------
    slope_ : ndarray of shape (n_classes,)
        One over the temperature, the same for each class.
    bias_ : ndarray of shape (n_classes,)
        Zeros.
    classes_ : ndarray of shape (n_classes,)
        The label of each column.

    Notes
    -----
    ``p = softmax(z / T)`` with T at least 0 by maximum likelihood, convex in 1 / T. Scores that
    separate the classes without error have no best T without a prior; 1 / T then stops at a
    bound.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger (2017). On calibration of modern neural networks.
    ICML.

    Examples
    --------
    >>> from abstain.calibration import TemperatureScaling
    >>> scores = [[3.0, 0.0], [3.0, 0.0], [3.0, 0.0], [0.0, 3.0]]
    >>> temperature = TemperatureScaling(scale="logits", prior_rows=0).fit(scores, [0, 0, 1, 1])
    >>> temperature.predict_proba([[3.0, 0.0]]).round(3)  # three of four are right
    array([[0.75, 0.25]])
    """

    name: ClassVar[str] = "temperature"
    _free: ClassVar[Freedom] = Freedom(with_bias=False)


class BiasCorrectedTemperatureScaling(RegularisedScaling):
    """Temperature scaling with a bias for each class; the choice under label shift.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are.
    prior_rows : float
        How many rows the prior is worth, which keeps scores that separate few rows from being
        stretched to certainty; 0 for none.

    Attributes
    ----------
    slope_ : ndarray of shape (n_classes,)
        One over the temperature, the same for each class.
    bias_ : ndarray of shape (n_classes,)
        What is added to each logit; they sum to 0 over the classes with examples.
    classes_ : ndarray of shape (n_classes,)
        The label of each column.

    Notes
    -----
    ``p = softmax(z / T + b)`` by maximum likelihood, which is convex. At its maximum, with or
    without the prior, the mean probability of each class on the validation set equals its
    frequency there: no systematic bias is left that an estimate of the shift could mistake for
    one.

    References
    ----------
    A. Alexandari, A. Kundaje, A. Shrikumar (2020). Maximum likelihood with bias-corrected
    calibration is hard-to-beat at label shift adaptation. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.calibration import BiasCorrectedTemperatureScaling
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=300)
    >>> scores = np.eye(3)[y] + rng.normal(size=(300, 3))
    >>> bcts = BiasCorrectedTemperatureScaling(scale="logits").fit(scores, y)
    >>> np.allclose(bcts.predict_proba(scores).mean(axis=0), np.bincount(y) / 300)
    True
    """

    name: ClassVar[str] = "bcts"


class VectorScaling(RegularisedScaling):
    """Vector scaling: a slope and a bias for each class.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are.
    prior_rows : float
        How many rows the prior is worth, which keeps scores that separate few rows from being
        stretched to certainty; 0 for none.

    Attributes
    ----------
    slope_, bias_ : ndarray of shape (n_classes,)
        What each column of logits is multiplied by, and what is added.
    classes_ : ndarray of shape (n_classes,)
        The label of each column.

    Notes
    -----
    ``p = softmax(a * z + b)`` with vectors a and b, by maximum likelihood, which is convex; it
    begins near the bias-corrected temperature fit. A class without examples keeps the slope of
    that fit and the bias 0. With more than 256 classes and a handful of rows of each, the fit
    ends before slopes that only single rows determine have reached their bounds.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger (2017). On calibration of modern neural networks.
    ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.calibration import VectorScaling
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=300)
    >>> scores = np.eye(3)[y] + rng.normal(size=(300, 3))
    >>> vector = VectorScaling(scale="logits").fit(scores, y)
    >>> np.allclose(vector.predict_proba(scores).mean(axis=0), np.bincount(y) / 300)
    True
    """

    name: ClassVar[str] = "vector"
    _free: ClassVar[Freedom] = Freedom(shared_slope=False, lower=-np.inf)


class NoBiasVectorScaling(RegularisedScaling):
    """Vector scaling without biases: a slope for each class.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are.
    prior_rows : float
        How many rows the prior is worth, which keeps scores that separate few rows from being
        stretched to certainty; 0 for none.

    Attributes
    ----------
    slope_ : ndarray of shape (n_classes,)
        What each column of logits is multiplied by.
    bias_ : ndarray of shape (n_classes,)
        Zeros.
    classes_ : ndarray of shape (n_classes,)
        The label of each column.

    Notes
    -----
    ``p = softmax(a * z)`` by maximum likelihood, which is convex; it begins near the
    temperature fit. A class without examples keeps the slope of that fit.

    References
    ----------
    A. Alexandari, A. Kundaje, A. Shrikumar (2020). Maximum likelihood with bias-corrected
    calibration is hard-to-beat at label shift adaptation. ICML.

    Examples
    --------
    >>> from abstain.calibration import NoBiasVectorScaling
    >>> scores = [[3.0, 0.0], [3.0, 0.0], [3.0, 0.0], [0.0, 3.0], [0.0, 3.0]]
    >>> nbvs = NoBiasVectorScaling(scale="logits", prior_rows=0).fit(scores, [0, 0, 1, 1, 0])
    >>> nbvs.predict_proba([[3.0, 0.0], [0.0, 3.0]]).round(3)
    array([[0.667, 0.333],
           [0.5  , 0.5  ]])
    """

    name: ClassVar[str] = "nbvs"
    _free: ClassVar[Freedom] = Freedom(False, False, lower=-np.inf)


class BetaCalibration(RegularisedScaling):
    """Beta calibration: a slope for log p, one for log(1 - p), and a bias, for two classes.

    Unlike Platt scaling it contains the identity for every score, and may bend the two ends of
    the scale differently.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are.
    prior_rows : float
        How many rows the prior is worth, which keeps scores that separate few rows from being
        stretched to certainty; 0 for none.

    Attributes
    ----------
    slope_, bias_ : ndarray of shape (2,)
        What the log-probability of each class is multiplied by, and what is added.
    classes_ : ndarray of shape (2,)
        The label of each column.

    Notes
    -----
    The calibrated log-odds are ``a log p - b log(1 - p) + c`` with a and b at least 0, so that
    the curve never falls; by maximum likelihood, which is convex.

    References
    ----------
    M. Kull, T. Silva Filho, P. Flach (2017). Beta calibration: a well-founded and easily
    implemented improvement on logistic calibration for binary classifiers. AISTATS.

    Examples
    --------
    >>> from abstain.calibration import BetaCalibration
    >>> beta = BetaCalibration().fit([0.1, 0.2, 0.2, 0.8, 0.8, 0.9], [0, 0, 1, 0, 1, 1])
    >>> beta.predict_proba([0.5]).round(3)
    array([[0.5, 0.5]])
    """

    name: ClassVar[str] = "beta"
    binary_only: ClassVar[bool] = True
    _free: ClassVar[Freedom] = Freedom(shared_slope=False)
    _start_steps: ClassVar[int] = 100

    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        super()._fit(of_rows(log_softmax, logits), codes, weight)

    def _fit_again(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        super()._fit_again(of_rows(log_softmax, logits), codes, weight)

    def operations(self, logits: Value) -> Value:
        """State the probabilities of a block of logits."""
        return softmax(log_softmax(logits) * self.slope_ + self.bias_)

    def _proba(self, logits: FloatArray) -> FloatArray:
        return super()._proba(of_rows(log_softmax, logits))

    @property
    def logistic(self) -> None:
        """None, since the curve is not of the logits, but of logarithms of the probabilities."""
        return None
