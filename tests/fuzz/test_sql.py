"""A query decides as the library does: saturated, tied, in any company; and no nonsense."""

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
from .machine import fuzzed
from .rules import frozen
from .test_differential import KEPT, made

pytest.importorskip("sqlglot", reason="SQL export needs the extra 'sql'")
pytest.importorskip("duckdb", reason="needs DuckDB to run the query")

AREA = "SQL"
SCORES = (None, None, "max-probability", "entropy", "margin", "js-divergence")
ENGINES = {"duckdb": InDuckDB, "sqlite": InSQLite}
NONSENSE = [np.nan, np.inf, -np.inf, -1.0, 1.5, 3e38, 1e308, -1e308, -0.0, -1e-30, 5e-324, 1.0005]
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
