"""Expressions in double precision, as trees of sqlglot.

Nothing here raises in the engine, whatever the row: some engines refuse the logarithm of 0, an
exponential too large or too small, and PostgreSQL any product that vanishes. Each operation is
guarded where that can happen, by what NumPy would have returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import frexp, inf, isinf
from typing import Any

from abstain.sql._dialects import Dialect, package

#: Beyond these an exponential is infinite, or 0.
LARGEST_POWER, SMALLEST_POWER = 709.782712893384, -745.1332191019411
_SMALLEST = 5e-324
_CHUNK = 60


class Expressions:
    """Makes expressions for one dialect; every argument is used once, so give fresh ones.

    What is called as an operation of each column by itself is that operation.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.tree = package()
        self.dialect = dialect

    def number(self, value: float) -> Any:
        """Return a double as a literal that every bit of is read."""
        value = float(value) + 0.0  # no negative zero
        if self.dialect.exact_literals:
            return self.double(self.tree.Literal.string(repr(value).replace("inf", "Infinity")))
        if isinf(value):
            return self.tree.Literal.number("9e999" if value > 0 else "-9e999")
        if value == int(value) and abs(value) < 2**53:
            return self._signed(f"{int(abs(value))}.0", value)
        return self._exact(value)

    def _exact(self, value: float) -> Any:
        """Return a double as a whole number over, or times, powers of two, which are exact."""
        mantissa, exponent = frexp(abs(value))
        whole, power = int(mantissa * 2.0**53), exponent - 53
        while whole % 2 == 0:
            whole, power = whole // 2, power + 1
        made = self._signed(f"{whole}.0", value)
        kind = self.tree.Div if power < 0 else self.tree.Mul
        while power:
            step = min(abs(power), 62)
            made = kind(this=made, expression=self.tree.Literal.number(f"{2**step}.0"), typed=True)
            power += step if power < 0 else -step
        return self.tree.Paren(this=made)

    def _signed(self, text: str, value: float) -> Any:
        literal = self.tree.Literal.number(text)
        return self.tree.Neg(this=literal) if value < 0 else literal

    def double(self, value: Any) -> Any:
        return self.tree.Cast(
            this=value, to=self.tree.DataType(this=self.tree.DataType.Type.DOUBLE)
        )

    def whole(self, value: int) -> Any:
        return self._signed(str(abs(value)), value)

    def text(self, value: str) -> Any:
        return self.tree.Literal.string(value)

    def truth(self, value: bool) -> Any:
        return self.tree.Boolean(this=value)

    def add(self, left: Any, right: Any) -> Any:
        return self.tree.Add(this=self._first(left), expression=self._factor(right))

    def subtract(self, left: Any, right: Any) -> Any:
        return self.tree.Sub(this=self._first(left), expression=self._factor(right))

    def _product(self, left: Any, right: Any) -> Any:
        return self.tree.Mul(this=self._factor(left), expression=self._atom(right))

    def _quotient(self, left: Any, right: Any) -> Any:
        return self.tree.Div(this=self._factor(left), expression=self._atom(right), typed=True)

    def sum(self, terms: Sequence[Any]) -> Any:
        """Add from the first to the last, in the order NumPy adds columns in."""
        return reduce(self.add, terms)

    def times(self, value: Any, factor: float, *, least: float = _SMALLEST) -> Any:
        """Multiply by a number; ``least`` is the least size of a value that is not 0."""
        if factor == 1.0:
            return value
        product = self._product(value, self.number(factor))
        size = abs(factor)
        if not self.dialect.strict or size == 0 or size >= 1 or least * size > _SMALLEST:
            return product
        vanishes = self.below(self.size(value.copy()), self.number(_SMALLEST / size))
        return self.case([(vanishes, self.number(0.0))], product)

    def multiply(self, left: Any, right: Any) -> Any:
        """Multiply two values, of which neither is known."""
        product = self._product(left, right)
        if not self.dialect.strict:
            return product
        sizes = [left.copy(), right.copy()]
        none = self.either(*(self.equal(one.copy(), self.number(0.0)) for one in sizes))
        power = self.sum([self.ln(self.size(one)) for one in sizes])
        vanishes = self.below(power, self.number(SMALLEST_POWER))
        return self.case([(none, self.number(0.0)), (vanishes, self.number(0.0))], product)

    def divide(self, part: Any, total: Any) -> Any:
        """Divide two values that give a number."""
        quotient = self._quotient(part, total)
        if not self.dialect.strict:
            return quotient
        plain = self.at_most(self.size(total.copy()), self.number(1.0))
        least = self._product(self.number(_SMALLEST), self.size(total.copy()))
        vanishes = self.below(self.size(part.copy()), least)
        return self.case([(plain, quotient), (vanishes, self.number(0.0))], quotient.copy())

    def exp(self, value: Any) -> Any:
        """Return the exponential of a number."""
        vanishes = self.below(value.copy(), self.number(SMALLEST_POWER)), self.number(0.0)
        infinite = self.above(value.copy(), self.number(LARGEST_POWER)), self.number(inf)
        return self.case([vanishes, infinite], self.tree.Exp(this=value))

    def ln(self, value: Any) -> Any:
        """Return the logarithm of what is above 0."""
        return self.tree.Ln(this=value)

    def log(self, value: Any) -> Any:
        """Return the logarithm; minus infinity of 0."""
        nothing = self.equal(value.copy(), self.number(0.0))
        return self.case([(nothing, self.number(-inf))], self.ln(value))

    def size(self, value: Any) -> Any:
        return self.tree.Abs(this=value)

    def maximum(self, value: Any, other: Any) -> Any:
        """Return the larger of two; NULL where the first is."""
        return self.case([(self.below(value.copy(), other.copy()), other)], value)

    def minimum(self, value: Any, other: Any) -> Any:
        """Return the smaller of two; NULL where the first is."""
        return self.case([(self.above(value.copy(), other.copy()), other)], value)

    def greatest(self, values: Sequence[Any]) -> Any:
        # Engines take so many arguments, and SQLite's MAX of one is an aggregate.
        while len(values) > 1:
            values = [
                self.tree.Greatest(
                    this=part[0],
                    expressions=part[1:],
                    ignore_nulls=not self.dialect.nulls_in_greatest,
                )
                if len(part := values[i : i + _CHUNK]) > 1
                else part[0]
                for i in range(0, len(values), _CHUNK)
            ]
        return values[0]

    def below(self, left: Any, right: Any) -> Any:
        return self.tree.LT(this=left, expression=right)

    def above(self, left: Any, right: Any) -> Any:
        return self.tree.GT(this=left, expression=right)

    def at_most(self, left: Any, right: Any) -> Any:
        return self.tree.LTE(this=left, expression=right)

    def at_least(self, left: Any, right: Any) -> Any:
        return self.tree.GTE(this=left, expression=right)

    def equal(self, left: Any, right: Any) -> Any:
        return self.tree.EQ(this=left, expression=right)

    def between(self, value: Any, low: float, high: float) -> Any:
        """Tell whether a value lies in an interval, its ends included."""
        if low == high:
            return self.equal(value, self.number(low))
        return self.tree.Between(this=value, low=self.number(low), high=self.number(high))

    def opposite(self, condition: Any) -> Any:
        return self.tree.Not(this=self.tree.Paren(this=condition))

    def both(self, *conditions: Any) -> Any:
        """Tell whether all hold."""
        return self._joined(self.tree.And, conditions)

    def either(self, *conditions: Any) -> Any:
        """Tell whether any holds."""
        return self._joined(self.tree.Or, conditions)

    def only_where(self, condition: Any, value: Any) -> Any:
        return self.case([(condition, value)])

    def where(self, condition: Any, value: Any, otherwise: Any) -> Any:
        return self.case([(condition, value)], otherwise)

    def _joined(self, kind: Any, conditions: Sequence[Any]) -> Any:
        inner = (self.tree.And, self.tree.Or)
        parts = [
            self.tree.Paren(this=one) if len(conditions) > 1 and isinstance(one, inner) else one
            for one in conditions
        ]
        return reduce(lambda joined, part: kind(this=joined, expression=part), parts)

    def number_of_first(self, conditions: Sequence[Any]) -> Any:
        """Return the number of the first condition that holds."""
        return self.case([(condition, self.whole(i)) for i, condition in enumerate(conditions)])

    def case(self, branches: Sequence[tuple[Any, Any]], otherwise: Any = None) -> Any:
        """Return the value of the first branch whose condition holds."""
        ifs = [self.tree.If(this=condition, true=value) for condition, value in branches]
        return self.tree.Case(ifs=ifs, default=otherwise)

    def unless_false(self, condition: Any) -> Any:
        """Tell whether a condition holds or is not known."""
        if not self.dialect.is_false:
            return self.tree.Coalesce(this=condition, expressions=[self.truth(True)])
        # In DuckDB half as slow as to replace NULL.
        false = self.tree.Is(this=self.tree.Paren(this=condition), expression=self.truth(False))
        return self.tree.Not(this=false)

    def _first(self, value: Any) -> Any:
        """Return what an addition may begin with: arithmetic is read from the left."""
        open_kinds = (self.tree.Add, self.tree.Sub, self.tree.Mul, self.tree.Div)
        return value if isinstance(value, open_kinds) else self._atom(value)

    def _factor(self, value: Any) -> Any:
        """Return what may stand before a sign of multiplication, or behind one of addition."""
        return value if isinstance(value, self.tree.Mul | self.tree.Div) else self._atom(value)

    def _atom(self, value: Any) -> Any:
        kinds = (self.tree.Binary, self.tree.Unary, self.tree.Between, self.tree.Case)
        loose = isinstance(value, kinds) and not isinstance(value, self.tree.Paren)
        return self.tree.Paren(this=value) if loose else value
