"""Labels drawn for atoms.

Every draw has a generator of its own, made of the seed and its number, so a draw is the same on
any number of threads, alone or among others.
"""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels._pieces import over_rows

# This many labels are drawn at a time.
_LABELS_AT_A_TIME = 2**18
# From this variance on a sum of labels is as good as normal, one of thousands that are summed.
_NEARLY_NORMAL = 9.0
_NEARLY_WHOLE = 1e-9


def generator(seed: int, draw: int) -> np.random.Generator:
    """Return the generator of one draw."""
    return np.random.default_rng([seed % 2**64, draw])


def labels_of(weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how many whole labels there are to each weight, and what is left of it.

    A weight that is whole but for the rounding of sums is whole, on any processor.
    """
    whole = np.floor(weight + _NEARLY_WHOLE)
    rest = weight - whole
    return whole, np.where(rest > _NEARLY_WHOLE, rest, 0.0)


def drawn_positives(
    weight: FloatArray, p: FloatArray, first: int, n_draws: int, seed: int
) -> FloatArray:
    """Return the positive mass of each atom in some draws, of shape (n_draws, n_atoms).

    One label per unit of weight, one for the rest.
    """
    positive = np.empty((n_draws, len(p)))
    whole, rest = labels_of(weight)
    part = bool(rest.any())
    unit, n_labels = not part and bool((whole == 1.0).all()), whole.astype(np.int64)

    def fill(begin: int, end: int) -> None:
        for draw in range(begin, end):
            rng = generator(seed, first + draw)
            if unit:
                positive[draw] = rng.random(len(p)) < p
                continue
            positive[draw] = rng.binomial(n_labels, p)
            if part:
                positive[draw] += rest * (rng.random(len(p)) < p)

    over_rows(fill, n_draws, size=max(1, _LABELS_AT_A_TIME // max(len(p), 1)))
    return positive


def drawn_masses(weight: FloatArray, p: FloatArray, seed: int) -> FloatArray:
    """Return the positive mass of each atom, drawn once for each row of probabilities.

    Parameters
    ----------
    weight : ndarray of shape (n_atoms,)
        One label per unit of weight, one for the rest.
    p : ndarray of shape (n_draws, n_atoms)
        How probable a positive label is.
    seed : int

    Returns
    -------
    ndarray of shape (n_draws, n_atoms)
        Sums of many labels are drawn as normal variables.
    """
    rng = np.random.default_rng(seed)
    whole, rest = labels_of(weight)
    if (whole == 1.0).all() and not rest.any():
        return (rng.random(p.shape) < p).astype(np.float64)
    typical = p[len(p) // 2]
    heavy = whole * typical * (1 - typical) >= _NEARLY_NORMAL
    drawn = np.empty(p.shape)
    drawn[:, heavy] = _normal_sums(weight[heavy], p[:, heavy], rng)
    few = np.flatnonzero(~heavy)
    drawn[:, few] = rng.binomial(whole[few].astype(np.int64), p[:, few])
    part = few[rest[few] > 0]
    drawn[:, part] += rest[part] * (rng.random((len(p), len(part))) < p[:, part])
    return drawn


def _normal_sums(weight: FloatArray, p: FloatArray, rng: np.random.Generator) -> FloatArray:
    mean = weight * p
    drawn = rng.standard_normal(p.shape)
    drawn *= np.sqrt(mean * (1 - p))
    drawn += mean
    return np.clip(drawn, 0.0, weight, out=drawn)
