"""Matthews correlation coefficient, for two classes and for more."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from abstain._inputs import FloatArray
from abstain.metrics._confusion import BaseConfusionMetric


class MatthewsCorrelation(BaseConfusionMetric):
    r"""Matthews correlation coefficient of predictions and labels.

    Higher is better, at most 1; 0 is no relation.

    Parameters
    ----------
    solver : {"joint", "marginal"}
        How the examples to withhold are chosen.

    Notes
    -----
    With row sums N, column sums F, trace c and total n of the confusion matrix,

    .. math:: \frac{c n - \sum_k N_k F_k}
              {\sqrt{(n^2 - \sum_k N_k^2) (n^2 - \sum_k F_k^2)}},

    and 0 where the labels or the predictions are all of one class, as in scikit-learn.

    References
    ----------
    .. [1] Gorodkin, "Comparing two K-category assignments by a K-category correlation
       coefficient", Computational Biology and Chemistry 28 (2004).

    Examples
    --------
    >>> from abstain.metrics import MatthewsCorrelation
    >>> MatthewsCorrelation().observed([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.6])
    0.5774
    """

    value_range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    head: ClassVar[str] = "mcc"
    summary: ClassVar[str] = "Matthews correlation of predictions and labels, any class balance"

    def value(self, confusion: FloatArray) -> float:
        """Return the correlation of a confusion matrix."""
        shared, true_spread, predicted_spread = _covariances(confusion)
        spread = true_spread * predicted_spread
        return float(shared / np.sqrt(spread)) if spread > 0 else 0.0

    def gradient(self, confusion: FloatArray) -> FloatArray:
        """Return the derivative of the correlation by each entry of C."""
        shared, true_spread, predicted_spread = _covariances(confusion)
        if true_spread * predicted_spread <= 0:
            return np.zeros_like(confusion)
        truths, predicted = confusion.sum(axis=1), confusion.sum(axis=0)
        total, right = confusion.sum(), np.trace(confusion)
        of_shared = total * np.eye(len(confusion)) + right - predicted[:, None] - truths[None, :]
        of_spreads = (total - truths)[:, None] / true_spread + (total - predicted)[
            None, :
        ] / predicted_spread
        slope: FloatArray = (of_shared - shared * of_spreads) / np.sqrt(
            true_spread * predicted_spread
        )
        return slope


def _covariances(confusion: FloatArray) -> tuple[float, float, float]:
    """Return covariance of labels and predictions, variance of each, all times n squared."""
    truths, predicted, total = confusion.sum(axis=1), confusion.sum(axis=0), confusion.sum()
    shared = np.trace(confusion) * total - truths @ predicted
    return (
        float(shared),
        float(total**2 - truths @ truths),
        float(total**2 - predicted @ predicted),
    )
