"""Where to put a threshold on a score so that what reaches it fits a capacity."""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray, whole_rows
from abstain.summaries import WEIGHT_TOLERANCE

__all__ = ["score_threshold"]


def score_threshold(
    score: FloatArray, capacity: float, sample_weight: FloatArray | None = None
) -> float:
    """Return the lowest threshold such that the rows at or above it fit the capacity.

    Rows with equal scores stay together, so the weight at or above the threshold may be less
    than the capacity, never more than by rounding. Infinity when not even the highest score fits.
    """
    if sample_weight is None:
        return _unit_threshold(score, whole_rows(min(capacity, len(score))))
    order = np.argsort(-score, kind="stable")
    ordered = score[order]
    taken = np.cumsum(sample_weight[order])
    last_of_tie = np.append(ordered[1:] != ordered[:-1], True)
    fits = last_of_tie & (taken <= capacity + WEIGHT_TOLERANCE * taken[-1])
    return float(ordered[np.flatnonzero(fits)[-1]]) if fits.any() else np.inf


def _unit_threshold(score: FloatArray, count: int) -> float:
    n = len(score)
    if count <= 0:
        return np.inf
    if count >= n:
        return float(score.min())
    threshold = np.partition(score, n - count)[n - count]
    if np.count_nonzero(score >= threshold) <= count:
        return float(threshold)
    above = score[score > threshold]
    return float(above.min()) if above.size else np.inf
