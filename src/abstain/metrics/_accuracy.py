"""Accuracy, error rate and other shares of the confusion matrix, and Matthews correlation.

Accuracy is the metric for which the paper's framework gives back the classical rule: withhold
the smallest maximum probability.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain.metrics._base import Decision
from abstain.metrics._confusion import BaseConfusionMetric


class Accuracy(BaseConfusionMetric):
    r"""Accuracy, the share of examples whose class is predicted right.

    Higher is better, in [0, 1].

    Parameters
    ----------
    solver : {"joint", "marginal"}
        How the examples to withhold are chosen; for accuracy both give the same.

    Notes
    -----
    .. math:: \sum_i C_{ii} / \sum_{ij} C_{ij}

    Examples
    --------
    >>> from abstain.metrics import Accuracy
    >>> Accuracy().expected([[0.9, 0.1], [0.4, 0.6]])
    0.75
    """

    value_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    head: ClassVar[str] = "accuracy"
    summary: ClassVar[str] = "share of examples predicted right"

    def value(self, confusion: FloatArray) -> float:
        """Return the accuracy of a confusion matrix."""
        total = confusion.sum()
        return float(np.trace(confusion) / total) if total > 0 else float("nan")

    def value_of(
        self, codes: IntArray, prediction: IntArray, weight: FloatArray | None, n_classes: int
    ) -> float:
        """Return the share of right predictions, for which no matrix is needed."""
        right = codes == prediction
        total = len(codes) if weight is None else weight.sum()
        if not total > 0:
            return float("nan")
        share = float((np.count_nonzero(right) if weight is None else weight @ right) / total)
        return share if self.greater_is_better else 1 - share

    def gradient(self, confusion: FloatArray) -> FloatArray:
        """Return the derivative of accuracy by each entry of C."""
        total = confusion.sum()
        if total <= 0:
            return np.zeros_like(confusion)
        return np.asarray((np.eye(len(confusion)) - np.trace(confusion) / total) / total)

    def resolved(self, decision: Decision) -> Decision:
        """Return argmax for ``"auto"``: for accuracy nothing is better."""
        return "argmax" if decision == "auto" else decision


class ErrorRate(Accuracy):
    """Error rate, the share of examples whose class is predicted wrong.

    Lower is better, in [0, 1].

    Parameters
    ----------
    solver : {"joint", "marginal"}
        How the examples to withhold are chosen; for the error rate both give the same.

    Notes
    -----
    One minus accuracy.

    Examples
    --------
    >>> from abstain.metrics import ErrorRate
    >>> ErrorRate().expected([[0.9, 0.1], [0.4, 0.6]])
    0.25
    """

    greater_is_better = False
    head: ClassVar[str] = "error-rate"
    summary: ClassVar[str] = "share of examples predicted wrong (lower is better)"

    def value(self, confusion: FloatArray) -> float:
        """Return the error rate of a confusion matrix."""
        return 1 - super().value(confusion)

    def gradient(self, confusion: FloatArray) -> FloatArray:
        """Return the derivative of the error rate by each entry of C."""
        return -super().gradient(confusion)


class BalancedAccuracy(BaseConfusionMetric):
    r"""Balanced accuracy, the mean over classes of the share predicted right.

    Higher is better, in [0, 1].

    Parameters
    ----------
    solver : {"joint", "marginal"}
        How the examples to withhold are chosen.

    Notes
    -----
    The mean of :math:`C_{ii} / \sum_j C_{ij}` over the classes i that occur, as in
    scikit-learn's ``balanced_accuracy_score``.

    Examples
    --------
    >>> from abstain.metrics import BalancedAccuracy
    >>> BalancedAccuracy().observed([0, 0, 0, 1], [0.1, 0.2, 0.7, 0.9])
    0.8333
    """

    value_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    head: ClassVar[str] = "balanced-accuracy"
    summary: ClassVar[str] = "mean over classes of the share predicted right, for rare classes"

    def value(self, confusion: FloatArray) -> float:
        """Return the balanced accuracy of a confusion matrix."""
        truths = confusion.sum(axis=1)
        there = truths > 0
        if not there.any():
            return float("nan")
        return float(np.mean(np.diag(confusion)[there] / truths[there]))

    def gradient(self, confusion: FloatArray) -> FloatArray:
        """Return the derivative of balanced accuracy by each entry of C."""
        truths = confusion.sum(axis=1)
        there = truths > 0
        safe = np.where(there, truths, 1.0)
        recall = np.diag(confusion) / safe
        slope = (np.eye(len(confusion)) - recall[:, None]) / safe[:, None]
        slope[~there] = 0.0
        return slope / max(int(np.count_nonzero(there)), 1)


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


# The cell that is counted, and the cells that it is a share of: [true class, predicted class].
_SHARES = {
    "sensitivity": ((1, 1), [[0, 0], [1, 1]]),
    "specificity": ((0, 0), [[1, 1], [0, 0]]),
    "ppv": ((1, 1), [[0, 1], [0, 1]]),
    "npv": ((0, 0), [[1, 0], [1, 0]]),
    "missed": ((1, 0), [[1, 1], [1, 1]]),
}
SHARES = (*_SHARES,)


class CellShare(BaseConfusionMetric):
    """Sensitivity, specificity, predictive values, or the share of rows that are missed positives.

    Of predictions as they are made, at whatever threshold that is; in [0, 1]. All but the missed
    are better higher.

    Parameters
    ----------
    share : {"sensitivity", "specificity", "ppv", "npv", "missed"}
        Which.
    """

    value_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    binary_only: ClassVar[bool] = True
    of_positive = True

    def __init__(self, share: str) -> None:
        self.share = share
        super().__init__()

    @property
    def name(self) -> str:
        """What share it is."""
        return self.share

    def value(self, confusion: FloatArray) -> float:
        """Return the share; NaN where there is nothing to have a share of."""
        return float(self._values([confusion])[0])

    def rows(self, codes: IntArray, prediction: IntArray) -> tuple[Mask, Mask]:
        """Return which rows are counted, and which they are a share of."""
        (true, predicted), among = _SHARES[self.share]
        counted: Mask = (codes == true) & (prediction == predicted)
        return counted, np.array(among, dtype=np.bool_)[codes, prediction]

    def _values(self, confusions: Iterable[FloatArray]) -> FloatArray:
        cell, among = _SHARES[self.share]
        matrices = np.stack([*confusions])
        whole = (matrices * np.array(among)).sum(axis=(1, 2))
        found: FloatArray = np.full(len(whole), np.nan)
        np.divide(matrices[:, *cell], whole, out=found, where=whole > 0)
        return found
