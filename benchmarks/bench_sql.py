"""The rule as SQL in DuckDB, beside a bare scan of the score column.

The table is in memory, has 10^7 rows and one column of scores beside a number for each row. The
bare scan is ``SELECT SUM(score)``: it reads the column, computes one number of each row, and keeps
none of them. The rule is read the same way, by ``COUNT_IF(abstain)``: how many rows go to a
person. So both read one column and keep nothing. Beside that both are written to a table.
"""

from collections.abc import Iterator
from typing import Any

from abstain import Abstainer, Policy
from abstain.datasets import screening_clinic, simulate_four_class_normal
from benchmarks._row import Row, best_of_each

N_ROWS = 10_000_000
_COUNTED = "SUM(prediction), COUNT_IF(abstain)"


def binary(calibration: str, n: int = 2_000) -> Policy:
    clinic = screening_clinic(n, n, random_state=0)
    abstainer = Abstainer(
        "auroc", budget=0.2, calibration=calibration, scale="logits", random_state=0
    )
    return abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target).policy


def of_four() -> Policy:
    data = simulate_four_class_normal(2_000, random_state=0)
    abstainer = Abstainer("accuracy", budget=0.2, calibration="bcts", random_state=0)
    return abstainer.fit(data.proba, data.y).decide(data.proba).policy


def run() -> Iterator[Row]:
    import duckdb

    connection = duckdb.connect()
    # On one thread, so that a busy machine meets both alike.
    connection.execute("SET threads = 1")

    def read(query: str) -> None:
        connection.execute(query).fetchall()

    def kept(query: str) -> None:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE kept AS {query}")

    connection.execute("SELECT SETSEED(0.1)")
    connection.execute(
        f"CREATE TABLE t AS SELECT i AS id, 12 * RANDOM() - 6 AS score FROM RANGE({N_ROWS}) r(i)"
    )
    given = {"table": "t", "scores": ["score"]}
    platt, isotonic = binary("platt"), binary("isotonic", 20_000)
    rule = platt.to_sql("duckdb", probabilities=False, **given)
    full = platt.to_sql("duckdb", **given)
    curve = isotonic.to_sql("duckdb", **given)
    knots = len(isotonic.calibrator.thresholds_)
    scan = "SELECT SUM(score) FROM t"
    proba = f"{_COUNTED}, SUM(p_0), SUM(p_1)"
    bare, withheld = best_of_each(
        lambda: read(scan),
        lambda: read(f"SELECT COUNT_IF(abstain) FROM ({rule})"),
        repeats=20,
    )
    decided, whole, curved = best_of_each(
        lambda: read(f"SELECT {_COUNTED} FROM ({rule})"),
        lambda: read(f"SELECT {proba} FROM ({full})"),
        lambda: read(f"SELECT {proba} FROM ({curve})"),
        repeats=3,
    )
    copied, written = best_of_each(
        lambda: kept("SELECT id, score FROM t"),
        lambda: kept(f"SELECT id, prediction, abstain FROM ({rule})"),
        repeats=3,
    )
    peer = "SELECT SUM(score)"
    yield Row("who is withheld, two classes, 10^7 rows", withheld, peer, bare, at_most=2.0)
    yield Row("and the prediction", decided, peer, bare)
    yield Row("and the probabilities, platt", whole, peer, bare)
    yield Row(f"and the probabilities, isotonic of {knots} knots", curved, peer, bare)
    yield Row("both decisions, to a table", written, "the score, to a table", copied)
    yield _of_many(connection)


def _of_many(connection: Any) -> Row:
    """Four score columns, where nothing collapses; of a tenth of the rows."""
    policy = of_four()
    connection.execute(
        f"CREATE TABLE u AS SELECT a / s AS a, b / s AS b, c / s AS c, d / s AS d FROM ("
        f"SELECT *, a + b + c + d AS s FROM (SELECT RANDOM() AS a, RANDOM() AS b, "
        f"RANDOM() AS c, RANDOM() AS d FROM RANGE({N_ROWS // 10})))"
    )
    query = policy.to_sql("duckdb", table="u", scores=list("abcd"))

    def read(query: str) -> None:
        connection.execute(query).fetchall()

    scan, ours = best_of_each(
        lambda: read("SELECT SUM(a), SUM(b), SUM(c), SUM(d) FROM u"),
        lambda: read(f"SELECT {_COUNTED}, SUM(p_0), SUM(p_3) FROM ({query})"),
        repeats=3,
    )
    return Row("four classes, with all columns, 10^6 rows", ours, "SELECT SUM, four columns", scan)
