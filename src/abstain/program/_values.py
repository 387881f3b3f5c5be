"""Values: what stands for the columns of rows while operations on them are stated.

Each is the operation that makes it and what that is given, so that a value is the whole list of
operations behind it. Kinds and widths are checked as it grows: what adds up, runs everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray

Kind = Literal["number", "truth", "place"]

#: Rows closer to an edge than this, relative to it, are on the edge, and classes as equal as this
#: are equal, outside NumPy: the last digit of a logarithm or an exponential differs elsewhere.
TIED = 1e-15


def _made(operation: str, kind: Kind, of: Kind, *, swapped: bool = False) -> Callable[..., Value]:
    """Return the operator that makes such a value of two others."""

    def operator(own: Value, other: Any) -> Value:
        return _each(operation, *((other, own) if swapped else (own, other)), kind=kind, of=of)

    return operator


def _arithmetic(operation: str, *, swapped: bool = False) -> Callable[..., Value]:
    return _made(operation, "number", "number", swapped=swapped)


@dataclass(frozen=True, eq=False)
class Value:
    """A column of rows, or a block of columns, that operations make.

    Attributes
    ----------
    operation : str
        What makes it.
    given : tuple
        Of what: other values, and numbers that belong to the operation.
    width : int or None
        How many columns a block has; None for a column.
    kind : {"number", "truth", "place"}
        Numbers in double precision, true or false, or the number of a column.
    """

    operation: str
    given: tuple[Any, ...]
    width: int | None
    kind: Kind = "number"

    # NumPy's own arrays leave operators to this class.
    __array_ufunc__ = None
    __add__, __radd__ = _arithmetic("add"), _arithmetic("add", swapped=True)
    __sub__, __rsub__ = _arithmetic("subtract"), _arithmetic("subtract", swapped=True)
    __mul__, __rmul__ = _arithmetic("multiply"), _arithmetic("multiply", swapped=True)
    __truediv__, __rtruediv__ = _arithmetic("divide"), _arithmetic("divide", swapped=True)
    __ge__, __le__ = _made("at_least", "truth", "number"), _made("at_most", "truth", "number")
    __gt__, __lt__ = _made("above", "truth", "number"), _made("below", "truth", "number")
    __and__, __or__ = _made("both", "truth", "truth"), _made("either", "truth", "truth")

    def __neg__(self) -> Value:
        return self * -1.0

    def __abs__(self) -> Value:
        return _each("size", self)

    def __invert__(self) -> Value:
        return _each("opposite", self, kind="truth", of="truth")

    def __matmul__(self, matrix: ArrayLike) -> Value:
        """Return the block of sums of columns, each times its row of a matrix of numbers."""
        array = np.asarray(matrix, dtype=np.float64)
        if array.ndim != 2 or len(array) != self._wide():
            raise ValueError(
                f"A block of {self.width} columns goes with a matrix of as many rows; got the "
                f"shape {array.shape}."
            )
        return Value("mixed", (self, array), array.shape[1])

    def __getitem__(self, place: int | Sequence[int]) -> Value:
        """Return a column of a block, or a block of some of its columns."""
        self._wide()
        if isinstance(place, int):
            if self.operation == "block":
                column: Value = self.given[place]
                return column
            return Value("column", (self, place), None, self.kind)
        return Value("columns", (self, tuple(place)), len(place), self.kind)

    def largest(self) -> Value:
        """Return the largest of each row."""
        return self._along("largest")

    def total(self) -> Value:
        """Return the sum of each row, added from the first column on."""
        return self._along("total")

    def any(self) -> Value:
        """Tell whether any of a row is true."""
        return self._along("any", of="truth")

    def first_true(self) -> Value:
        """Return the place of the first column of each row that is true."""
        self._along("any", of="truth")
        return Value("first_true", (self,), None, "place")

    def all(self) -> Value:
        """Tell whether all of a row are true."""
        return self._along("all", of="truth")

    def top(self, k: int) -> Value:
        """Return the block of the k largest of each row, the largest first."""
        return Value("top", (self, min(k, self._wide())), min(k, self._wide()))

    def first_highest(self, apart: float = 0.0) -> Value:
        """Return the place of the highest column of each row, the first of equals.

        Columns are equal that differ by no more than ``apart``, relative to the highest.
        """
        self._wide()
        return Value("first_highest", (self, apart), None, "place")

    def pick(self, place: Value) -> Value:
        """Return, of each row, the column whose place another value says."""
        self._wide()
        return Value("pick", (self, place), None, self.kind)

    def is_any_of(self, columns: Iterable[int]) -> Value:
        """Return the block that tells, for each of some columns, whether a place is that."""
        if self.kind != "place":
            raise TypeError(f"Only the place of a column is one of some; got a {self.kind}.")
        places = tuple(columns)
        return Value("is_any_of", (self, places), len(places), "truth")

    def reaches(self, edge: float) -> Value:
        """Tell which rows reach the edge of a rule.

        Where logarithms differ in the last digit from NumPy's, what is next to an edge is on it.
        """
        return Value("reaches", (self, float(edge)), self.width, "truth")

    def stays_within(self, edge: float) -> Value:
        """Tell which rows do not go beyond the edge of a rule; see ``reaches``."""
        return Value("stays_within", (self, float(edge)), self.width, "truth")

    def in_any_box(
        self, place: Value, columns: Sequence[int], lower: ArrayLike, upper: ArrayLike
    ) -> Value:
        """Tell which rows lie in any of some boxes, each for the rows of one place.

        A box has a column and a row of ``lower`` and of ``upper``; an upper face belongs to it.
        """
        faces = [np.asarray(edges, dtype=np.float64) for edges in (lower, upper)]
        return Value("in_any_box", (self, place, tuple(columns), *faces), None, "truth")

    def interpolated(self, knots: FloatArray, values: FloatArray) -> Value:
        """Return the straight lines between knots that rise, flat beyond the ends."""
        return Value("interpolated", (self, knots, values), None)

    def _wide(self) -> int:
        if self.width is None:
            raise TypeError("This is for a block of columns; got one column.")
        return self.width

    def _along(self, operation: str, *, of: Kind = "number") -> Value:
        self._wide()
        if self.kind != of:
            raise TypeError(f"`{operation}` is of {of}s; got {self.kind}s.")
        return Value(operation, (self,), None, of)


def _each(operation: str, *values: Any, kind: Kind = "number", of: Kind = "number") -> Value:
    """Return what an operation on each number makes of values that go together."""
    given_to = tuple(constant(one) for one in values)
    widths = {one.width for one in given_to} - {None}
    if len(widths) > 1:
        raise ValueError(f"`{operation}` needs blocks of as many columns; got {sorted(widths)}.")  # type: ignore[type-var]
    for one in given_to[operation in ("where", "only_where") :]:
        if one.kind != of:
            raise TypeError(f"`{operation}` is of {of}s; got {one.kind}s.")
    return Value(operation, given_to, widths.pop() if widths else None, kind)


def constant(value: Any) -> Value:
    """Return the value of a number, or one for each column, that is the same in every row."""
    if isinstance(value, Value):
        return value
    array = np.asarray(value, dtype=np.float64)
    if array.ndim > 1:
        raise TypeError(f"A number, or one for each column, goes here; got {array.ndim} axes.")
    return Value("constant", (array,), len(array) if array.ndim else None)


def given(width: int | None, kind: Kind = "number") -> Value:
    """Return what stands for the columns that come in; of width None for one column."""
    return Value("given", (), width, kind)


def block(*columns: Value) -> Value:
    """Return the block of some columns."""
    return Value("block", columns, len(columns), columns[0].kind)


def exp(value: Value) -> Value:
    """Return the exponential; infinite where it is beyond all numbers."""
    return _each("exp", value)


def log(value: Value) -> Value:
    """Return the natural logarithm; minus infinity of 0."""
    return _each("log", value)


def maximum(value: Value, least: Any) -> Value:
    """Return the larger of two."""
    return _each("maximum", value, least)


def minimum(value: Value, most: Any) -> Value:
    """Return the smaller of two."""
    return _each("minimum", value, most)


def where(condition: Value, value: Any, otherwise: Any) -> Value:
    """Return one value where a condition holds, and another elsewhere."""
    return _each("where", condition, value, otherwise)


def only_where(condition: Value, value: Value) -> Value:
    """Return a value where a condition holds; elsewhere a row has none, nor what is made of it."""
    return _each("only_where", condition, value)


def slack(edge: Any) -> Any:
    """Return how close to an edge is on it, where a logarithm is another library's."""
    return np.where(np.isfinite(edge), TIED * np.abs(edge), 0.0)


