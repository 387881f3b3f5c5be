"""A million rows, many knots and many classes: the same decisions, row by row."""

from dataclasses import replace

import numpy as np
import pytest

from abstain import Policy, calibration, metrics
from abstain.regions import GainThreshold, Interval, TopShare
from abstain.rules import Argmax, BestGain

from .cases import of_four, of_two
from .engines import InDuckDB, InSQLite, applied, assert_decides_alike, columns_of

MILLION = 1_000_000


def batches():
    """A rule on one score, and one on a score for each of four classes, with a million rows."""
    rng = np.random.default_rng(0)
    yield of_two("bcts", "probabilities")[0], rng.random(MILLION)
    yield of_four("bcts")[0], rng.dirichlet(np.ones(4), size=MILLION)


def check_a_million(engine, policy, scores):
    engine.load(columns_of(scores))
    names = [*columns_of(scores)]
    found = engine.run(policy.to_sql(engine.dialect, table="t", scores=names, keep=["id"]))
    expected = applied(policy, scores)
    assert np.array_equal(np.array(found["prediction"]), expected.prediction)
    assert np.array_equal(np.array(found["abstain"], dtype=bool), expected.abstain)
    last = f"p_{policy.classes[-1]}"
    told = np.array(found[last])
    np.testing.assert_allclose(told, expected.proba[:, -1], rtol=0, atol=1e-12)
    assert 0.05 < expected.abstain.mean() < 0.95


def test_a_million_rows_in_duckdb():
    """Without fetching them: what differs is counted in the database."""
    engine = InDuckDB()
    for policy, scores in batches():
        expected = applied(policy, scores)
        columns = columns_of(scores)
        known = {"label": expected.columns, "withheld": expected.abstain}
        engine.load({**columns, **known})
        query = policy.to_sql("duckdb", table="t", scores=[*columns])
        labels = ", ".join(f"'{label}'" for label in policy.classes)
        said = "CAST(prediction AS VARCHAR)"
        wrong = f"{said} <> ([{labels}])[label + 1] OR abstain <> withheld"
        count = f"SELECT COUNT(*), COUNT_IF({wrong}), COUNT_IF(abstain) FROM ({query})"
        (found,) = engine.connection.execute(count).fetchall()
        assert found == (MILLION, 0, int(expected.abstain.sum()))
    engine.close()


@pytest.mark.slow
def test_a_million_rows_in_sqlite():
    engine = InSQLite()
    for policy, scores in batches():
        check_a_million(engine, policy, scores)
    engine.close()


@pytest.mark.slow
def test_a_million_rows_in_postgres(postgres):
    for policy, scores in batches():
        check_a_million(postgres, policy, scores)


def test_hundreds_of_knots(engine):
    rng = np.random.default_rng(0)
    policy, _ = of_two("bcts", "logits")
    x, y = np.sort(rng.normal(size=200)), np.sort(rng.random(200))
    data = {"name": "isotonic", "thresholds_": x, "values_": y, "offsets_": [0, 200]}
    curve = calibration.from_dict({**data, "scale": "logits"}, classes=policy.classes)
    policy = replace(policy, calibrator=curve, region=Interval(0.4, 0.6))
    scores = rng.normal(size=500)
    engine.load(columns_of(scores))
    assert_decides_alike(engine, policy, scores)


@pytest.mark.parametrize(
    ("kind", "k"),
    [("gains", 15), ("share", 100), pytest.param("gains", 100, marks=pytest.mark.slow)],
)
def test_many_classes(engine, kind, k):
    rng = np.random.default_rng(0)
    gains = rng.normal(size=(k, k))
    policy = Policy(
        classes=np.arange(k),
        calibrator=calibration.from_dict(
            {"name": "vector", "scale": "logits", "slope_": np.ones(k), "bias_": np.zeros(k)},
            classes=np.arange(k),
        ),
        source_priors=np.full(k, 1 / k),
        priors=rng.dirichlet(np.ones(k)),
        region=GainThreshold(gains, 0.5) if kind == "gains" else TopShare(3, 0.5),
        rule=BestGain(gains) if kind == "gains" else Argmax(),
        metric=metrics.get("accuracy"),
    )
    scores = 2 * rng.normal(size=(200, k))
    engine.load(columns_of(scores))
    assert_decides_alike(engine, policy, scores)


def test_too_many_classes():
    policy, _ = of_four("bcts")
    many = np.arange(501)
    large = replace(policy, classes=many, columns=many)
    with pytest.raises(ValueError, match="too large for SQL"):
        large.to_sql("duckdb", table="t", scores=list(map(str, many)))
