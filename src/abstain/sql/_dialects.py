"""What the engines differ in, and what of it the query has to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from abstain.exceptions import extra


@dataclass(frozen=True)
class Dialect:
    """One engine's ways.

    Attributes
    ----------
    name : str
        What sqlglot calls it.
    steps : {"except", "lateral", "rowid"}
        How a query in steps keeps the table's columns without those of the steps: by a star with
        exceptions; by subqueries beside the table; by joining the table again.
    strict : bool
        Whether a product or a quotient too small to be a number is an error.
    infinite : bool
        Whether a product too large to be a number is infinity; an error where not.
    exact_literals : bool
        Whether every number that is written in decimals is read to the last bit.
    typed : bool
        Whether a column holds one type; where not, text in it must be told from numbers.
    nulls_in_greatest : bool
        Whether the text of GREATEST is plain only if NULL is left out of it.
    is_false : bool
        Whether a condition can be asked to be FALSE, which NULL is not.
    """

    name: str
    steps: Literal["except", "lateral", "rowid"] = "except"
    strict: bool = False
    infinite: bool = False
    exact_literals: bool = True
    typed: bool = True
    nulls_in_greatest: bool = False
    is_false: bool = True


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("bigquery"),
        Dialect("databricks", steps="lateral"),
        Dialect("duckdb", infinite=True),
        Dialect("postgres", steps="lateral", strict=True),
        Dialect("snowflake", nulls_in_greatest=True, is_false=False),
        Dialect("spark", steps="lateral"),
        Dialect(
            "sqlite",
            steps="rowid",
            infinite=True,
            exact_literals=False,
            typed=False,
            nulls_in_greatest=True,
        ),
    )
}
_ALSO = {"postgresql": "postgres", "sparksql": "spark", "spark sql": "spark", "sqlite3": "sqlite"}


def dialect_of(name: Any) -> Dialect:
    """Return the dialect of that name."""
    if not isinstance(name, str):
        raise TypeError(f"`dialect` must be a name such as 'duckdb'; got {name!r}.")
    plain = name.strip().lower()
    plain = _ALSO.get(plain, plain)
    if plain not in DIALECTS:
        raise ValueError(f"`dialect` must be one of {', '.join(DIALECTS)}; got {name!r}.")
    return DIALECTS[plain]


def package() -> Any:
    """Return sqlglot's expressions."""
    with extra("sql", "SQL export needs sqlglot"):
        from sqlglot import exp
    return exp
