"""Random numbers by counter: one for each (seed, draw, example), in any order of the work.

The bits are those of SplitMix64 (Steele, Lea and Flood, 2014), whose state is a plain counter.
"""

import math

import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels._jit import compiled

__all__ = ["binomial", "child_key", "draw_key", "row_numbers", "uniform"]

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
def uniform(key: np.uint64, counter: int) -> float:
    """Return a number in [0, 1) for one counter of one key."""
    bits = _mixed(key + np.uint64(counter) * np.uint64(0x9E3779B97F4A7C15))
    return float(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def child_key(key: np.uint64, index: int) -> np.uint64:
    """Return the key of one of the things a key stands for."""
    return _mixed(key + np.uint64(index) * np.uint64(0xD1342543DE82EF95))


@compiled
def draw_key(seed: int, draw: int) -> np.uint64:
    """Return the key of one draw."""
    return child_key(_mixed(np.uint64(seed)), draw)


@compiled
def row_numbers(rows: FloatArray, seed: int) -> FloatArray:
    """Return a number in [0, 1) for each row by its entries alone: equal rows share theirs."""
    bits = rows.view(np.uint64)
    numbers = np.empty(len(rows))
    for x in range(len(rows)):
        key = draw_key(seed, 0)
        for entry in bits[x]:
            key = _mixed(key ^ entry)
        numbers[x] = uniform(key, 1)
    return numbers


@compiled
def binomial(count: float, p: float, key: np.uint64) -> float:
    """Return a binomial count: summed when few, inverted when rare, normal when many."""
    if p <= 0.0 or p >= 1.0:
        return count if p >= 1.0 else 0.0
    if count <= FEW:
        total = 0.0
        for i in range(int(count)):
            total += 1.0 if uniform(key, i + 1) < p else 0.0
        return total
    rare = min(p, 1.0 - p)
    if count * rare >= MANY:
        # Box and Muller: two uniforms, one normal variable.
        radius = math.sqrt(-2.0 * math.log(1.0 - uniform(key, 1)))
        normal = radius * math.cos(2.0 * math.pi * uniform(key, 2))
        near = count * rare + normal * math.sqrt(count * rare * (1.0 - rare))
        drawn = min(max(math.floor(near + 0.5) * 1.0, 0.0), count)
    else:
        drawn = _inverted(count, rare, uniform(key, 1))
    return drawn if p <= 0.5 else count - drawn


@compiled
def _inverted(count: float, p: float, u: float) -> float:
    """Return the binomial count at which the distribution function passes ``u``."""
    chance = math.exp(count * math.log1p(-p))
    odds = p / (1.0 - p)
    drawn = 0.0
    while u > chance and drawn < count:
        u -= chance
        drawn += 1.0
        chance *= odds * (count - drawn + 1.0) / drawn
    return drawn
