"""Bounded abstention (the paper's Section 3): withhold at most a fraction of the examples."""

from abstain._validation import FloatArray, check_budget

__all__ = ["budget_capacity"]


def budget_capacity(budget: float, n_rows: int, sample_weight: FloatArray | None = None) -> float:
    """Return the largest weight that a budget allows to withhold.

    Parameters
    ----------
    budget : float
        The largest fraction that may be withheld, in [0, 1).
    n_rows : int
        How many rows there are.
    sample_weight : ndarray of shape (n_rows,), optional
        How much each row counts.

    Returns
    -------
    float
        ``floor(budget * n_rows)`` for unit weights, ``budget`` times the total weight otherwise.
    """
    fraction = check_budget(budget)
    if sample_weight is None:
        return float(int(fraction * n_rows))
    return float(fraction * sample_weight.sum())
