"""Beta calibration: the curve that scores with beta distributions need, for two classes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.softmax import log_softmax, scaled_softmax
from abstain.calibration._base import Calibrator
from abstain.calibration._scaling import RegularisedScaling

__all__ = ["BetaCalibration"]


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

    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        logs = log_softmax(np.ascontiguousarray(logits))
        self._scale(logs, codes, weight, shared_slope=True, with_bias=True)
        start = self.slope_, self.bias_
        self._scale(logs, codes, weight, shared_slope=False, with_bias=True, start=start)

    def _proba(self, logits: FloatArray) -> FloatArray:
        return scaled_softmax(log_softmax(np.ascontiguousarray(logits)), self.slope_, self.bias_)

    def _compact(self, scores: NDArray[Any], n_classes: int) -> FloatArray:
        # Not of the logits, as other scalings, but of the logarithms of the probabilities.
        return Calibrator._compact(self, scores, n_classes)

    def _compact_into(self, out: FloatArray, scores: NDArray[Any], n_classes: int) -> None:
        Calibrator._compact_into(self, out, scores, n_classes)
