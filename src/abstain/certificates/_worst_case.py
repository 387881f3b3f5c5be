"""The worst value of a confusion metric over ranges of class proportions and of rates.

With class proportions q and rates r the kept examples have the confusion matrix q_i r_ij; label
shift moves q alone (the paper's Section 2), and labels bound r.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray
from abstain._numerics import clopper_pearson
from abstain.metrics import BaseConfusionMetric

PriorRange = tuple[FloatArray, FloatArray]

_MOST_ROUNDS = 100


def check_prior_range(
    prior_range: tuple[ArrayLike, ArrayLike] | None, n_classes: int
) -> PriorRange:
    """Return the lowest and the highest proportion of each class.

    Parameters
    ----------
    prior_range : pair or None
        Two numbers for the positive class of two, or two arrays with one number per class; all
        proportions when None.
    n_classes : int
        How many classes there are.
    """
    if prior_range is None:
        return np.zeros(n_classes), np.ones(n_classes)
    try:
        low, high = (np.asarray(side, dtype=np.float64) for side in prior_range)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`prior_range` must be a pair, the lowest and the highest proportions; "
            f"got {prior_range!r}."
        ) from error
    if low.ndim == 0 and high.ndim == 0 and n_classes == 2:
        low, high = np.array([1 - high, low]), np.array([1 - low, high])
    if low.shape != (n_classes,) or high.shape != (n_classes,):
        raise ValueError(
            f"`prior_range` must have a number for each of the {n_classes} classes on both sides; "
            f"got shapes {low.shape} and {high.shape}."
        )
    if not ((low >= 0) & (low <= high) & (high <= 1)).all():
        raise ValueError(
            f"`prior_range` must be within [0, 1], low before high; got {prior_range!r}."
        )
    if low.sum() > 1 + 1e-9 or high.sum() < 1 - 1e-9:
        raise ValueError(f"`prior_range` holds no proportions that sum to 1; got {prior_range!r}.")
    return low, high


def worst_case(
    metric: BaseConfusionMetric, counts: FloatArray, error: float, prior_range: PriorRange
) -> float:
    r"""Return the worst value of a metric that the counts leave possible.

    Parameters
    ----------
    metric : BaseConfusionMetric
        The metric.
    counts : ndarray of shape (n_classes, n_classes + 1)
        Examples of each true class by what was done with them, the last column withheld.
    error : float
        The chance that the answer is allowed to be too good.
    prior_range : pair of ndarray
        Lowest and highest proportion of each class.

    Returns
    -------
    float

    Notes
    -----
    Each rate has a two-sided Clopper-Pearson interval, all of them right at once with the chance
    1 - error. From a matrix C the next is the one that the gradient at C calls worst, an end of
    each interval and a vertex of the priors. For a ratio of linear functions that descends to
    the worst of all; for other metrics it is started from several places.
    """
    n_classes = len(counts)
    n = counts.sum(axis=1, keepdims=True)
    low, high = clopper_pearson(counts[:, :-1], n, error / (2 * n_classes**2))
    sign = 1.0 if metric.greater_is_better else -1.0
    centre = np.clip(0.5 * sum(prior_range), 0, 1)
    starts = [centre] + [_vertex(-np.eye(n_classes)[i], prior_range) for i in range(n_classes)]
    values = [
        _descended(metric, sign, q[:, None] * 0.5 * (low + high), low, high, prior_range)
        for q in starts
    ]
    if np.isnan(values).any():
        worst = metric.value_range[0 if metric.greater_is_better else 1]
        return float(worst)
    return float(sign * min(sign * value for value in values))


def _descended(
    metric: BaseConfusionMetric,
    sign: float,
    confusion: FloatArray,
    low: FloatArray,
    high: FloatArray,
    prior_range: PriorRange,
) -> float:
    value = metric.value(confusion)
    for _ in range(_MOST_ROUNDS):
        slope = sign * metric.gradient(confusion)
        rates = np.where(slope > 0, low, high)
        priors = _vertex((slope * rates).sum(axis=1), prior_range)
        candidate = priors[:, None] * rates
        next_value = metric.value(candidate)
        if np.isnan(next_value):
            return next_value
        if not sign * next_value < sign * value - 1e-12:
            return value
        confusion, value = candidate, next_value
    return value


def _vertex(slope: FloatArray, prior_range: PriorRange) -> FloatArray:
    """Return the proportions in the range for which ``slope @ priors`` is least."""
    low, high = prior_range
    priors = low.copy()
    for i in np.argsort(slope, kind="stable"):
        priors[i] += min(high[i] - low[i], 1 - priors.sum())
    return priors
