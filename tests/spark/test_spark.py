"""Spark in local mode: the rule of one machine, whatever the partitions, and its columns."""

import os
import shutil
import sys

import numpy as np
import pytest

from abstain import Abstainer
from abstain.datasets import screening_clinic

pytest.importorskip("pyspark", reason="Spark is NOT TESTED: pyspark is not installed")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

bridge = pytest.importorskip("abstain.spark")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("java") is None and "JAVA_HOME" not in os.environ,
        reason="Spark is NOT TESTED: there is no Java here (Debian: default-jre-headless)",
    ),
    # Spark's own business with the newest pandas, and with sockets.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning"),
]

N = 1_200
# More than a summary, and less than the rows of the test that says so.
MOST_TO_DRIVER = 8 * 2**20


@pytest.fixture(scope="module")
def spark():
    import warnings

    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.maxResultSize": str(MOST_TO_DRIVER),
        "spark.sql.shuffle.partitions": "2",
    }
    kept = os.environ.get("PYSPARK_PYTHON")
    # Otherwise the workers take the first python that is found, which may be another.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    yield session
    session.stop()
    if kept is None:
        del os.environ["PYSPARK_PYTHON"]
    else:
        os.environ["PYSPARK_PYTHON"] = kept


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(600, N, random_state=0)


@pytest.fixture(scope="module")
def binary(clinic):
    abstainer = Abstainer(
        "sensitivity@specificity=0.9",
        budget=0.15,
        calibration="platt",
        scale="logits",
        random_state=0,
    )
    return abstainer.fit(clinic.scores_val, clinic.y_val)


@pytest.fixture(scope="module")
def frame(clinic):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "id": np.arange(N),
            "clinic.name": [f"clinic {at}" for at in rng.integers(9, size=N)],
            "score": clinic.scores_target,
            "times": rng.integers(1, 4, N).astype(float),
            "abstain": rng.random(N) < 0.5,
        }
    )


@pytest.fixture(scope="module")
def ten():
    rng = np.random.default_rng(0)
    labels = np.array([f"c{at}" for at in range(10)])
    y_val, y = rng.integers(10, size=500), rng.integers(10, size=N)
    scores_val, scores = rng.normal(size=(500, 10)), rng.normal(size=(N, 10))
    scores_val[np.arange(500), y_val] += 2
    scores[np.arange(N), y] += 2
    abstainer = Abstainer("accuracy", budget=0.2, scale="logits", random_state=0)
    abstainer.fit(scores_val, labels[y_val], classes=labels)
    frame = pd.DataFrame(scores, columns=[f"p_{label}" for label in labels])
    return abstainer, frame.assign(id=np.arange(N))


def content(policy):
    """Return everything that a policy is but when it was made."""
    return {**policy.to_dict(), "created": ""}


def alone(abstainer, *scores, **how):
    return content(abstainer.decide_summary(abstainer.summarise(*scores, **how)))


def as_one(policy, frame, **how):
    """Return what one machine makes, but for the share of a row in what all rows gain."""
    whole = policy.apply(frame, **how).to_frame()
    return whole.assign(gain=np.nan) if len(policy.classes) == 2 else whole


def collected(frame):
    rows = pd.DataFrame([[*row] for row in frame.collect()], columns=frame.columns)
    return rows.sort_values("id", ignore_index=True)


# Of 1,200 rows in 20 partitions some are empty, where they are put by a hash of 7 values.
@pytest.mark.parametrize("partitions", [1, 3, 20])
def test_the_rule_is_that_of_one_machine_whatever_the_partitions(partitions, spark, binary, frame):
    rows = spark.createDataFrame(frame)
    cut = rows.repartition(partitions, rows["id"] % 7)
    found = bridge.summarise(cut, binary, scores="score")
    assert found.to_bytes() == binary.summarise(frame["score"].to_numpy()).to_bytes()
    assert content(binary.decide_summary(found)) == alone(binary, frame["score"].to_numpy())


def test_columns_of_two_classes(spark, binary, frame):
    rows = spark.createDataFrame(frame).repartition(3)
    decided = bridge.decide(rows, binary, scores="score", sample_weight="times")
    weighted = alone(binary, frame["score"].to_numpy(), frame["times"].to_numpy())
    assert content(decided.policy) == weighted
    expected = as_one(decided.policy, frame.rename(columns={"score": "p_1"}))
    assert decided.frame.columns == [*expected.columns]
    assert decided.frame.columns[:4] == ["id", "clinic.name", "times", "abstain"]
    kinds = dict(decided.frame.dtypes)
    assert kinds["abstain_abstain"] == "boolean"
    assert kinds["reason"] == "string"
    assert kinds["prediction"] == "bigint"
    assert kinds["p_1"] == "double"
    pd.testing.assert_frame_equal(collected(decided.frame), expected, check_dtype=False)


def test_columns_of_ten_classes(spark, ten):
    abstainer, frame = ten
    decided = bridge.decide(spark.createDataFrame(frame).repartition(3), abstainer)
    assert content(decided.policy) == alone(abstainer, frame)
    expected = as_one(decided.policy, frame)
    pd.testing.assert_frame_equal(collected(decided.frame), expected, check_dtype=False)


@pytest.mark.parametrize("missing", ["refer", "drop"])
def test_rows_without_a_score(missing, spark, binary, frame):
    gaps = frame.assign(score=frame["score"].where(np.arange(N) % 7 > 0))
    rows = spark.createDataFrame(gaps).repartition(3)
    decided = bridge.decide(rows, binary, scores="score", missing=missing)
    assert content(decided.policy) == alone(binary, gaps["score"].to_numpy(), missing=missing)
    named = gaps.rename(columns={"score": "p_1"})
    whole = as_one(decided.policy, named, missing=missing).reset_index(drop=True)
    made = collected(decided.frame)
    whole["prediction"] = whole["prediction"].astype(made["prediction"].dtype)
    pd.testing.assert_frame_equal(made, whole, check_dtype=False)


def test_nothing_but_summaries_reaches_the_driver(spark, binary):
    rows = spark.range(0, 3_000_000, 1, 12).selectExpr("id", "rand(0) * 12 - 6 AS score")
    with pytest.raises(Exception, match="maxResultSize"):
        rows.collect()
    decided = bridge.decide(rows, binary, scores="score")
    withheld = decided.frame.selectExpr("sum(int(abstain))").collect()[0][0]
    assert 0 < withheld <= 0.15 * 3_000_000


def test_errors_name_the_argument(spark, binary, frame):
    rows = spark.createDataFrame(frame)
    with pytest.raises(ValueError, match="`scores` must name columns that are there"):
        bridge.decide(rows, binary, scores="points")
    with pytest.raises(ValueError, match='`missing` must be "error"'):
        bridge.decide(rows, binary, scores="score", missing="skip")
    with pytest.raises(ValueError, match="`frame` has no rows that count"):
        bridge.decide(rows.limit(0), binary, scores="score")
    with pytest.raises(TypeError, match="must be a Spark DataFrame; got DataFrame"):
        bridge.decide(frame, binary, scores="score")
