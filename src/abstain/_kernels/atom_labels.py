"""Labels drawn for atoms.

Every draw has a generator of its own, made of the seed and its number, so a draw is the same on
any number of threads, alone or among others.
"""

import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels._threads import over_rows

__all__ = ["drawn_masses", "drawn_positives", "generator"]

# This many labels are drawn at a time.
_LABELS_AT_A_TIME = 2**18
# From this variance on a sum of labels is as good as normal, one of thousands that are summed.
_NEARLY_NORMAL = 9.0


def generator(seed: int, draw: int) -> np.random.Generator:
    """Return the generator of one draw."""
    return np.random.default_rng([seed % 2**64, draw])


def drawn_positives(
    weight: FloatArray, p: FloatArray, first: int, n_draws: int, seed: int
) -> FloatArray:
    """Return the positive mass of each atom in some draws, of shape (n_draws, n_atoms).

    One label per unit of weight, one for the rest.
    """
    positive = np.empty((n_draws, len(p)))
    whole = np.floor(weight).astype(np.int64)
    rest = weight - whole
    unit, part = bool((weight == 1.0).all()), bool(rest.any())

    def fill(begin: int, end: int) -> None:
        for draw in range(begin, end):
            rng = generator(seed, first + draw)
            if unit:
                positive[draw] = rng.random(len(p)) < p
                continue
            positive[draw] = rng.binomial(whole, p)
            if part:
                positive[draw] += rest * (rng.random(len(p)) < p)

    over_rows(fill, n_draws, size=max(1, _LABELS_AT_A_TIME // max(len(p), 1)))
    return positive


def drawn_masses(weight: FloatArray, positive: FloatArray, n_draws: int, seed: int) -> FloatArray:
    """Return the positive mass of heavy atoms in some draws, of shape (n_draws, n_atoms).

    Sums of many labels, drawn as normal variables; as binomial ones where they are not so many.
    """
    rng = np.random.default_rng(seed)
    p = np.clip(positive / weight, 0.0, 1.0)
    variance = weight * p * (1 - p)
    drawn = rng.standard_normal((n_draws, len(p)))
    drawn *= np.sqrt(variance)
    drawn += positive
    np.clip(drawn, 0.0, weight, out=drawn)
    few = np.flatnonzero(variance < _NEARLY_NORMAL)
    whole = np.maximum(np.rint(weight[few]), 1.0)
    counts = rng.binomial(whole.astype(np.int64), p[few], size=(n_draws, len(few)))
    drawn[:, few] = counts * (weight[few] / whole)
    return drawn
