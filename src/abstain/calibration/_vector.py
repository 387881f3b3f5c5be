"""Vector scaling: a slope for each class, with biases or without.

Companions of bias-corrected temperature scaling in the study the paper builds on; richer, so
they need more validation data.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain.calibration._scaling import RegularisedScaling

__all__ = ["NoBiasVectorScaling", "VectorScaling"]

# The shared slope is near its best after a few steps, and the slopes of all classes go on.
_START_STEPS = 3


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

    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        self._scale(
            logits, codes, weight, shared_slope=True, with_bias=True, max_iter=_START_STEPS
        )
        start = self.slope_, self.bias_
        self._scale(
            logits, codes, weight, shared_slope=False, with_bias=True, lower=-np.inf, start=start
        )


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

    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        self._scale(
            logits, codes, weight, shared_slope=True, with_bias=False, max_iter=_START_STEPS
        )
        start = self.slope_, self.bias_
        self._scale(
            logits, codes, weight, shared_slope=False, with_bias=False, lower=-np.inf, start=start
        )
