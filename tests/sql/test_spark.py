"""Spark runs the query and decides alike; it takes a minute to start and to plan."""

import shutil

import numpy as np
import pytest

from .cases import of_four, of_two
from .engines import assert_decides_alike, columns_of

pytestmark = pytest.mark.slow


class InSpark:
    """A session in this process, as the other engines."""

    dialect = "spark"

    def __init__(self):
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        self.session = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()

    def load(self, columns):
        import pandas as pd

        n = len(next(iter(columns.values())))
        frame = pd.DataFrame({"id": np.arange(n), **columns})
        self.session.createDataFrame(frame).createOrReplaceTempView("t")

    def run(self, query):
        rows = self.session.sql(f"SELECT * FROM ({query}) ORDER BY id")
        found = [tuple(row) for row in rows.collect()]
        return dict(zip(rows.columns, zip(*found, strict=True), strict=True))

    def close(self):
        self.session.stop()


@pytest.fixture(scope="module")
def spark():
    pytest.importorskip("pyspark", reason="needs Spark to run the query")
    if shutil.which("java") is None:
        pytest.skip(
            "NOT TESTED ON SPARK: there is no Java. On Debian: apt-get install default-jre"
        )
    engine = InSpark()
    yield engine
    engine.close()


@pytest.mark.filterwarnings("ignore")
def test_every_kind_of_query(spark):
    for policy, scores in (
        of_two("beta", "probabilities"),
        of_two("isotonic"),
        of_four("bcts"),
        of_four("isotonic"),
    ):
        spark.load(columns_of(scores))
        assert_decides_alike(spark, policy, scores)
    spark.load({"s0": np.array([np.nan, np.inf, -np.inf])})
    policy, _ = of_two("bcts")
    found = spark.run(policy.to_sql("spark", table="t", scores=["s0"]))
    assert found["abstain"] == (True,) * 3
    assert found["prediction"] == found["p_1"] == (None,) * 3
