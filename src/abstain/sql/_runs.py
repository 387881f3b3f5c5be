"""Where on the line of all doubles a rule of one score changes its mind.

Doubles are numbered in their order, so that halving the numbers between two of them finds the
very neighbours between which a rule differs. What is asked is the policy itself, so what is found
holds whatever the last digits of its logarithms and exponentials are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]
# Between two neighbours that differ so many more are asked, until nothing lies between.
_BETWEEN = 64
# About every change all of this many neighbours are asked, and of further ones some: a curve made
# of logarithms and exponentials need not rise at every last digit.
_NEAR = 512
_FARTHEST_STEP = 40
_PER_STEP = 16


def to_keys(values: NDArray[Any]) -> Keys:
    """Return the number of each double (or single) in their order; both zeros are 0."""
    whole: Keys = values.view(np.int32 if values.itemsize == 4 else np.int64).astype(np.int64)
    sign = np.int64(2**31 - 1 if values.itemsize == 4 else 2**63 - 1)
    return np.where(whole >= 0, whole, -(whole & sign))


def to_values(keys: Keys, dtype: Any) -> NDArray[Any]:
    """Return the doubles (or singles) of these numbers."""
    kind = np.int32 if np.dtype(dtype).itemsize == 4 else np.int64
    values: NDArray[Any] = np.abs(keys).astype(kind).view(dtype)
    return np.where(keys < 0, -values, values)


def runs(
    asked: Callable[[NDArray[Any]], NDArray[np.int64]], points: NDArray[Any]
) -> list[tuple[float, float, int]]:
    """Return runs of neighbouring numbers that get one answer: first, last, answer.

    Parameters
    ----------
    asked : callable
        Gives a whole number for each of some doubles (or singles).
    points : ndarray
        The least and the largest, and enough between that each answer from one to the next
        changes at most once from one value to another.
    """
    keys = np.unique(to_keys(points))
    dtype = points.dtype
    low, high = keys[0], keys[-1]
    keys, answers = _refined(asked, keys, np.empty(0, dtype=np.int64), dtype)
    at = np.flatnonzero(answers[1:] != answers[:-1])
    if len(at):
        steps = 2 ** np.arange(_FARTHEST_STEP)
        reach = np.unique(
            np.append(np.arange(_NEAR), np.multiply.outer(np.arange(1, _PER_STEP), steps))
        )
        about = np.concatenate(
            [np.subtract.outer(keys[at], reach).ravel(), np.add.outer(keys[at + 1], reach).ravel()]
        )
        about = about[(about >= low) & (about <= high)]
        keys, answers = _refined(asked, keys, about, dtype)
    begins = np.flatnonzero(np.append(True, answers[1:] != answers[:-1]))
    ends = np.append(begins[1:], len(keys)) - 1
    first, last = (to_values(keys[at], dtype).astype(float).tolist() for at in (begins, ends))
    return list(zip(first, last, answers[begins].tolist(), strict=True))


def _refined(
    asked: Callable[[NDArray[Any]], NDArray[np.int64]], keys: Keys, more: Keys, dtype: Any
) -> tuple[Keys, NDArray[np.int64]]:
    """Return numbers and their answers, all changes of which lie between neighbours."""
    keys = np.unique(np.append(keys, more))
    answers = asked(to_values(keys, dtype))
    while True:
        # As unsigned numbers, since all doubles are more than half of them apart.
        gaps = np.diff(keys.view(np.uint64))
        open_ = np.flatnonzero((answers[1:] != answers[:-1]) & (gaps > 1))
        if not len(open_):
            return keys, answers
        steps = (gaps[open_] // np.uint64(_BETWEEN + 1)).astype(np.int64)
        inside = keys[open_][:, None] + steps[:, None] * np.arange(1, _BETWEEN + 1)
        few = steps == 0
        inside[few] = np.minimum(
            keys[open_][few][:, None] + np.arange(1, _BETWEEN + 1), keys[open_ + 1][few][:, None]
        )
        new = np.setdiff1d(inside, keys)
        merged = np.append(keys, new)
        told = np.append(answers, asked(to_values(new, dtype)))
        order = np.argsort(merged, kind="stable")
        keys, answers = merged[order], told[order]
