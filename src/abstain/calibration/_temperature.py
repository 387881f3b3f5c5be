"""Temperature scaling, plain and with bias correction.

The bias-corrected form is what the paper pairs with EM under label shift: without biases the
mean calibrated probability misses the class proportions, and EM takes the gap for a shift.
"""

from __future__ import annotations

from typing import ClassVar

from abstain._inputs import FloatArray, IntArray
from abstain.calibration._scaling import RegularisedScaling

__all__ = ["BiasCorrectedTemperatureScaling", "TemperatureScaling"]


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

    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        self._scale(logits, codes, weight, shared_slope=True, with_bias=False)


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

    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        self._scale(logits, codes, weight, shared_slope=True, with_bias=True)
