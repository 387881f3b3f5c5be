"""Bounded abstention (the paper's Section 3): withhold at most so much.

A budget is a fraction of the examples, or a count: what reviewers can look at in a day.
"""

import numpy as np

from abstain._inputs import FloatArray, check_budget

__all__ = ["budget_capacity"]


def budget_capacity(budget: float, n_rows: int, sample_weight: FloatArray | None = None) -> float:
    """Return the largest weight that a budget allows to withhold.

    Parameters
    ----------
    budget : float or int
        The largest fraction that may be withheld, in [0, 1), where it is a float; the largest
        count where it is an int other than 1, which could be either and is an error.
    n_rows : int
        How many rows there are.
    sample_weight : ndarray of shape (n_rows,), optional
        How much each row counts.

    Returns
    -------
    float
        ``floor(budget * n_rows)`` for unit weights, ``budget`` times the total weight otherwise.
        A count is returned as it is, except that one row is always left to predict.

    Examples
    --------
    >>> from abstain.selection import budget_capacity
    >>> budget_capacity(0.15, 50), budget_capacity(200, 5000), budget_capacity(200, 120)
    (7.0, 200.0, 119.0)
    """
    amount = check_budget(budget)
    if isinstance(amount, int):
        if sample_weight is None:
            return float(min(amount, n_rows - 1))
        present = sample_weight[sample_weight > 0]
        return float(min(float(amount), present.sum() - present.min()))
    if sample_weight is None:
        return float(int(amount * n_rows))
    return float(amount * np.sum(sample_weight))
