"""Operations as columns of a query: a column is an expression, a block a list of them.

What is read more than once becomes a column of a step, computed once per row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray
from abstain.program import Value, slack, steps
from abstain.sql._steps import Steps

# Those that read what they are given several times, unless it is a number.
_SEVERAL = {"multiply", "divide", "exp", "log", "maximum", "minimum"}


class Operations:
    """What operations make of the columns of a query in the making.

    A column is the name of one of a step, an expression that nothing else reads, or a number.

    Parameters
    ----------
    sql : Steps
        The query.
    wanted : sequence of Value
        What will be asked for, which tells what is read how often.
    """

    def __init__(self, sql: Steps, wanted: Sequence[Value]) -> None:
        self.sql = sql
        self.reads: Counter[Value] = Counter(wanted)
        for value in steps(*wanted):
            for one in value.given:
                if isinstance(one, Value):
                    # A column beside a block is read by each of its columns.
                    wide = value.width is not None and one.width is None
                    self.reads[one] += 2 if wide and value.operation != "block" else 1

    def perform(self, value: Value, given: Sequence[Any]) -> Any:
        """Return the columns that an operation makes of others."""
        name = value.operation
        if name == "log" and value.given[0].operation == "maximum":
            # Of what has a floor, which is above 0, or there would be no use in one.
            name = "ln"
        own = getattr(self, name, None)
        made = self._each(name, value.width, given) if own is None else own(*given)
        return made if self.reads[value] == 1 else self.named(made)

    def named(self, made: Any) -> Any:
        """Return columns as ones of steps, to be read as often as need be; numbers as they are."""
        if not isinstance(made, list):
            return self.named([made])[0]
        new = [one for one in made if not isinstance(one, str | float)]
        names = iter(self.sql.step(new) if new else [])
        return [one if isinstance(one, str | float) else next(names) for one in made]

    def read(self, column: Any) -> Any:
        """Return an expression of a column, fresh where it is a name or a number."""
        if isinstance(column, str):
            return self.sql(column)
        return self.sql.number(column) if isinstance(column, float) else column

    def _each(self, name: str, width: int | None, given: Sequence[Any]) -> Any:
        if name in _SEVERAL:
            given = [self.named(one) for one in given]
        if width is None:
            return self._one(name, given)
        columns = [one if isinstance(one, list) else [one] * width for one in given]
        return [self._one(name, row) for row in zip(*columns, strict=True)]

    def _one(self, name: str, given: Sequence[Any]) -> Any:
        if name == "multiply" and isinstance(given[1], float):
            return self.sql.times(self.read(given[0]), given[1])
        return getattr(self.sql, name)(*map(self.read, given))

    def all_of(self, block: Sequence[Any]) -> list[Any]:
        return [self.read(one) for one in block]

    def constant(self, array: NDArray[Any]) -> Any:
        return array.tolist()

    def column(self, block: list[Any], place: int) -> Any:
        return block[place]

    def columns(self, block: list[Any], places: Sequence[int]) -> list[Any]:
        return [block[place] for place in places]

    def block(self, *columns: Any) -> list[Any]:
        return [*columns]

    def largest(self, block: list[Any]) -> Any:
        return self.sql.greatest(self.all_of(block))

    def total(self, block: list[Any]) -> Any:
        return self.sql.sum(self.all_of(block))

    def any(self, block: list[Any]) -> Any:
        return self.sql.either(*self.all_of(block))

    def all(self, block: list[Any]) -> Any:
        return self.sql.both(*self.all_of(block))

    def first_true(self, block: list[Any]) -> Any:
        return self.sql.number_of_first(self.all_of(block))

    def first_highest(self, block: list[Any], apart: float) -> Any:
        sql, block = self.sql, self.named(block)
        least = sql.one(self.largest(block))
        if apart:
            slack = sql.times(sql.size(sql(least)), apart)
            least = sql.one(sql.subtract(sql(least), slack))
        return sql.number_of_first([sql.at_least(one, sql(least)) for one in self.all_of(block)])

    def top(self, block: list[Any], k: int) -> list[Any]:
        """Return the k largest of a row: each is found, then put below all."""
        sql, block = self.sql, self.named(block)
        found = [sql.one(self.largest(block))]
        while len(found) < k:
            highest = [sql.equal(one, sql(found[-1])) for one in self.all_of(block)]
            place = sql.one(sql.number_of_first(highest))
            below = sql.number(-np.inf)
            block = sql.step(
                [
                    sql.case([(sql.equal(sql(place), sql.whole(i)), below.copy())], one)
                    for i, one in enumerate(self.all_of(block))
                ]
            )
            found.append(sql.one(self.largest(block)))
        return found

    def pick(self, block: list[Any], place: Any) -> Any:
        return self.sql.by_number(self.named(place), self.all_of(block))

    def is_any_of(self, place: Any, columns: Sequence[int]) -> list[Any]:
        place = self.named(place)
        return [self.sql.equal(self.read(place), self.sql.whole(one)) for one in columns]

    def mixed(self, block: list[Any], matrix: NDArray[Any]) -> list[Any]:
        block = self.named(block)
        return [self.sql.weighted_sum(block, weights.tolist()) for weights in matrix.T]

    def reaches(self, value: Any, edge: float) -> Any:
        if np.isinf(edge):
            return self.sql.truth(edge < 0)
        return self.sql.at_least(self.read(value), self.sql.number(edge - slack(edge)))

    def stays_within(self, value: Any, edge: float) -> Any:
        if np.isinf(edge):
            return self.sql.truth(edge > 0)
        return self.sql.at_most(self.read(value), self.sql.number(edge + slack(edge)))

    def in_any_box(
        self,
        block: list[Any],
        place: Any,
        columns: Sequence[int],
        lower: NDArray[Any],
        upper: NDArray[Any],
    ) -> Any:
        """Tell which rows lie in any box; the whole range of a probability is not looked at."""
        sql, block, place = self.sql, self.named(block), self.named(place)
        boxes = []
        for column, low, high in zip(columns, lower.tolist(), upper.tolist(), strict=True):
            inside = [sql.equal(self.read(place), sql.whole(column))]
            for p, least, most in zip(block, low, high, strict=True):
                # An edge belongs to the box below it, so both ends move up by the slack.
                if least >= 0:
                    inside.append(sql.above(self.read(p), sql.number(least + slack(least))))
                if most < 1:
                    inside.append(sql.at_most(self.read(p), sql.number(most + slack(most))))
            boxes.append(sql.both(*inside))
        return sql.either(*boxes) if boxes else sql.truth(False)

    def interpolated(self, column: Any, x: FloatArray, y: FloatArray) -> Any:
        """Return a curve through knots, flat beyond its ends, as a tree of its pieces."""
        sql, column = self.sql, self.named(column)
        rise = np.append(np.diff(y) / np.diff(x), 0.0)

        def tree(begin: int, end: int) -> Any:
            """Return the pieces from begin on, up to but without end."""
            if end - begin > 1:
                middle = (begin + end) // 2
                before = sql.below(self.read(column), sql.number(x[middle]))
                return sql.case([(before, tree(begin, middle))], tree(middle, end))
            if begin < 0 or rise[begin] == 0:
                return sql.number(y[max(begin, 0)])
            away = sql.subtract(self.read(column), sql.number(x[begin]))
            return sql.add(sql.times(away, rise[begin]), sql.number(y[begin]))

        return tree(-1, len(x))
