"""Class-conditional rates of the kept examples: sensitivity, specificity.

They are what screening guidelines ask for, and what label shift leaves alone: the class
proportions are not in them.
"""

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.confusion import expected_confusion
from abstain.regions import Mask

__all__ = ["RATES", "expected_rate"]

#: The column whose recall each rate is.
RATES = {"sensitivity": 1, "specificity": 0}


def expected_rate(
    name: str,
    proba: FloatArray,
    prediction: IntArray,
    kept: Mask,
    sample_weight: FloatArray | None = None,
) -> float:
    """Estimate the sensitivity or specificity on the kept rows without labels.

    Parameters
    ----------
    name : {"sensitivity", "specificity"}
        The share of right predictions among the positives, or among the negatives.
    proba : ndarray of shape (n, 2)
        Calibrated, adapted probabilities.
    prediction : ndarray of shape (n,)
        Predicted columns.
    kept : ndarray of bool, shape (n,)
        The rows that are not withheld.
    sample_weight : ndarray of shape (n,), optional
        How much each row counts.

    Returns
    -------
    float
        NaN where none of that class is expected among the kept.
    """
    weight = np.empty(0) if sample_weight is None else sample_weight
    confusion = expected_confusion(np.ascontiguousarray(proba), prediction, weight, kept)
    row = confusion[RATES[name]]
    return float(row[RATES[name]] / row.sum()) if row.sum() > 0 else float("nan")