def steps(*wanted: Value) -> list[Value]:
    """Return the operations behind some values, each behind those that it needs."""
    order: dict[Value, None] = {}
    waiting = [*reversed(wanted)]
    while waiting:
        value = waiting[-1]
        needed = [
            one for one in reversed(value.given) if isinstance(one, Value) and one not in order
        ]
        if value in order or not needed:
            order[waiting.pop()] = None
        else:
            waiting += needed
    return [*order]


class Machine(Protocol):
    """Whatever carries out operations."""

    def perform(self, value: Value, given: Sequence[Any]) -> Any:
        """Return what an operation makes of what it is given, as this machine has it."""


def carried_out(
    machine: Machine, wanted: Sequence[Value], known: Mapping[Value, Any]
) -> list[Any]:
    """Return some values as a machine has them, from those that come in."""
    done = dict(known)
    order = steps(*wanted)
    last = {one: value for value in order for one in value.given if isinstance(one, Value)}
    for value in order:
        if value not in done:
            ready = [done[one] if isinstance(one, Value) else one for one in value.given]
            done[value] = machine.perform(value, ready)
            # What nothing will read again makes room.
            for one in value.given:
                if isinstance(one, Value) and last[one] is value and one not in wanted:
                    done.pop(one, None)
    return [done[value] for value in wanted]
