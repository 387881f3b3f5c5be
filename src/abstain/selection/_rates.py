"""Class-conditional rates of the kept examples: sensitivity, specificity.

They are what screening guidelines ask for, and what label shift leaves alone: the class
proportions are not in them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain._kernels.confusion import expected_confusion
from abstain.metrics import BaseConfusionMetric
from abstain.summaries import BatchSummary

__all__ = ["RATES", "Rate", "expected_rate"]

#: The column whose recall each rate is.
RATES = {"sensitivity": 1, "specificity": 0}


def expected_rate(name: str, summary: BatchSummary, prediction: IntArray, kept: Mask) -> float:
    """Estimate the sensitivity or specificity on what is kept without labels.

    Parameters
    ----------
    name : {"sensitivity", "specificity"}
        The share of right predictions among the positives, or among the negatives.
    summary : BatchSummary
        The batch, of two classes.
    prediction : ndarray of shape (size,)
        Predicted columns.
    kept : ndarray of bool, shape (size,)
        What is not withheld.

    Returns
    -------
    float
        NaN where none of that class is expected among the kept.
    """
    weight = np.empty(0) if summary.weight is None else summary.weight
    confusion = expected_confusion(summary.proba, prediction, weight, kept)
    row = confusion[RATES[name]]
    return float(row[RATES[name]] / row.sum()) if row.sum() > 0 else float("nan")


class Rate(BaseConfusionMetric):
    """Sensitivity or specificity of predictions as they are, to say how sure it is.

    Parameters
    ----------
    rate : {"sensitivity", "specificity"}
    """

    value_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    binary_only: ClassVar[bool] = True
    of_positive = True

    def __init__(self, rate: str) -> None:
        self.rate = rate
        super().__init__()

    @property
    def name(self) -> str:
        """Sensitivity or specificity."""
        return self.rate

    def value(self, confusion: FloatArray) -> float:
        """Return the share of right predictions of the class; NaN where there is none of it."""
        own = RATES[self.rate]
        total = confusion[own].sum()
        return float(confusion[own, own] / total) if total > 0 else float("nan")
