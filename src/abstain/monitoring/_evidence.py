"""Evidence that may be looked at any time: bets on means of bounded values, and when they began.

Each value watched has a range in which its mean is quiet. A bet that it is outside multiplies its
stake by something that is at most 1 on average while it is not. Stakes are paid in as time passes,
so that what is won by a false alarm is at most what was paid in, however often anybody looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from abstain._inputs import FloatArray

#: Seconds in a year, and the year's part that is paid in where no time has passed: a day.
YEAR = 365.25 * 86_400
DAY = 1 / 365.25
# Of the largest deviation that there may be, the parts that are bet on; and what each costs.
_BETS = np.geomspace(0.01, 0.8, 8)
_COST = -np.log1p(-_BETS) - _BETS
# A bet may be smaller than it must be: where a mean is next to its end, of so much at least.
_LEAST_REACH = 0.01
# The same for values that are about normal, in their standard deviations. No single one of these
# counts more than so many: their tails are not known.
_NORMAL_BETS = np.array([0.25, 0.5, 1.0, 1.5, 2.0])
_MOST_SURPRISING = 3.0
# The interval of when it began holds it this often, if it began at all.
_LEVEL = 0.9
# Chances that differ in the last digits are the same.
_DECIMALS = 9


@dataclass(frozen=True, eq=False)
class Seen:
    """Values of each chunk: their number, sum and sum of squares, and the quiet range of the mean.

    Attributes
    ----------
    sums : ndarray of shape (n_chunks, n_values, 5)
        Rows, sum, sum of squares, lowest and highest quiet mean.
    bounds : ndarray of shape (n_values, 2)
        Between which each value lies; infinite where it is about normal, as one of a chunk is.
    """

    sums: FloatArray
    bounds: FloatArray

    def log_factors(self) -> FloatArray:
        """Return the logarithm of what each bet is multiplied by in each chunk.

        Notes
        -----
        For x of mean at most m and ``y = (x - m) / c >= -1``, ``exp(l y - (-log(1 - l) - l) y^2)``
        is at most ``1 + l y``, whose mean is at most 1 (Fan et al. 2015).
        """
        n, total, squares, low, high = np.moveaxis(self.sums, -1, 0)
        if np.isinf(self.bounds).all():
            found = np.minimum(total, _MOST_SURPRISING)[..., None] * _NORMAL_BETS
            return np.where(n[..., None] > 0, found - _NORMAL_BETS**2 / 2, 0.0)[:, 0]
        least, most = self.bounds.T
        sides = []
        for mean, sign, reach in ((high, 1.0, high - least), (low, -1.0, most - low)):
            reach = np.maximum(reach, _LEAST_REACH)
            apart = sign * (total - n * mean) / reach
            spread = np.maximum(squares - 2 * mean * total + n * mean**2, 0.0) / reach**2
            sides.append(apart[..., None] * _BETS - spread[..., None] * _COST)
        return np.concatenate(sides, axis=-1).reshape(len(n), -1)


@dataclass(frozen=True)
class Crossing:
    """Where a kind of evidence crossed its bound.

    Attributes
    ----------
    at : int
        The chunk, counted in the order in which the evidence came.
    began, first, last : int
        The chunk where it most probably began, and the interval of where it did.
    value : int
        The value that won most.
    log_evidence : float
        The logarithm of how many times its stake was won.
    """

    at: int
    began: int
    first: int
    last: int
    value: int
    log_evidence: float


def stakes(ends: Sequence[float | None], starts: Sequence[float | None]) -> FloatArray:
    """Return the part of a year that passed before the end of each chunk and after all others.

    Chunks without a time count as a day each.
    """
    paid, latest = np.zeros(len(ends)), -np.inf
    for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if start is None or end is None:
            paid[k] = DAY
            continue
        begin = start if np.isinf(latest) else latest
        paid[k] = max(end - begin, 0.0) / YEAR or (DAY if np.isinf(latest) else 0.0)
        latest = max(latest, end)
    return paid


def first_crossing(seen: Seen, paid: FloatArray, log_bound: float, start: int) -> Crossing | None:
    """Return where the mean of the bets, from a chunk on, first reaches a bound; None if nowhere.

    Parameters
    ----------
    seen : Seen
    paid : ndarray of shape (n_chunks,)
        What is paid in before each chunk.
    log_bound : float
        The logarithm of the bound.
    start : int
        The chunk from which on it counts.
    """
    if start >= len(paid):
        return None
    factors = seen.log_factors()[start:]
    with np.errstate(divide="ignore"):
        log_paid = np.log(paid[start:])
    wealth = np.full(factors.shape[1], -np.inf)
    for k, factor in enumerate(factors):
        wealth = np.logaddexp(wealth, log_paid[k]) + factor
        log_value = float(logsumexp(wealth)) - np.log(len(wealth))
        if log_value >= log_bound:
            return _crossing(seen, factors[: k + 1], log_paid[: k + 1], start, log_value)
    return None


def _crossing(
    seen: Seen, factors: FloatArray, log_paid: FloatArray, start: int, log_value: float
) -> Crossing:
    """Return when what crossed its bound at the last chunk began, and of which value."""
    since = np.cumsum(factors[::-1], axis=0)[::-1] + log_paid[:, None]
    by_chunk = logsumexp(since, axis=1)
    chance = np.round(np.exp(by_chunk - logsumexp(by_chunk)), _DECIMALS)
    # From the likeliest on, until they hold the level together.
    order = np.argsort(-chance, kind="stable")
    enough = int(np.searchsorted(np.cumsum(chance[order]), _LEVEL)) + 1
    held = order[:enough]
    by_value = logsumexp(since.reshape(len(since), len(seen.bounds), -1), axis=(0, 2))
    began = int(order[0])
    return Crossing(
        start + len(factors) - 1,
        start + began,
        start + int(held.min()),
        start + int(held.max()),
        int(np.argmax(np.round(by_value, _DECIMALS))),
        log_value,
    )
