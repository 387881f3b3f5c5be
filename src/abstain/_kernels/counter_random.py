"""Random numbers by counter: one for each (seed, draw, example), in any order of the work.

The bits are those of SplitMix64 (Steele, Lea and Flood, 2014), whose state is a plain counter.
Keys and counters may be arrays, which then broadcast.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray
from abstain._kernels._columns import columns_of, rows_at_a_time
from abstain._kernels._jit import compiled
from abstain._kernels._threads import over_rows

__all__ = [
    "binomial",
    "child_key",
    "draw_key",
    "row_numbers",
    "steps",
    "uniform",
    "uniform_at",
]

#: Keys and counters: whole numbers modulo 2^64.
Bits = NDArray[np.uint64]

# Up to this many examples a binomial count is the sum of single labels.
FEW = 16
# From this many expected successes and failures on, it is a rounded normal variable.
MANY = 30.0

_COUNTER = np.uint64(0x9E3779B97F4A7C15)
_CHILD = np.uint64(0xD1342543DE82EF95)


def _mixed(state: Bits) -> Bits:
    """Return 64 well-mixed bits of a counter (the finaliser of SplitMix64), in its place."""
    shifted = state >> np.uint64(30)
    state ^= shifted
    state *= np.uint64(0xBF58476D1CE4E5B9)
    np.right_shift(state, np.uint64(27), out=shifted)
    state ^= shifted
    state *= np.uint64(0x94D049BB133111EB)
    np.right_shift(state, np.uint64(31), out=shifted)
    state ^= shifted
    return state


def steps(counter: Any) -> Bits:
    """Return how far counters lie from their key; for keys that share many counters."""
    return np.atleast_1d(counter).astype(np.uint64) * _COUNTER


def uniform_at(state: Bits) -> FloatArray:
    """Return a number in [0, 1) for each ``key + steps(counter)``, which is overwritten."""
    bits = _mixed(state)
    bits >>= np.uint64(11)
    return np.multiply(bits, 1.0 / 9007199254740992.0, dtype=np.float64)


def uniform(key: Any, counter: Any) -> FloatArray:
    """Return a number in [0, 1) for each counter of a key."""
    return uniform_at(key + steps(counter))


def child_key(key: Any, index: Any) -> Bits:
    """Return the key of some of the things a key stands for."""
    return _mixed(key + np.atleast_1d(index).astype(np.uint64) * _CHILD)


def draw_key(seed: int, draw: Any) -> Bits:
    """Return the key of a draw."""
    return child_key(_mixed(np.array([seed % 2**64], dtype=np.uint64)), draw)


def row_numbers(rows: FloatArray, seed: int) -> FloatArray:
    """Return a number in [0, 1) for each row by its entries alone: equal rows share theirs."""
    numbers = np.empty(len(rows))
    root = draw_key(seed, 0)

    def fill(begin: int, end: int) -> None:
        columns = columns_of(rows[begin:end]).view(np.uint64)
        keys = np.full(columns.shape[1], root)
        for column in columns:
            keys ^= column
            keys = _mixed(keys)
        numbers[begin:end] = uniform(keys, 1)[: end - begin]

    over_rows(fill, len(rows), size=rows_at_a_time(rows.shape[1]))
    return numbers


def _few_labels(count: FloatArray, p: FloatArray, key: Bits) -> FloatArray:
    """Return the sum of ``count`` labels of each key."""
    total = np.zeros(len(key))
    for i in range(int(count.max(initial=0.0))):
        more = np.flatnonzero(count > i)
        total[more] += uniform(key[more], i + 1) < p[more]
    return total


def binomial(count: FloatArray, p: FloatArray, key: Bits, *, fast: bool = False) -> FloatArray:
    """Return binomial counts: summed when few, inverted when rare, normal when many.

    ``fast`` compiles the part that NumPy is slow at, with the same result.
    """
    rare = np.minimum(p, 1.0 - p)
    drawn = np.zeros(len(key))
    few = (count <= FEW) & (rare > 0)
    many = (count > FEW) & (count * rare >= MANY)
    inverted = (count > FEW) & (rare > 0) & ~many
    drawn[many] = _normal(count[many], rare[many], key[many])
    invert = _inverted_fast if fast else _inverted
    n, q = count[inverted], rare[inverted]
    # Exponentials by NumPy for both, because those of two libraries differ in the last digit.
    none = np.exp(n * np.log1p(-q))
    drawn[inverted] = invert(n, q / (1.0 - q), none, uniform(key[inverted], 1))
    drawn = np.where(p > 0.5, count - drawn, drawn)
    drawn[few] = _few_labels(count[few], p[few], key[few])
    return drawn


def _normal(count: FloatArray, p: FloatArray, key: Bits) -> FloatArray:
    """Return rounded normal variables of the same mean and variance."""
    # Box and Muller: two uniforms, one normal variable.
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform(key, 1)))
    normal = radius * np.cos(2.0 * np.pi * uniform(key, 2))
    near = count * p + normal * np.sqrt(count * p * (1.0 - p))
    drawn: FloatArray = np.clip(np.floor(near + 0.5), 0.0, count)
    return drawn


def _inverted(
    count: FloatArray, odds: FloatArray, chance: FloatArray, u: FloatArray
) -> FloatArray:
    """Return the binomial counts at which the distribution function passes ``u``.

    ``chance`` is that of a count of 0.
    """
    result = np.zeros(len(u))
    place, drawn = np.arange(len(u)), 0.0
    while True:
        short = (u > chance) & (drawn < count)
        if not short.any():
            return result
        u, chance, place = u[short] - chance[short], chance[short], place[short]
        count, odds = count[short], odds[short]
        drawn += 1.0
        result[place] = drawn
        chance *= odds * (count - drawn + 1.0) / drawn


@compiled
def _inverted_fast(
    count: FloatArray, odds: FloatArray, chance: FloatArray, u: FloatArray
) -> FloatArray:
    """Return what ``_inverted`` does, one after the other."""
    result = np.empty(len(u))
    for i in range(len(u)):
        drawn, left, now = 0.0, u[i], chance[i]
        while left > now and drawn < count[i]:
            left -= now
            drawn += 1.0
            now *= odds[i] * (count[i] - drawn + 1.0) / drawn
        result[i] = drawn
    return result
