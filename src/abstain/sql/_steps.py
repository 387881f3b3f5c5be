"""A query in steps: each adds columns that the next ones read, and the table's own are kept.

A column of a step is computed once per row. Written into one expression it would be computed as
often as it is read, and of many classes that is more often than anybody can wait for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from abstain.sql._dialects import Dialect
from abstain.sql._expressions import Expressions

#: What the names of columns that only the query itself reads begin with.
OURS = "abstain__"
_TABLE = "t"


class Steps(Expressions):
    """The steps of a query on one table.

    Parameters
    ----------
    dialect : Dialect
        The engine.
    table : tuple of str
        The parts of the table's name.
    scores : list of str
        The score columns.
    keep : list of str or None
        The table's columns that come out; None for all.
    """

    def __init__(
        self, dialect: Dialect, table: tuple[str, ...], scores: list[str], keep: list[str] | None
    ) -> None:
        super().__init__(dialect)
        self.table = table
        self.scores = scores
        self.kept = keep
        self.steps: list[list[tuple[str, Any]]] = []

    def score(self, index: int) -> Any:
        """Return a score in double precision: the first step computes them all, in order."""
        if self.steps:
            return self(f"{OURS}{index}")
        column = self._column(self.scores[index])
        if self.dialect.typed:
            return self.double(column)
        # A cast would make a number of any text.
        kind = self.tree.Anonymous(this="TYPEOF", expressions=[column.copy()])
        numbers = [self.text("real"), self.text("integer")]
        return self.case([(self.tree.In(this=kind, expressions=numbers), self.double(column))])

    def place(self, name: str, values: Sequence[Any]) -> Any:
        """Return which of some values a column of the table holds; for the first step too."""
        return self.number_of_first([self.equal(self._column(name), one) for one in values])

    def step(self, values: Sequence[Any]) -> list[str]:
        """Compute columns from those of the steps before; return what they are called."""
        start = sum(map(len, self.steps))
        names = [f"{OURS}{start + i}" for i in range(len(values))]
        self.steps.append(list(zip(names, values, strict=True)))
        return names

    def one(self, value: Any) -> str:
        """Compute one column."""
        return self.step([value])[0]

    def __call__(self, name: str) -> Any:
        """Return a column of a step, to be read once."""
        return self.tree.Column(this=self._named(name))

    def weighted_sum(self, names: Sequence[str], weights: Any) -> Any:
        """Add columns of steps, each times a number."""
        pairs = zip(names, weights, strict=True)
        return self.sum([self.times(self(name), weight) for name, weight in pairs])

    def by_number(self, name: str, values: Sequence[Any]) -> Any:
        """Return, of some values, the one whose number a column of a step holds."""
        return self.case(
            [(self.equal(self(name), self.whole(i)), value) for i, value in enumerate(values)]
        )

    def select(self, outputs: Mapping[str, Any]) -> str:
        """Return the query whose last step gives the outputs by their names."""
        told = [self._called(value, name) for name, value in outputs.items()]
        if not self.steps:
            query = self._select([*self._kept(), *told], self._base())
        else:
            query = getattr(self, f"_by_{self.dialect.steps}")(told)
        text: str = query.sql(dialect=self.dialect.name, pretty=True, copy=False)
        return text

    def _by_except(self, told: list[Any]) -> Any:
        """Carry the table's columns through all steps, and leave out those of the steps."""
        if self.kept is None:
            names = [self._named(name) for step in self.steps for name, _ in step]
            return self._chained([self.tree.Star()], [self.tree.Star(except_=names), *told])
        return self._chained(self._kept(), [*map(self, self.kept), *told])

    def _by_rowid(self, told: list[Any]) -> Any:
        """Carry the number of the row, and find it again in the table.

        A view has none, and no table a column called so that is not whole numbers: both would
        lose or multiply rows in silence, so they stop the query instead.
        """
        if self.kept is not None:
            return self._by_except(told)
        row = f"{OURS}row"
        # `rowid` may be a column's name; its other spelling hardly is.
        number = self.tree.column("_rowid_", table=self._named(_TABLE))
        kind = self.tree.Anonymous(this="TYPEOF", expressions=[number.copy()])
        # The opposite of the smallest whole number is none, and an error.
        stop = self.tree.Abs(this=self.tree.Literal.number(-(2**63)))
        carried = self.case([(self.equal(kind, self.text("integer")), number)], stop)
        query = self._chained([self._called(carried, row)], [*self._kept(), *told])
        again = self.equal(number.copy(), self(row))
        query.set("from_", self.tree.From(this=self._base()))
        last = self.tree.Table(this=self._named(self._alias(len(self.steps))))
        return query.join(last, on=again)

    def _chained(self, carried: list[Any], last: list[Any]) -> Any:
        """Return the last step's columns, from steps each of which reads the one before."""
        steps, source = [], self._base()
        # SQLite would write expressions into one another again, and DuckDB keep what is read once.
        kept_apart = {"sqlite": True, "duckdb": False}.get(self.dialect.name)
        for number, step in enumerate(self.steps, 1):
            made = [self._called(value, name) for name, value in step]
            columns = carried if number == 1 else [self.tree.Star()]
            alias = self.tree.TableAlias(this=self._named(self._alias(number)))
            query = self._select([*columns, *made], source)
            steps.append(self.tree.CTE(this=query, alias=alias, materialized=kept_apart))
            source = self.tree.Table(this=self._named(self._alias(number)))
        query = self._select(last, source)
        query.set("with_", self.tree.With(expressions=steps))
        return query

    def _by_lateral(self, told: list[Any]) -> Any:
        """Put a subquery of one row beside each row of the table, for every step."""
        query = self._select([*self._kept(), *told], self._base())
        joins = []
        for number, step in enumerate(self.steps, 1):
            made = self.tree.Select(
                expressions=[self._called(value, name) for name, value in step]
            )
            if self.dialect.name == "postgres":
                # Or the planner would write expressions into one another again.
                made.set("offset", self.tree.Offset(expression=self.tree.Literal.number(0)))
            alias = self.tree.TableAlias(this=self._named(self._alias(number)))
            lateral = self.tree.Lateral(this=self.tree.Subquery(this=made), alias=alias)
            joins.append(self.tree.Join(this=lateral, kind="CROSS"))
        query.set("joins", joins)
        return query

    def _base(self) -> Any:
        parts = [self._named(part) for part in self.table]
        places = dict(zip(("this", "db", "catalog"), reversed(parts), strict=False))
        alias = self.tree.TableAlias(this=self._named(_TABLE))
        return self.tree.Table(**places, alias=alias)

    def _kept(self) -> list[Any]:
        if self.kept is None:
            return [self.tree.Column(this=self.tree.Star(), table=self._named(_TABLE))]
        return [self._column(name) for name in self.kept]

    def _select(self, columns: list[Any], source: Any) -> Any:
        return self.tree.Select(expressions=columns, from_=self.tree.From(this=source))

    def _column(self, name: str) -> Any:
        return self.tree.Column(this=self._named(name), table=self._named(_TABLE))

    def _called(self, value: Any, name: str) -> Any:
        return self.tree.Alias(this=value, alias=self._named(name))

    def _named(self, name: str) -> Any:
        return self.tree.Identifier(this=name, quoted=True)

    def _alias(self, number: int) -> str:
        return f"{OURS}step_{number}"
