"""Numbers that are finite and beyond all use: weights of 1e300, logits of 1.7e308.

Their sums and squares are infinite, and what is made of these is not a number. So they are brought
into reach here, once; numbers that anybody means come out as they are, to the last bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["WIDEST_LOGIT", "narrowed", "tame_logits", "tame_weights"]

FloatArray = NDArray[np.float64]

#: Further from 0 than this no logit is; its square is still a number.
WIDEST_LOGIT = 1e100
# The heaviest row counts at least and at most this much: whole numbers are exact up to there, and
# so many rows can be counted.
_LEAST, _MOST = 2.0**-52, 2.0**52
# A row that counts less than this share of the heaviest counts as nothing.
_NOTHING = 2.0**-100


def tame_weights(weight: FloatArray) -> FloatArray:
    """Return weights whose sums and ratios are numbers.

    All are multiplied by one power of two, which changes no ratio, where the heaviest is not
    between 2^-52 and 2^52. A weight below 2^-100 of the heaviest becomes 0: no sum would show it.
    """
    heaviest = float(weight.max())
    if not _LEAST <= heaviest <= _MOST:
        bound = _LEAST if heaviest < _LEAST else _MOST
        exponent = int(np.frexp(bound)[1] - np.frexp(heaviest)[1])
        weight = np.ldexp(weight, exponent)
        heaviest = float(weight.max())
    faint = weight < _NOTHING * heaviest
    if (weight[faint] > 0).any():
        weight = np.where(faint, 0.0, weight)
    return weight


def narrowed(logits: FloatArray) -> FloatArray:
    """Return logits of one class against another, none beyond the widest."""
    return np.clip(logits, -WIDEST_LOGIT, WIDEST_LOGIT)


def tame_logits(logits: FloatArray) -> FloatArray:
    """Return logits none of which is beyond the widest.

    Where the highest of a row is, that becomes 0, which is the same to a softmax; what lies
    further below than the widest comes up to it. A row comes out the same whatever rows are
    beside it.
    """
    highest = logits.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        moved = logits - np.where(np.abs(highest) > WIDEST_LOGIT, highest, 0.0)
    return narrowed(moved)
