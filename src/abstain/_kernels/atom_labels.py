"""Labels drawn for atoms, by a random number that depends on seed, draw and atom alone.

A counter in place of a stream makes every draw the same on any number of threads.
"""

import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels._threads import over_rows
from abstain._kernels.counter_random import (
    FEW,
    binomial,
    child_key,
    draw_key,
    steps,
    uniform,
    uniform_at,
)

__all__ = ["drawn_positives"]

# This many labels are drawn at a time.
_LABELS_AT_A_TIME = 16_384
# From this many binomial counts on, compiling what draws them pays.
_WORTH_COMPILING = 500_000


def drawn_positives(
    weight: FloatArray, p: FloatArray, first: int, n_draws: int, seed: int
) -> FloatArray:
    """Return the positive mass of each atom in some draws, of shape (n_draws, n_atoms).

    One label per unit of weight, one for the rest.
    """
    positive = np.empty((n_draws, len(p)))
    keys = draw_key(seed, np.arange(first, first + n_draws))
    unit = bool((weight == 1.0).all())
    fast = n_draws * int(np.count_nonzero(weight > FEW)) >= _WORTH_COMPILING
    far = steps(np.arange(len(p)))

    def fill(begin: int, end: int) -> None:
        if unit:
            positive[begin:end] = uniform_at(keys[begin:end, None] + far) < p
            return
        for draw in range(begin, end):
            positive[draw] = _positives(weight, p, keys[draw], fast)

    over_rows(fill, n_draws, size=max(1, _LABELS_AT_A_TIME // max(len(p), 1)))
    return positive


def _positives(weight: FloatArray, p: FloatArray, key: np.uint64, fast: bool) -> FloatArray:
    """Return the positive mass of each atom in one draw."""
    own = child_key(key, np.arange(len(p)))
    whole = np.floor(weight)
    rest = weight - whole
    mass = binomial(whole, p, own, fast=fast)
    some = np.flatnonzero(rest > 0)
    mass[some] += rest[some] * (uniform(own[some], 0) < p[some])
    # A single label takes the number of its atom in the draw, as where all weights are 1.
    single = np.flatnonzero(weight == 1.0)
    mass[single] = uniform(key, single) < p[single]
    return mass
