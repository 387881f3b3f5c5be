"""A query decides as the library does: saturated, tied, in any company; and no nonsense."""

import sqlite3

import numpy as np
import pytest
from hypothesis import strategies as st

from ..sql.engines import (
    InDuckDB,
    InSQLite,
    applied,
    assert_decides_alike,
    columns_of,
)
from .arrays import seeds
from .cases import cases
from .machine import fuzzed, outcome
from .rules import frozen
from .test_differential import KEPT, made

pytest.importorskip("sqlglot", reason="SQL export needs the extra 'sql'")
pytest.importorskip("duckdb", reason="needs DuckDB to run the query")

AREA = "SQL"
SCORES = (None, None, "max-probability", "entropy", "margin", "js-divergence")
ENGINES = {"duckdb": InDuckDB, "sqlite": InSQLite}
NONSENSE = [np.nan, np.inf, -np.inf, -1.0, 1.5, 3e38, 1e308, -1e308, -0.0, -1e-30, 5e-324, 1.0005]
#: Names that engines, people and this library have uses of their own for.
HOSTILE = [
    "rowid",
    "ROWID",
    "oid",
    "_rowid_",
    "select",
    'a"b',
    "x; DROP TABLE t; --",
    " ",
    "é",
    "t",
]
HOSTILE += [
    "abstain",
    "Prediction",
    "p_0",
    "p_1",
    "policy",
    "abstain_abstain",
    "id2",
    "1",
    "'",
    "--",
]
_OPEN = {}


def opened(name):
    """One database of each kind for all examples."""
    if name not in _OPEN:
        _OPEN[name] = ENGINES[name]()
    return _OPEN[name]


@fuzzed(AREA, quick=2, examples=KEPT[::4], case=cases(dtypes=("f4", "f8"), scores=SCORES))
def test_a_query_decides_as_the_decisions_did(case):
    decisions = made(case)
    if decisions is None:
        return "refused"
    engine = opened("duckdb")
    engine.load(columns_of(case.scores))
    assert_decides_alike(engine, decisions.policy, case.scores, atol=1e-7)
    return "alike"


@fuzzed(
    AREA,
    quick=6,
    share=2.0,
    rule=frozen(dtypes=("f4", "f8"), classes=(2, 2, 2, 3, 5)),
    seed=seeds(),
    name=st.sampled_from([*ENGINES]),
    nonsense=st.lists(st.sampled_from(NONSENSE), max_size=4),
)
def test_any_rule_decides_alike_as_a_query(rule, seed, name, nonsense):
    policy, scores = rule
    engine, rng = opened(name), np.random.default_rng(seed)
    scores = scores.copy()
    numbers = scores.reshape(len(scores), -1)
    with np.errstate(over="ignore"):
        for value in nonsense:
            numbers[rng.integers(len(scores)), rng.integers(numbers.shape[1])] = value
    engine.load(columns_of(scores))
    found = engine.run(
        policy.to_sql(name, table="t", scores=[*columns_of(scores)], dtype=str(scores.dtype))
    )
    refused = 0
    for row in range(len(scores)):
        try:
            expected = applied(policy, scores[row : row + 1])
        except ValueError:
            refused += 1
            assert bool(found["abstain"][row]) is True
            assert found["prediction"][row] is None
            assert all(found[f"p_{label}"][row] is None for label in policy.classes.tolist())
        else:
            assert bool(found["abstain"][row]) == expected.abstain[0]
            assert found["prediction"][row] == expected.prediction[0]
            told = [found[f"p_{label}"][row] for label in policy.classes.tolist()]
            np.testing.assert_allclose(told, expected.proba[0], rtol=0, atol=1e-7)
    return "withheld" if refused else "alike"


@fuzzed(
    AREA,
    quick=8,
    rule=frozen(dtypes=("f8",), classes=(2, 2, 3)),
    name=st.sampled_from([*ENGINES]),
    names=st.lists(st.sampled_from(HOSTILE), min_size=7, max_size=7, unique_by=str.casefold),
    view=st.booleans(),
)
def test_a_table_of_hostile_names_keeps_its_rows(rule, name, names, view):
    """Whatever the columns are called, beside the scores too, and whether it is a view."""
    policy, scores = rule
    engine = opened(name)
    given = dict(zip(names, columns_of(scores).values(), strict=False))
    others = {one: np.repeat(7.5, len(scores)) for one in names[len(given) : len(given) + 3]}
    engine.load({**given, **others})
    if view:
        engine.connection.execute("DROP VIEW IF EXISTS seen")
        engine.connection.execute("CREATE VIEW seen AS SELECT * FROM t")
    # SQLite finds rows of a table by their numbers, which a view has not.
    keep = {"keep": ["id", *given, *others]} if view and name == "sqlite" else {}
    table = "seen" if view else "t"
    query = outcome(lambda: policy.to_sql(name, table=table, scores=[*given], **keep))
    if isinstance(query, Exception):
        return "refused"
    try:
        found = engine.run(query)
    except sqlite3.OperationalError:
        # No name is left for the number of a row: it stops, and loses none in silence.
        if "_rowid_" not in names:
            raise
        return "stopped"
    assert [*found["id"]] == [*range(len(scores))]
    for one in others:
        assert set(found[one]) == {7.5}
    ours = [*found][1 + len(given) + len(others) :]
    # Engines number what is there twice; the last but one is whether to abstain.
    abstains = [bool(one) for one in found[ours[-2]]]
    assert abstains == applied(policy, scores).abstain.tolist()
    return "alike"
