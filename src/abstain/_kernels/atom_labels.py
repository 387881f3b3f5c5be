"""Labels drawn for atoms, by a random number that depends on seed, draw and atom alone.

A counter in place of a stream makes every draw the same on any number of threads.
"""

import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels._threads import over_rows
from abstain._kernels.counter_random import binomial, child_key, draw_key, uniform

__all__ = ["drawn_positives"]

# Draws of this many labels are one piece of work.
_LABELS_AT_A_TIME = 16_384


def drawn_positives(
    weight: FloatArray, p: FloatArray, first: int, n_draws: int, seed: int
) -> FloatArray:
    """Return the positive mass of each atom in some draws, of shape (n_draws, n_atoms).

    One label per unit of weight, one for the rest.
    """
    positive = np.empty((n_draws, len(p)))
    unit = bool((weight == 1.0).all())
    counters = np.arange(len(p))
    keys = draw_key(seed, np.arange(first, first + n_draws))

    def fill(begin: int, end: int) -> None:
        if unit:
            positive[begin:end] = uniform(keys[begin:end, None], counters) < p
            return
        for draw in range(begin, end):
            positive[draw] = _positives(weight, p, keys[draw])

    over_rows(fill, n_draws, size=max(1, _LABELS_AT_A_TIME // max(len(p), 1)))
    return positive


def _positives(weight: FloatArray, p: FloatArray, key: np.uint64) -> FloatArray:
    """Return the positive mass of each atom in one draw."""
    atoms = np.arange(len(p))
    own = child_key(key, atoms)
    whole = np.floor(weight)
    rest = weight - whole
    mass = binomial(whole, p, own)
    some = np.flatnonzero(rest > 0)
    mass[some] += rest[some] * (uniform(own[some], 0) < p[some])
    # A single label takes the number of its atom in the draw, as where all weights are 1.
    single = np.flatnonzero(weight == 1.0)
    mass[single] = uniform(key, single) < p[single]
    return mass
