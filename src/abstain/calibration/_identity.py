"""No calibration: scores taken at their word."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FIT_LOGITS, FloatArray, IntArray, check_scores
from abstain.calibration._scaling import ScalingCalibrator

__all__ = ["IdentityCalibration"]


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

    def _compact(self, scores: NDArray[Any], n_classes: int) -> FloatArray:
        if self.scale == "logits":
            return super()._compact(scores, n_classes)
        # Not through logarithms, which would move the last digit and lift the zeros.
        proba = check_scores(scores, scale="probabilities", n_classes=n_classes, remedy=FIT_LOGITS)
        # A copy, since what is returned may be changed in place and the scores may not.
        return (proba[:, 1] if n_classes == 2 else proba).copy()

    def _compact_into(self, out: FloatArray, scores: NDArray[Any], n_classes: int) -> None:
        if self.scale == "logits":
            super()._compact_into(out, scores, n_classes)
        else:
            out[...] = self._compact(scores, n_classes)
