"""Labels drawn for atoms, by a random number that depends on seed, draw and atom alone.

A counter in place of a stream makes every draw the same on any number of threads.
"""

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from abstain._kernels._jit import compiled, compiled_parallel
from abstain._validation import FloatArray

__all__ = ["draw_counts", "draw_key", "drawn_positives"]

# Up to this many examples a binomial count is the sum of single labels.
FEW = 16
# From this many expected successes and failures on, it is a rounded normal variable.
MANY = 30.0


@compiled
def _mixed(state: np.uint64) -> np.uint64:
    """Return 64 well-mixed bits of a counter (the finaliser of SplitMix64)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@compiled
def _uniform(key: np.uint64, counter: int) -> float:
    """Return a number in [0, 1) for one counter of one key."""
    bits = _mixed(key + np.uint64(counter) * np.uint64(0x9E3779B97F4A7C15))
    return float(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def draw_key(seed: int, draw: int) -> np.uint64:
    """Return the key of one draw."""
    return _mixed(_mixed(np.uint64(seed)) + np.uint64(draw) * np.uint64(0xD1342543DE82EF95))


@compiled
def _positives_of_atom(weight: float, p: float, key: np.uint64, atom: int) -> float:
    """Return the positive mass of an atom: one label per unit of weight, one for the rest."""
    whole = math.floor(weight)
    mass = 0.0
    if whole == 1.0 and weight == 1.0:
        return 1.0 if _uniform(key, atom) < p else 0.0
    own = _mixed(key + np.uint64(atom) * np.uint64(0x9E3779B97F4A7C15))
    if whole > 0:
        mass = _binomial(whole, p, own)
    rest = weight - whole
    if rest > 0 and _uniform(own, 0) < p:
        mass += rest
    return mass


@compiled
def _binomial(count: float, p: float, key: np.uint64) -> float:
    """Return a binomial count: summed when few, inverted when rare, normal when many."""
    if p <= 0.0 or p >= 1.0:
        return count if p >= 1.0 else 0.0
    if count <= FEW:
        total = 0.0
        for i in range(int(count)):
            total += 1.0 if _uniform(key, i + 1) < p else 0.0
        return total
    rare = min(p, 1.0 - p)
    if count * rare >= MANY:
        # Box and Muller: two uniforms, one normal variable.
        radius = math.sqrt(-2.0 * math.log(1.0 - _uniform(key, 1)))
        normal = radius * math.cos(2.0 * math.pi * _uniform(key, 2))
        near = count * rare + normal * math.sqrt(count * rare * (1.0 - rare))
        drawn = min(max(math.floor(near + 0.5) * 1.0, 0.0), count)
    else:
        drawn = _inverted(count, rare, _uniform(key, 1))
    return drawn if p <= 0.5 else count - drawn


@compiled
def _inverted(count: float, p: float, uniform: float) -> float:
    """Return the binomial count at which the distribution function passes ``uniform``."""
    chance = math.exp(count * math.log1p(-p))
    odds = p / (1.0 - p)
    drawn = 0.0
    while uniform > chance and drawn < count:
        uniform -= chance
        drawn += 1.0
        chance *= odds * (count - drawn + 1.0) / drawn
    return drawn


@compiled
def draw_counts(
    weight: FloatArray, p: FloatArray, unit: bool, key: np.uint64, positive: NDArray[Any]
) -> None:
    """Fill in the positive mass of each atom in one draw; a faster loop if all weights are 1."""
    if unit:
        for i in range(len(p)):
            positive[i] = 1 if _uniform(key, i) < p[i] else 0
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
