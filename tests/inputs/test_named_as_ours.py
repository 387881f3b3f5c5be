"""Columns of the user's that are called as ours are: theirs stay, ours step roles."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from abstain import Abstainer

NAMES = ("abstain", "reason", "prediction", "gain", "threshold")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_nothing_of_theirs_is_overwritten(kind):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    p = 1 / (1 + np.exp(-rng.normal(size=60) - 2 * y + 1))
    abstainer = Abstainer("f1", budget=0.2, calibration="platt", random_state=0)
    abstainer.fit(kind({"p_0": 1 - p, "p_1": p}), y)
    theirs = {name: [f"{name} {k}" for k in range(60)] for name in NAMES}
    decisions = abstainer.decide(kind({**theirs, "p_0": 1 - p, "p_1": p}))
    frame = decisions.to_frame()
    columns = list(getattr(frame, "column_names", frame.columns))
    for name in NAMES:
        assert (
            list(map(str, frame[name].to_pylist() if kind is pa.table else frame[name]))
            == theirs[name]
        )
    assert {f"abstain_{name}" for name in NAMES[:4]} <= set(columns)
    ours = frame["abstain_abstain"]
    assert np.array_equal(np.asarray(ours).astype(bool), decisions.abstain)
