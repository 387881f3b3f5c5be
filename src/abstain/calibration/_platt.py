"""Platt scaling: a logistic curve on the log-odds of two classes.

The paper calibrates its binary experiments (IMDB, genomics) with it.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain.calibration._scaling import ScalingCalibrator, fit_scaling

__all__ = ["PlattScaling"]


class PlattScaling(ScalingCalibrator):
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

    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        negatives, positives = np.bincount(codes, weights=weight, minlength=2)
        low, high = 1 / (negatives + 2), (positives + 1) / (positives + 2)
        self.slope_, self.bias_ = fit_scaling(
            logits,
            codes,
            weight,
            shared_slope=True,
            with_bias=True,
            lower=-np.inf,
            targets=np.array([[1 - low, low], [1 - high, high]]),
        )
