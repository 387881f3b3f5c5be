"""Thresholds at the ends of what a probability can be, in every way out."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from abstain import Abstainer
from abstain.rules import Threshold

P = np.array([0.0, 0.5, 1.0])


@pytest.fixture(scope="module")
def policy():
    p = np.linspace(0.01, 0.99, 60)
    fitted = Abstainer("accuracy", budget=0.1, calibration="identity", shift="none").fit(
        p, p > 0.5
    )
    return fitted.decide(p).policy


@pytest.fixture(params=[(0.0, [1, 1, 1]), (1.0, [0, 0, 1]), (np.nextafter(1, 2), [0, 0, 0])],
                ids=["all", "only certain ones", "none"])  # fmt: skip
def at_an_end(policy, request):
    threshold, expected = request.param
    return replace(policy, rule=Threshold(float(threshold))), [bool(one) for one in expected]


def test_rows_are_predicted(at_an_end):
    policy, expected = at_an_end
    assert policy.apply(P).prediction.tolist() == expected


def test_sql_predicts_them_so(at_an_end):
    pytest.importorskip("sqlglot", reason="SQL export needs the extra 'sql'")
    policy, expected = at_an_end
    query = policy.to_sql("sqlite", table="t", scores="p", keep=["p"])
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (p REAL)")
        connection.executemany("INSERT INTO t VALUES (?)", [(float(p),) for p in P])
        rows = connection.execute(f"SELECT p, prediction FROM ({query}) ORDER BY p").fetchall()
    connection.close()
    assert [bool(predicted) for _, predicted in rows] == expected


def test_onnx_predicts_them_so(at_an_end):
    pytest.importorskip("onnx", reason="ONNX export needs the extra 'onnx'")
    onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime to run the graph")
    policy, expected = at_an_end
    model = policy.to_onnx(columns=1).SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (found,) = session.run(["prediction"], {"scores": P.astype(np.float32)[:, None]})
    assert [bool(one) for one in found] == expected
