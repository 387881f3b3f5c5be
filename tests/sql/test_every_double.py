"""A rule on one score is comparisons with numbers, and right to the last bit of every double."""

from dataclasses import replace

import numpy as np
import pytest
import sqlglot
from sqlglot import exp

from abstain import Policy, calibration, metrics
from abstain.regions import Interval, ScoreThreshold
from abstain.rules import Argmax, Threshold

from .cases import BINARY, of_two, variants
from .engines import InDuckDB, InSQLite, applied, columns_of


def bounds(query):
    """The numbers that the last columns of a DuckDB query compare the score with."""
    tree = sqlglot.parse_one(query, dialect="duckdb")
    columns = [one for one in tree.expressions if one.alias in ("prediction", "abstain")]
    found = [float(one.name) for column in columns for one in column.find_all(exp.Literal)
             if one.is_string]  # fmt: skip
    return np.unique(found)


def neighbours(values, count, dtype):
    """Doubles (or singles) about some, the nearest on both sides and some further away."""
    values = np.asarray(values, dtype=dtype)
    around = [values]
    for direction in (-np.inf, np.inf):
        step = values
        for _ in range(count):
            step = np.nextafter(step, dtype(direction))
            around.append(step)
    far = values[:, None] * (1 + np.finfo(dtype).eps * np.geomspace(10, 1e9, 40)).astype(dtype)
    found = np.concatenate([*around, far.ravel()])
    return np.unique(found[np.isfinite(found)])


def both_precisions():
    """Every calibrator on both scales: in one precision quickly, in the other at length."""
    for number, name in enumerate(BINARY):
        for other, scale in enumerate(["probabilities", "logits"]):
            kinds = [np.float32, np.float64][:: 1 if (number + other) % 2 else -1]
            yield pytest.param(name, scale, kinds[0])
            yield pytest.param(name, scale, kinds[1], marks=pytest.mark.slow)


@pytest.mark.parametrize(("name", "scale", "dtype"), [*both_precisions()])
def test_about_every_edge_the_very_next_double_is_decided_alike(name, scale, dtype):
    policy, scores = of_two(name, scale)
    every = [*variants(policy, scores.astype(dtype))]
    for changed in [every[0], every[2 + BINARY.index(name)]]:
        query = changed.to_sql(
            "duckdb", table="t", scores=["s0"], probabilities=False, dtype=np.dtype(dtype).name
        )
        # No logarithm and no exponential: nothing that engines compute differently.
        assert "LN(" not in query
        assert "EXP(" not in query
        edges = bounds(query)
        edges = edges[np.abs(edges) < 1e30]
        given = neighbours(edges, 30, dtype)
        if scale == "probabilities":
            given = given[(given >= 0) & (given <= 1)]
        expected = applied(changed, given)
        engine = InDuckDB()
        engine.load(columns_of(given))
        found = engine.run(query)
        engine.close()
        assert [*found["abstain"]] == expected.abstain.tolist()
        assert [*found["prediction"]] == expected.prediction.tolist()


def made(name, scale="logits", *, region, rule=None, **state):
    data = {"name": name, "scale": scale, **state}
    half = np.array([0.5, 0.5])
    return Policy(
        classes=np.arange(2),
        calibrator=calibration.from_dict(data, classes=np.arange(2)),
        source_priors=half,
        priors=half,
        region=region,
        rule=rule or Argmax(),
        metric=metrics.get("accuracy"),
        positive=1,
    )


def test_by_hand():
    """A logit of 0 is one half, and the rule withholds from 1/4 to 3/4: up to log 3."""
    policy = made("temperature", region=Interval(0.25, 0.75), slope_=[1.0, 1.0], bias_=[0.0, 0.0])
    query = policy.to_sql("duckdb", table="t", scores=["s0"], probabilities=False)
    assert query.count("BETWEEN") == 4  # withheld, a score at all, and one for each class
    low, high = [one for one in bounds(query) if 1 < abs(one) < 2]
    assert low == pytest.approx(-np.log(3))
    assert high == pytest.approx(np.log(3))


def test_a_falling_curve_and_one_that_turns():
    """A negative slope, and slopes of opposite signs, whose curve has a summit."""
    region = Interval(0.3, 0.45)
    falling = made("vector", region=region, slope_=[-2.0, -2.0], bias_=[0.1, 0.0])
    turning = made(
        "dirichlet",
        "probabilities",
        region=region,
        rule=Threshold(0.35),
        matrix_=[[0.0, 1.0], [0.0, 1.0]],
        bias_=[0.0, 0.9],
    )
    for policy, scores in (
        (falling, np.linspace(-3, 3, 4001)),
        (turning, np.linspace(0, 1, 4001)),
    ):
        expected = applied(policy, scores)
        assert 0 < expected.abstain.sum() < len(scores)
        for engine in (InDuckDB(), InSQLite()):
            engine.load(columns_of(scores))
            found = engine.run(policy.to_sql(engine.dialect, table="t", scores=["s0"]))
            engine.close()
            assert [bool(one) for one in found["abstain"]] == expected.abstain.tolist()
            assert [*found["prediction"]] == expected.prediction.tolist()
            assert np.asarray(found["p_1"]) == pytest.approx(expected.proba[:, 1], abs=1e-12)


def test_an_interval_of_a_few_doubles_is_found():
    """What is withheld may be far narrower than any grid of scores."""
    p = 0.123456789
    policy = made(
        "identity",
        "probabilities",
        region=Interval(p, float(np.nextafter(p, 1))),
        slope_=[1.0, 1.0],
        bias_=[0.0, 0.0],
    )
    query = policy.to_sql("duckdb", table="t", scores=["s0"], probabilities=False)
    assert {p, float(np.nextafter(p, 1))} <= set(bounds(query).tolist())
    # About one half a score of uncertainty has its summit, and nothing is withheld but that.
    region = ScoreThreshold("max-probability", 0.5)
    query = replace(policy, region=region).to_sql(
        "duckdb", table="t", scores=["s0"], probabilities=False
    )
    near = bounds(query)[np.abs(bounds(query) - 0.5) < 1e-15]
    assert 0.5 in near
    assert len(near) >= 2
    found = applied(replace(policy, region=region), near)
    assert found.abstain.sum() > 0


def test_sqlite_reads_every_number_to_the_last_bit():
    """Decimals are not read exactly by SQLite, fractions of whole numbers are."""
    from abstain.sql._dialects import dialect_of
    from abstain.sql._expressions import Expressions

    engine, sql = InSQLite(), Expressions(dialect_of("sqlite"))
    bits = np.random.default_rng(0).integers(2**63, size=1000).view(np.float64)
    most = np.finfo(np.float64)
    given = [*bits[np.isfinite(bits)].tolist(), 0.1, 1e23, float(most.max), 5e-324, 1e-310, -0.5]
    for value in given:
        query = f"SELECT {sql.number(value).sql(dialect='sqlite')}"
        assert engine.connection.execute(query).fetchone() == (value,)
    engine.close()
