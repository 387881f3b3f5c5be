"""`abstain run --time`: what a metric wanders in time, from a column of the validation table."""

import json

import numpy as np
import pandas as pd
import pytest

from abstain.cli import run_command

N = 1_500


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("times"), np.random.default_rng(1)
    day = np.sort(rng.uniform(0, 40, N))
    walk = np.cumsum(rng.normal(0, 0.5, 40))[day.astype(int)]
    logit, later = 2 * rng.normal(size=(2, N))
    y = (rng.uniform(size=N) < 1 / (1 + np.exp(-(logit + walk)))).astype(int)
    seen = pd.Timestamp("2026-01-01") + pd.to_timedelta(day, unit="D")
    table = pd.DataFrame({"p_1": 1 / (1 + np.exp(-logit)), "y": y, "seen": seen, "day": day})
    table.to_csv(folder / "validation.csv", index=False)
    table.to_parquet(folder / "validation.parquet")
    pd.DataFrame({"p_1": 1 / (1 + np.exp(-later))}).to_csv(folder / "batch.csv", index=False)
    return folder


def interval(capsys, tables, *options, validation="validation.csv"):
    capsys.readouterr()
    command = ["run", str(tables / validation), str(tables / "batch.csv"), "--scores", "p_1"]
    assert (
        run_command([*command, "--metric", "accuracy", "--budget", "10%", *options, "--json"]) == 0
    )
    low, high = json.loads(capsys.readouterr().out)["estimate"]["after"]["interval"]
    return high - low


@pytest.mark.parametrize("validation", ["validation.csv", "validation.parquet"])
@pytest.mark.parametrize("column", ["seen", "day"])
def test_times_widen_the_interval(capsys, tables, column, validation):
    plain = interval(capsys, tables)
    assert interval(capsys, tables, "--time", column, validation=validation) > 1.2 * plain


def test_a_column_that_is_not_there_is_named(capsys, tables):
    command = ["run", str(tables / "validation.csv"), str(tables / "batch.csv"), "--scores", "p_1"]
    options = ["--metric", "accuracy", "--budget", "10%", "--time", "when"]
    assert run_command([*command, *options]) == 1
    assert "no column 'when'" in capsys.readouterr().err
