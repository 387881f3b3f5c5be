"""Engines that run a query on a table of scores, and the comparison with the policy itself."""

import sqlite3
import warnings

import numpy as np


def columns_of(scores):
    """Scores as named columns."""
    columns = scores[:, None] if scores.ndim == 1 else scores
    return {f"s{i}": columns[:, i] for i in range(columns.shape[1])}


class InDuckDB:
    """A database in memory; columns have the type that they come in."""

    dialect = "duckdb"

    def __init__(self):
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")

    def load(self, columns):
        """Make the table t of these columns and a number for each row, ``id``."""
        import pyarrow as pa

        n = len(next(iter(columns.values())))
        self.connection.register("given", pa.table({"id": np.arange(n), **columns}))
        self.connection.execute("CREATE OR REPLACE TABLE t AS SELECT * FROM given")
        self.connection.unregister("given")

    def run(self, query):
        """Return the columns of a query, by name, in the order of the rows."""
        found = self.connection.execute(f"SELECT * FROM ({query}) ORDER BY id")
        return by_name([one[0] for one in found.description], found.fetchall())

    def close(self):
        self.connection.close()


class InSQLite:
    """A database in memory; numbers are doubles, and NaN is NULL."""

    dialect = "sqlite"

    def __init__(self):
        self.connection = sqlite3.connect(":memory:")

    def load(self, columns):
        self.connection.execute("DROP TABLE IF EXISTS t")
        names = ["id", *columns]
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        self.connection.execute(f"CREATE TABLE t ({quoted})")
        values = [np.asarray(c, dtype=object).tolist() for c in columns.values()]
        rows = zip(range(len(values[0])), *values, strict=True)
        marks = ", ".join("?" * len(names))
        self.connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)

    def run(self, query):
        found = self.connection.execute(f"SELECT * FROM ({query}) ORDER BY id")
        return by_name([one[0] for one in found.description], found.fetchall())

    def close(self):
        self.connection.close()

    def __del__(self):
        # Tests leave it open, of which Python 3.13 warns.
        self.close()


class InPostgres:
    """A database of a server; columns have the type that they come in."""

    dialect = "postgres"

    def __init__(self, **where):
        import psycopg

        self.connection = psycopg.connect(autocommit=True, **where)
        self.connection.execute("SET work_mem = '256MB'")

    def load(self, columns):
        self.connection.execute("DROP TABLE IF EXISTS t")
        kinds = {
            name: "real" if values.dtype == np.float32 else "double precision"
            for name, values in columns.items()
        }
        listed = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        self.connection.execute(f"CREATE UNLOGGED TABLE t (id integer, {listed})")
        values = [c.astype(object).tolist() for c in columns.values()]
        with self.connection.cursor().copy("COPY t FROM STDIN") as copy:
            for row in zip(range(len(values[0])), *values, strict=True):
                copy.write_row(row)

    def run(self, query):
        with self.connection.cursor(binary=True) as cursor:
            cursor.execute(f"SELECT * FROM ({query}) AS q ORDER BY id".encode())
            return by_name([one.name for one in cursor.description], cursor.fetchall())

    def close(self):
        self.connection.close()


def by_name(names, rows):
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def applied(policy, scores):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return policy.apply(scores)


def assert_decides_alike(engine, policy, scores, *, atol=1e-9, **options):
    """A query on the loaded scores decides about each row as its policy does."""
    options = {"dtype": str(scores.dtype), "scores": [*columns_of(scores)], **options}
    found = engine.run(policy.to_sql(engine.dialect, table="t", **options))
    expected = applied(policy, scores)
    assert [*found["prediction"]] == expected.prediction.tolist()
    assert [bool(one) for one in found["abstain"]] == expected.abstain.tolist()
    assert set(found["policy"]) == {policy.sha256}
    if options.get("probabilities", True):
        told = np.column_stack([found[f"p_{c}"] for c in policy.classes.tolist()])
        np.testing.assert_allclose(told.astype(float), expected.proba, rtol=0, atol=atol)
