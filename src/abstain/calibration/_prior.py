"""The weak prior of calibrators: a few rows taken as if they had other labels.

Scores that separate few rows without an error would otherwise be stretched to certainty.
"""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray, IntArray, number

__all__ = ["PRIOR_ROWS", "check_prior_rows", "smoothed_targets"]

#: What is used when nothing is said: half a row of each of two classes.
PRIOR_ROWS = 1.0
_MOST_ROWS = 1e15


def check_prior_rows(prior_rows: float) -> float:
    """Return the number of rows the prior is worth, or raise."""
    rows = number(prior_rows, "prior_rows")
    if not 0 <= rows < np.inf:
        raise ValueError(f"`prior_rows` must be finite and at least 0; got {prior_rows!r}.")
    # More rows than anybody has weigh the same; their squares should be numbers.
    return min(rows, _MOST_ROWS)


def smoothed_targets(
    codes: IntArray, weight: FloatArray, n_classes: int, prior_rows: float
) -> FloatArray:
    """Return the distribution that the rows of each class aim at.

    Each class with examples hands at most ``prior_rows / n_classes`` of its rows to the others,
    and gets as much from each as it gives. The mean aim is therefore the class frequencies, and
    so is the mean probability of a calibrator with biases.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        True classes, as column numbers.
    weight : ndarray of shape (n,)
        How much each row counts.
    n_classes : int
        The number of columns.
    prior_rows : float
        How many rows the prior is worth; 0 for none.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        Rows sum to 1.

    Notes
    -----
    Classes c and d of ``N_c`` and ``N_d`` rows exchange ``a / (k - 1) / (1 + a / N_c + a / N_d)``
    with ``a = prior_rows / k`` and k the number of classes that have examples. Two classes of N
    rows and ``prior_rows=2`` give Platt's targets, (N + 1) / (N + 2).
    """
    share = check_prior_rows(prior_rows)
    counts = np.bincount(codes, weights=weight, minlength=n_classes).astype(np.float64)
    present = np.flatnonzero(counts > 0)
    targets = np.eye(n_classes)
    if share == 0 or len(present) < 2:
        return targets
    share /= len(present)
    rarity = share / counts[present]
    exchanged = share / (len(present) - 1) / (1 + rarity[:, None] + rarity)
    np.fill_diagonal(exchanged, 0.0)
    given = exchanged / counts[present, None]
    np.fill_diagonal(given, 1 - given.sum(axis=1))
    targets[np.ix_(present, present)] = given
    return targets
