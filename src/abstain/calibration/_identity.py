"""No calibration: scores taken at their word."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from abstain._inputs import FloatArray, IntArray, check_proba
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

    def predict_proba(self, scores: ArrayLike) -> FloatArray:
        """Return the probabilities as they came, or the softmax of logits.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the scale the calibrator was fitted on.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        check_is_fitted(self)
        if self.scale == "logits":
            return super().predict_proba(scores)
        # Not through logarithms, which would move the last digit and lift the zeros.
        return check_proba(scores, name="scores", n_classes=len(self.classes_)).copy()
