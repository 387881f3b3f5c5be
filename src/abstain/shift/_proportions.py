"""The class proportions of some rows as estimated from them, beside those in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from abstain._inputs import FloatArray
from abstain._numerics import plain

# Proportions moved if so few of those that the data leave open are as far from the estimate as
# those in use, and the two differ by so much in all: less makes no difference to a decision.
_SELDOM = 0.05
_LEAST = 0.02


@dataclass(frozen=True, eq=False)
class Proportions:
    """Class proportions of some rows, estimated without labels.

    Attributes
    ----------
    values : ndarray of shape (n_classes,)
        The estimate.
    interval : ndarray of shape (n_classes, 2)
        Where each lies, as often as ``level`` says.
    level : float
        How often.
    moved : bool
        Whether they differ from those that the probabilities are adapted to by more than chance
        explains, and by enough to matter.
    """

    values: FloatArray
    interval: FloatArray
    level: float
    moved: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the proportions as plain data."""
        return dict(plain(vars(self)))


def drawn_proportions(
    ratios: FloatArray, source: FloatArray, used: FloatArray, level: float
) -> Proportions:
    """Return the proportions that ratios to the source's stand for.

    Parameters
    ----------
    ratios : ndarray of shape (1 + n_draws, n_classes)
        As estimated, and such as the data leave open.
    source : ndarray of shape (n_classes,)
        Class proportions of the validation data.
    used : ndarray of shape (n_classes,)
        The ratios that the probabilities are adapted by.
    level : float
    """
    found = ratios * source
    found = found / found.sum(axis=1, keepdims=True)
    values, draws = found[0], found[1:]
    tail = (1 - level) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    stored = used * source / (used * source).sum()
    apart = 0.5 * float(np.abs(stored - values).sum())
    scatter = 0.5 * np.abs(draws - values).sum(axis=1)
    moved = bool(apart >= _LEAST and (scatter >= apart).mean() < _SELDOM)
    interval = np.column_stack([np.minimum(low, values), np.maximum(high, values)])
    return Proportions(values, interval, level, moved)
