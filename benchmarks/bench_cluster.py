"""Decide and apply on rows that tasks generate: Dask with one and two workers, Spark with two.

Nothing is read and nothing is collected: a chunk of scores is made from the numbers of its rows,
by the same arithmetic to the last bit in both engines; all columns of the decisions are made, and
the withheld rows counted where they are. Workers are single-threaded processes that have run a
few rows before the clock starts, as those of a cluster have that is up.

Spark keeps rows in Java, and hands each to Python and back. How long that takes alone, with
nothing done in Python, is measured too: as often as deciding and applying do it.
"""

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from shutil import which
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain import Abstainer
from benchmarks._batches import rows
from benchmarks._row import Row

USUAL = 100_000_000
CHUNK = 2_000_000
WARM = 20_000
# Multiples of it modulo 1 are spread evenly.
GOLDEN = 0.6180339887498949
# Threads of two processes on two cores would be in each other's way.
ALONE = {
    "ABSTAIN_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_LOCAL_IP": "127.0.0.1",
}


def run() -> Iterator[Row]:
    n, abstainer = rows(USUAL), fitted()
    kept = {name: os.environ.get(name) for name in ALONE}
    os.environ |= ALONE
    try:
        one, two = (by_dask(n, abstainer, workers) for workers in (1, 2))
        spark = by_spark(n, abstainer)
    finally:
        for name, value in kept.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    for step in one:
        yield Row(
            f"{n:.0e} rows, {step}: Dask, two workers{_rate(n, two[step])}",
            two[step],
            "one worker",
            one[step],
            at_least=1.6 if step == "both" else None,
        )
    for step in [name for name in one if name in spark]:
        yield Row(
            f"{n:.0e} rows, {step}: Spark, local[2]{_rate(n, spark[step])}",
            spark[step],
            "Dask, two workers",
            two[step],
            at_most=2 if step == "both" else None,
        )
    if spark:
        yield Row(
            f"{n:.0e} rows, both: Spark, local[2]{_rate(n, spark['both'])}",
            spark["both"],
            "rows to Python and back",
            spark["nothing"],
        )


def _rate(n: int, seconds: float) -> str:
    return f", {n / seconds / 1e6:.3g} M rows/s"


def fitted() -> Abstainer:
    """Return an abstainer fitted on logits that are those of their labels."""
    rng = np.random.default_rng(0)
    logits = 12 * rng.random(5_000) - 6
    labels = (rng.random(5_000) < 1 / (1 + np.exp(-logits))).astype(int)
    abstainer = Abstainer(
        "sensitivity@specificity=0.9",
        budget=0.15,
        calibration="platt",
        scale="logits",
        random_state=0,
    )
    return abstainer.fit(logits, labels)


def generated(begin: int, end: int) -> NDArray[np.float64]:
    """Return the logits of the rows with these numbers."""
    turns = np.arange(begin, end) * GOLDEN
    return 12 * (turns - np.floor(turns)) - 5.5


def _timed(decide: Callable[[], Any], count: Callable[[Any], int]) -> dict[str, float]:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decided = decide()
    between = time.perf_counter()
    withheld = count(decided.frame)
    end = time.perf_counter()
    print(f"    {withheld} withheld, proportions {decided.policy.priors.tolist()}", flush=True)
    return {"decide": between - start, "apply": end - between, "both": end - start}


def by_dask(n: int, abstainer: Abstainer, workers: int) -> dict[str, float]:
    """Return the seconds that Dask takes with so many workers of one thread."""
    import dask.dataframe as dd
    import pandas as pd
    from distributed import Client, LocalCluster

    from abstain.dask import decide

    def frame(n: int, chunk: int) -> Any:
        meta = pd.DataFrame({"score": np.empty(0)})
        return dd.from_map(_pandas_chunk, range(0, n, chunk), chunk=chunk, n=n, meta=meta)

    def count(decided: Any) -> int:
        return int(decided["abstain"].sum().compute())

    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, Client(cluster):
        few = WARM // (4 * workers)
        _timed(lambda: decide(frame(WARM, few), abstainer, scores="score"), count)
        return _timed(lambda: decide(frame(n, CHUNK), abstainer, scores="score"), count)


def _pandas_chunk(begin: int, *, chunk: int, n: int) -> Any:
    import pandas as pd

    return pd.DataFrame({"score": generated(begin, min(begin + chunk, n))})


def by_spark(n: int, abstainer: Abstainer) -> dict[str, float]:
    """Return the seconds that Spark takes with two cores; none where it cannot run."""
    if find_spec("pyspark") is None or which("java") is None:
        print("    no pyspark or no java here: Spark is not measured", flush=True)
        return {}
    from abstain.spark import decide

    with _session() as spark:

        def frame(n: int, chunk: int) -> Any:
            turns = f"id * {GOLDEN}D"
            made = spark.range(0, n, 1, max(-(-n // chunk), 2))
            return made.selectExpr(f"12 * ({turns} - floor({turns})) - 5.5D AS score")

        def count(decided: Any) -> int:
            return int(decided.selectExpr("sum(int(abstain))").collect()[0][0])

        def nothing(rows: Any) -> float:
            start = time.perf_counter()
            rows.mapInArrow(_counted, "n long").selectExpr("sum(n)").collect()
            made = rows.mapInArrow(_same, "score double")
            made.selectExpr("sum(int(score > 0))").collect()
            return time.perf_counter() - start

        _timed(lambda: decide(frame(WARM, WARM // 8), abstainer, scores="score"), count)
        found = _timed(lambda: decide(frame(n, CHUNK), abstainer, scores="score"), count)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nothing(frame(WARM, WARM // 8))
            return found | {"nothing": nothing(frame(n, CHUNK))}


def _counted(batches: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    yield pa.RecordBatch.from_pydict({"n": [sum(batch.num_rows for batch in batches)]})


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    return batches


@contextmanager
def _session() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = SparkSession.builder.master("local[2]").appName("abstain")
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
            # Without a limit Spark need not ask each row how large the batch has become.
            "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
