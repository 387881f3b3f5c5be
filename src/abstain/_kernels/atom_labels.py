"""Labels drawn for atoms, by a random number that depends on seed, draw and atom alone.

A counter in place of a stream makes every draw the same on any number of threads.
"""

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray
from abstain._kernels._jit import compiled, compiled_parallel
from abstain._kernels.counter_random import binomial, child_key, draw_key, uniform

__all__ = ["draw_counts", "drawn_positives"]


@compiled
def _positives_of_atom(weight: float, p: float, key: np.uint64, atom: int) -> float:
    """Return the positive mass of an atom: one label per unit of weight, one for the rest."""
    whole = math.floor(weight)
    mass = 0.0
    if whole == 1.0 and weight == 1.0:
        return 1.0 if uniform(key, atom) < p else 0.0
    own = child_key(key, atom)
    if whole > 0:
        mass = binomial(whole, p, own)
    rest = weight - whole
    if rest > 0 and uniform(own, 0) < p:
        mass += rest
    return mass


@compiled
def draw_counts(
    weight: FloatArray, p: FloatArray, unit: bool, key: np.uint64, positive: NDArray[Any]
) -> None:
    """Fill in the positive mass of each atom in one draw; a faster loop if all weights are 1."""
    if unit:
        for i in range(len(p)):
            positive[i] = 1 if uniform(key, i) < p[i] else 0
        return
    for i in range(len(p)):
        positive[i] = _positives_of_atom(weight[i], p[i], key, i)


@compiled_parallel
def drawn_positives(
    weight: FloatArray, p: FloatArray, first: int, n_draws: int, seed: int
) -> FloatArray:
    """Return the positive mass of each atom in some draws, of shape (n_draws, n_atoms)."""
    positive = np.empty((n_draws, len(p)))
    unit = bool((weight == 1.0).all())
    for draw in numba.prange(n_draws):
        key = draw_key(seed, first + draw)
        draw_counts(weight, p, unit, key, positive[draw])
    return positive
