"""Rows turned into columns, a few thousand at a time.

NumPy is fast along long axes, and rows of classes are short. One class after the other, for all
rows of a piece, is also one fixed sequence of operations for each row: a row comes out the same
alone as in any batch.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._threads import over_rows

# Numbers in one piece: few enough that a handful of arrays stay in cache, enough that threads
# seldom wait for the interpreter between one operation and the next.
_NUMBERS = 262_144


def rows_at_a_time(n_columns: int) -> int:
    """Return how many rows make one piece."""
    return max(64, _NUMBERS // max(n_columns, 1))


def columns_of(rows: FloatArray) -> FloatArray:
    """Return a copy of shape (n_columns, n_rows), one column after the other in memory.

    A single row comes twice: of one number per column NumPy would see one long axis, and add
    along that in another order.
    """
    if len(rows) == 1:
        return np.repeat(rows.T, 2, axis=1)
    return np.array(rows.T, order="C")


def by_columns(
    function: Callable[[FloatArray], FloatArray], rows: FloatArray, out: FloatArray | None = None
) -> FloatArray:
    """Return the rows after a function of their columns, which it may overwrite.

    They are written into ``out`` where that is given, which may be the rows themselves.
    """
    result = np.empty(rows.shape) if out is None else out

    def fill(begin: int, end: int) -> None:
        filled = function(columns_of(rows[begin:end]))
        result[begin:end] = filled[:, : end - begin].T

    over_rows(fill, len(rows), size=rows_at_a_time(rows.shape[1]))
    return result


def first_highest(columns: FloatArray, least: FloatArray | None = None) -> IntArray:
    """Return for each row the first column that is highest, as ``columns.argmax(axis=0)``.

    Or that is at least so high, where that is given. It is the number of columns before one that
    is as high; NumPy's own would turn the array.
    """
    lower = columns < (columns.max(axis=0) if least is None else least)
    np.logical_and.accumulate(lower, axis=0, out=lower)
    narrow = np.uint8 if len(columns) < 256 else np.intp
    highest: IntArray = lower.sum(axis=0, dtype=narrow).astype(np.intp)
    return highest
