"""Edges that no row is near, so that the last digit of a logarithm decides nothing.

Rows that differ by rounding alone are alike, and are to be treated so: by another processor, by
the rule as an ONNX graph, and beside other rows. So an edge is moved off the row that it was
found at, into the room between that row and the next; and where there is no room, past all rows
that are too close to be told apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask

#: How far rounding may move a number, relative to the largest that it was made of.
ROUNDING = 1e-12
# Log-odds that are nearer to each other are the same but for rounding.
_SAME = 100 * ROUNDING
_VERY_MANY = 1_000_000
# Scores of a row that are nearer to each other are as high as each other.
_AS_HIGH = 1e-9


def kind_width(p: Any) -> Any:
    """Return how far above a probability another may be that is of its kind."""
    return _SAME * p * (1 - p) + 4 * ROUNDING * p


def first_of_kind(p: FloatArray) -> Mask:
    """Tell for each of ascending probabilities whether it is the first of its kind.

    Those that rounding alone tells apart, on one processor and not on another, are of a kind; of
    very many, where some are as near as that by chance, equal ones alone.
    """
    new = np.ones(len(p), dtype=np.bool_)
    if len(p) > _VERY_MANY:
        np.not_equal(p[1:], p[:-1], out=new[1:])
    else:
        np.greater(np.diff(p), kind_width(p[:-1]), out=new[1:])
    return new


def kinds(p: FloatArray) -> IntArray:
    """Return a number for each of some probabilities that rises with them, the same for a kind."""
    order = np.argsort(p)
    numbers = np.empty(len(p), dtype=np.intp)
    numbers[order] = np.cumsum(first_of_kind(p[order]))
    return numbers


def highest_of_rows(values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the first column of each row that is highest but for rounding, and the highest."""
    top: FloatArray = values.max(axis=1)
    as_high = values >= (top - _AS_HIGH * np.maximum(np.abs(top), 1.0))[:, None]
    return as_high.argmax(axis=1), top


def cuts_between(p: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return cuts near those wanted, each in the middle between probabilities of two kinds."""
    ordered = np.sort(p)
    begin = np.flatnonzero(first_of_kind(ordered))[1:]
    if not len(begin):
        return np.empty(0)
    middles = (ordered[begin - 1] + ordered[begin]) / 2
    above = np.searchsorted(middles, wanted)
    sides = middles[np.clip([above - 1, above], 0, len(middles) - 1)]
    nearer = np.abs(sides - wanted).argmin(axis=0)
    return np.unique(sides[nearer, np.arange(len(wanted))])


def clear_edge(
    values: FloatArray,
    edge: float,
    reach: float,
    *,
    outwards: bool = False,
    own_reach: Callable[[IntArray], FloatArray] | None = None,
) -> float:
    """Return an edge that no value is near; the values from it on are those withheld.

    Parameters
    ----------
    values : ndarray of shape (n,)
        What the edge divides; those at or above it are withheld.
    edge : float
        Where it is.
    reach : float
        The farthest that rounding may move any of the values.
    outwards : bool
        Whether more may be withheld where values cannot be told apart, not fewer.
    own_reach : callable, optional
        Gives the same of some rows by themselves, where it differs.

    Returns
    -------
    float
        Infinite where fewer would have to be none.
    """
    if not np.isfinite(edge):
        return edge
    if not ((values >= edge - 2 * reach) & (values < edge)).any():
        return float(edge - reach)
    withheld = values >= edge
    low = values[~withheld].max()
    high = values[withheld].min() if withheld.any() else np.inf
    rows = np.flatnonzero(values <= high if outwards else values >= low)
    rows = rows[np.argsort(values[rows], kind="stable")]
    ordered = values[rows]
    room = np.full(len(rows), reach) if own_reach is None else own_reach(rows)
    gaps = np.flatnonzero(ordered[1:] - ordered[:-1] > room[1:] + room[:-1])
    if not len(gaps):
        return float(ordered[0] - room[0]) if outwards else np.inf
    gap = gaps[-1] if outwards else gaps[0]
    below, above = ordered[gap], ordered[gap + 1]
    least, most = below + room[gap], above - room[gap + 1]
    wanted = edge if below < edge <= above else (above if not outwards else below)
    return float(np.clip(wanted, least, max(least, most)))
