"""Loops that build, cut and label sorted atoms: ties, bins, windows, labels drawn.

See ``abstain.summaries.Atoms`` for what an atom is. Every draw of labels has a generator of its
own, made of the seed and its number, so it is the same on any number of threads, alone or among
others.
"""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._pieces import filled, over_rows, summed_over_rows
from abstain._numerics import first_of_kind

# Fewer ties than one in this many are few.
_FEW_TIES = 8
# Atoms, or windows, in one piece.
ATOMS_AT_A_TIME = 32_768
# Examples that are binned at a time: each piece has sums over all bins of its own.
_BINNED_AT_A_TIME = 2**20
# This many labels are drawn at a time.
_LABELS_AT_A_TIME = 2**18
# From this variance on a sum of labels is as good as normal, one of thousands that are summed.
_NEARLY_NORMAL = 9.0
_NEARLY_WHOLE = 1e-9


def ties_counted(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct values of an ascending array and how often each occurs.

    An array without ties is returned itself.
    """
    new = first_of_kind(p)
    if new.all():
        # One number for all of them, which takes no memory.
        return p, np.broadcast_to(np.float64(1.0), p.shape)
    first = np.flatnonzero(new)
    return p[first], np.diff(first, append=len(p)).astype(np.float64)


def ties_summed(
    p: FloatArray, weight: FloatArray, positive: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the distinct values of an ascending array with the masses of equal ones added.

    Arrays without ties are returned themselves.
    """
    new = first_of_kind(p)
    if new.all():
        return p, weight, positive
    first = np.flatnonzero(new)
    if len(p) - len(first) > len(p) // _FEW_TIES:
        return p[first], np.add.reduceat(weight, first), np.add.reduceat(positive, first)
    # Where ties are few, what they add is added to the first of each.
    tied = np.flatnonzero(~new)
    owner = np.searchsorted(first, tied, side="right") - 1
    total, mass = weight[first], positive[first]
    np.add.at(total, owner, weight[tied])
    np.add.at(mass, owner, positive[tied])
    return p[first], total, mass


def binned(
    p: FloatArray, weight: FloatArray, positive: FloatArray, bins: int
) -> tuple[FloatArray, FloatArray]:
    """Return weight and positive mass in equal bins of [0, 1].

    An empty ``weight`` counts every example once; an empty ``positive`` takes ``weight * p``.
    """

    def masses(begin: int, end: int) -> tuple[FloatArray, FloatArray]:
        part, counts = p[begin:end], weight[begin:end] if weight.size else None
        k = (part * bins).astype(np.intp)
        mass = part if counts is None else part * counts
        mass = positive[begin:end] if positive.size else mass
        total, positives = (np.bincount(k, of, bins + 1) for of in (counts, mass))
        return total.astype(np.float64, copy=False), positives.astype(np.float64, copy=False)

    sums = summed_over_rows(masses, len(p), size=_BINNED_AT_A_TIME, most_blocks=16)
    for mass in sums:
        # A probability of 1 belongs to the last bin.
        mass[bins - 1] += mass[bins]
    return sums[0][:bins], sums[1][:bins]


def prefix_sums(weight: FloatArray, positive: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the positive and negative mass below each of the n + 1 boundaries.

    Negative mass is summed by itself rather than taken as a difference of two large sums, so
    that a nearly absent class keeps its digits.
    """
    above, below = (np.empty(len(weight) + 1) for _ in range(2))
    above[0] = below[0] = 0.0
    np.cumsum(positive, out=above[1:])
    np.subtract(weight, positive, out=below[1:])
    np.cumsum(below[1:], out=below[1:])
    return above, below


def window_ends(total: FloatArray, starts: IntArray, capacity: float) -> IntArray:
    """Return for each of ascending starts the largest end such that the weight between fits."""
    n = len(total) - 1

    def ends(start: IntArray) -> IntArray:
        below = total[start]
        reach = below + capacity
        first, most = start[0], np.searchsorted(total, reach[-1], side="right")
        found = np.searchsorted(total[first:most], reach, side="right") + (first - 1)
        # The sum above is rounded, and what must fit is the difference: step to the next
        # weight as long as it does, and back where it does not.
        while True:
            following = np.minimum(found + 1, n)
            fits = (found < n) & (total[following] - below <= capacity)
            if not fits.any():
                break
            found[fits] = np.searchsorted(total, total[following[fits]], side="right") - 1
        while (heavy := (found > start) & (total[found] - below > capacity)).any():
            found[heavy] = np.searchsorted(total, total[found[heavy]], side="left") - 1
        return np.asarray(np.maximum(found, start))

    return filled(np.empty(len(starts), dtype=np.intp), ends, starts, size=ATOMS_AT_A_TIME)


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
