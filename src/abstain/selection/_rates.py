"""Class-conditional rates of the kept examples: sensitivity, specificity.

They are what screening guidelines ask for, and what label shift leaves alone: the class
proportions are not in them.
"""

import numpy as np

from abstain._inputs import IntArray, Mask
from abstain._kernels.confusion import expected_confusion
from abstain.summaries import Summary

__all__ = ["RATES", "expected_rate"]

#: The column whose recall each rate is.
RATES = {"sensitivity": 1, "specificity": 0}


def expected_rate(name: str, summary: Summary, prediction: IntArray, kept: Mask) -> float:
    """Estimate the sensitivity or specificity on what is kept without labels.

    Parameters
    ----------
    name : {"sensitivity", "specificity"}
        The share of right predictions among the positives, or among the negatives.
    summary : Summary
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
