"""Confusions of readers: checked as they are given, smoothed where they are measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray, float_array
from abstain.exceptions import ArgumentError, Way

# Cases of each class by which a reader is taken to be as readers are, and all readers to be right
# as often in each class and to err towards each other one alike.
_LIKE_OTHERS = 10.0
_LIKE_EACH = 2.0
_SUM_TOLERANCE = 1e-3


def checked_confusion(confusion: ArrayLike) -> FloatArray:
    matrix = float_array(confusion, "confusion")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise ArgumentError(
            f"`confusion` must be a square of two classes or more, rows true classes and columns "
            f"answers; got shape {matrix.shape}.",
            "confusion",
        )
    sums = matrix.sum(axis=1)
    off = ~(np.abs(sums - 1) <= _SUM_TOLERANCE) | ~(matrix >= 0).all(axis=1)
    if off.any():
        row = int(np.argmax(off))
        raise ArgumentError(
            f"`confusion` must have rows of chances that sum to 1; row {row} is "
            f"{matrix[row].round(3).tolist()} (sum {sums[row]:.4g}). Rows are true classes: "
            f"divide counts by the number of cases of the class, or use Reviewer.measured.",
            "confusion",
            ways=[Way("Reviewer.measured", python="Reviewer.measured")],
        )
    return np.asarray(matrix / sums[:, None])


def smoothing(cases: FloatArray, others: list[FloatArray]) -> FloatArray:
    """Return the cases by which a reader is taken to be as others are, and each class as another.

    Notes
    -----
    A Dirichlet prior: of each class two cases for each other class, by how often readers are right
    at all, wrong towards each alike; and with other readers ten cases of each class by what these
    do.
    """
    whole, n = sum(others, cases), len(cases)
    right = (np.trace(whole) + 1) / (whole.sum() + 2)
    # As many for each class that may be taken for it: of many, most errors are never seen.
    alike = _LIKE_EACH * (n - 1) * np.where(np.eye(n) > 0, right, (1 - right) / (n - 1))
    if not others:
        return np.asarray(alike)
    of_others = sum(others, alike)
    return np.asarray(_LIKE_OTHERS * of_others / of_others.sum(axis=1, keepdims=True))
