"""What is kept of rows of more than two classes, picked where they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from abstain.summaries import SAMPLE_SEED, STEPS, Sample, most_rows, n_moments

__all__ = ["sampled"]


def sampled(xp: Any, proba: Any) -> Sample:
    """Return the sample of rows, with the arrays of NumPy or CuPy; see ``summaries.Sample``."""
    n, n_classes = proba.shape
    numbers, most = _numbers(xp, proba), most_rows(n_classes)
    edge, kept = np.inf, slice(None)
    if n > most:
        edge = float(xp.partition(numbers, most)[most])
        kept = xp.flatnonzero(numbers < edge)
    host = _to_host(xp, numbers[kept]), _to_host(xp, proba[kept])
    return Sample.gathered(*host, edge, _moments(xp, proba))


def _numbers(xp: Any, proba: Any) -> Any:
    """Return the number of each row, as ``row_numbers`` does on the host."""
    bits = xp.full(len(proba), SAMPLE_SEED, dtype=xp.uint64)
    for column in range(proba.shape[1]):
        own = xp.ascontiguousarray(proba[:, column]).view(xp.uint64)
        bits = _mixed((bits ^ own) + np.uint64(0x9E3779B97F4A7C15))
    return (bits >> np.uint64(11)) * 2.0**-53


def _mixed(state: Any) -> Any:
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def _moments(xp: Any, proba: Any) -> Any:
    """Return the sums of the moments of each group of rows."""
    n, n_classes = proba.shape
    steps = xp.rint(proba * STEPS)
    column = xp.argmax(proba, axis=1)
    group = column + n_classes * (steps[xp.arange(n), column] == STEPS)
    moments = np.zeros((1, 2 * n_classes, n_moments(n_classes)), dtype=np.int64)
    upper = np.triu_indices(n_classes)
    for k in range(2 * n_classes):
        own = steps[group == k]
        moments[0, k, 0] = len(own)
        # Whole numbers, whose sums stay below 2**53 and so are exact.
        if len(own) and moments.shape[2] > n_classes + 1:
            moments[0, k, 1:] = _to_host(xp, own.T @ own)[upper]
        elif len(own):
            moments[0, k, 1:] = _to_host(xp, own.sum(axis=0))
    return moments


def _to_host(xp: Any, array: Any) -> Any:
    return array if xp is np else xp.asnumpy(array)
