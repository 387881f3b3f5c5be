"""Operations carried out on arrays, of NumPy or CuPy: a block has a row for each column.

That way round sums go from column to column, in one order however many rows there are, and a row
comes out the same alone as in any batch.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._kernels._pieces import columns_of, over_rows, rows_at_a_time
from abstain.program._values import Value, carried_out, given

_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "size": operator.abs,
    "at_least": operator.ge,
    "at_most": operator.le,
    "above": operator.gt,
    "below": operator.lt,
    "both": operator.and_,
    "either": operator.or_,
    "opposite": operator.invert,
    "reaches": operator.ge,
    "stays_within": operator.le,
    "column": operator.getitem,
    "columns": lambda block, places: block[list(places)],
    "largest": lambda block: block.max(axis=0),
    "total": lambda block: block.sum(axis=0),
    "any": lambda block: block.any(axis=0),
    "all": lambda block: block.all(axis=0),
}


_ARRAYS = 12


class Arrays:
    """NumPy, or CuPy, which has functions of the same names."""

    def __init__(self, xp: Any = np) -> None:
        self.xp = xp

    def perform(self, value: Value, given: Sequence[Any]) -> Any:
        """Return the array that an operation makes of others."""
        name = value.operation
        own = getattr(self, name, None)
        return (_OPERATORS.get(name) or own or getattr(self.xp, name))(*given)

    def constant(self, array: NDArray[Any]) -> Any:
        return self.xp.asarray(array)[:, None] if array.ndim else float(array)

    def block(self, *columns: Any) -> Any:
        return self.xp.stack(self.xp.broadcast_arrays(*columns))

    def only_where(self, condition: Any, value: Any) -> Any:
        return self.xp.where(condition, value, np.nan)

    def top(self, block: Any, k: int) -> Any:
        return self.xp.sort(block, axis=0)[::-1][:k]

    def first_highest(self, block: Any, apart: float) -> Any:
        highest = block.max(axis=0)
        least = highest - self.xp.abs(highest) * apart if apart else highest
        return self.first_true(block >= least)

    def first_true(self, block: Any) -> Any:
        return self.xp.argmax(block, axis=0)

    def pick(self, block: Any, place: Any) -> Any:
        return self.xp.take_along_axis(block, place[None], axis=0)[0]

    def is_any_of(self, place: Any, columns: tuple[int, ...]) -> Any:
        return place == self.xp.asarray(columns, dtype=np.int64)[:, None]

    def mixed(self, block: Any, matrix: NDArray[Any]) -> Any:
        # Not by BLAS, whose order of additions depends on how many rows there are.
        return self.xp.einsum("ji,jx->ix", self.xp.asarray(matrix), block)

    def in_any_box(
        self,
        block: Any,
        place: Any,
        columns: tuple[int, ...],
        lower: NDArray[Any],
        upper: NDArray[Any],
    ) -> Any:
        found = self.xp.zeros(len(place), dtype=bool)
        for own, low, high in zip(columns, lower, upper, strict=True):
            inside = place == own
            for values, least, most in zip(block, low.tolist(), high.tolist(), strict=True):
                inside &= (values > least) & (values <= most)
            found |= inside
        return found

    def interpolated(self, column: Any, knots: NDArray[Any], values: NDArray[Any]) -> Any:
        return self.xp.interp(column, self.xp.asarray(knots), self.xp.asarray(values))


def of_rows(state: Callable[[Value], Value], rows: NDArray[Any]) -> NDArray[Any]:
    """Return what is stated of a block of columns, for rows of so many; see ``on_rows``."""
    columns = given(rows.shape[1])
    return on_rows(state(columns), {columns: rows})


def on_rows(wanted: Value, known: Mapping[Value, NDArray[Any]]) -> NDArray[Any]:
    """Return a value for each of some rows.

    Parameters
    ----------
    wanted : Value
        What is asked for.
    known : mapping of Value to ndarray of shape (n,) or (n, width)
        What comes in.

    Returns
    -------
    ndarray of shape (n,), or (n, width) of a block
        A row comes out the same alone as in any batch.
    """
    n_rows = len(next(iter(known.values())))
    kinds = {"number": np.float64, "truth": np.bool_, "place": np.intp}
    width = wanted.width
    result: NDArray[Any] = np.empty(
        n_rows if width is None else (n_rows, width), dtype=kinds[wanted.kind]
    )
    machine = Arrays()

    def fill(begin: int, end: int) -> None:
        ready = {
            value: columns_of(rows[begin:end])
            if value.width
            else columns_of(rows[begin:end, None])[0]
            for value, rows in known.items()
        }
        found = carried_out(machine, [wanted], ready)[0]
        result[begin:end] = np.asarray(found).T[: end - begin]

    widest = max(value.width or 1 for value in known)
    # Every operation leaves an array: a dozen of them are to stay in near cache.
    over_rows(fill, n_rows, size=max(64, rows_at_a_time(widest) // _ARRAYS))
    return result
