"""Bins of a probability: of equal width, or of equal mass."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from abstain._inputs import FloatArray, IntArray, check_whole

__all__ = ["Strategy", "bin_numbers"]

Strategy = Literal["width", "mass"]

_MOST_BINS = 1_000_000


def bin_numbers(
    proba: FloatArray, weight: FloatArray, *, n_bins: int, strategy: Strategy
) -> IntArray:
    """Return the bin of each row.

    Rows with the same probability are in the same bin. A row is put where the middle of its
    mass lies, so weight 2 equals two rows.
    """
    check_whole(n_bins, name="n_bins", most=_MOST_BINS)
    if strategy not in get_args(Strategy):
        raise ValueError(f'`strategy` must be "width" or "mass"; got {strategy!r}.')
    if strategy == "width":
        return _numbered(proba, n_bins)
    distinct, inverse = np.unique(proba, return_inverse=True)
    mass = np.bincount(inverse, weights=weight, minlength=len(distinct))
    # Rounded, so that a row on the edge of a bin does not depend on how weights were summed.
    middle = np.round((np.cumsum(mass) - mass / 2) / mass.sum(), 12)
    return _numbered(middle[inverse], n_bins)


def _numbered(place: FloatArray, n_bins: int) -> IntArray:
    """Return which of equally wide bins of [0, 1] a place is in; 1 is in the last."""
    numbers: IntArray = np.minimum((place * n_bins).astype(np.intp), n_bins - 1)
    return numbers
