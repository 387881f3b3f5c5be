"""Labels drawn for atoms, by a random number that depends on seed, draw and atom alone.

A counter in place of a stream makes every draw the same on any number of threads.
"""

import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels._threads import over_rows
from abstain._kernels.counter_random import (
    FEW,
    Bits,
    binomial,
    child_key,
    draw_key,
    steps,
    uniform,
    uniform_at,
)

__all__ = ["drawn_masses", "drawn_positives"]

# This many labels are drawn at a time.
_LABELS_AT_A_TIME = 16_384
# From this variance on a sum of labels is as good as normal, one of thousands that are summed.
_NEARLY_NORMAL = 9.0
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
    single = slice(None) if unit else np.flatnonzero(weight == 1.0)
    fast = n_draws * int(np.count_nonzero(weight > FEW)) >= _WORTH_COMPILING
    atoms = np.arange(len(p))
    far = steps(atoms)

    def fill(begin: int, end: int) -> None:
        some = keys[begin:end, None]
        if not unit:
            positive[begin:end] = _heavy(weight, p, child_key(some, atoms), fast)
        # A single label takes the number of its atom in the draw.
        positive[begin:end, single] = uniform_at(some + far[single]) < p[single]

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


def _heavy(weight: FloatArray, p: FloatArray, own: Bits, fast: bool) -> FloatArray:
    """Return the positive mass of atoms that are many labels, of each their own key."""
    whole = np.floor(weight)
    rest = weight - whole
    counts, chances = (np.broadcast_to(x, own.shape).ravel() for x in (whole, p))
    mass = binomial(counts, chances, own.ravel(), fast=fast).reshape(own.shape)
    some = np.flatnonzero(rest > 0)
    mass[:, some] += rest[some] * (uniform(own[:, some], 0) < p[some])
    return mass
