"""Readers on the command line: measured, asked, judged, and in a query."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("val", "new"):
        p = rng.beta(0.6, 0.6, 500)
        ill = rng.random(500) < p
        table = pd.DataFrame({"p_ill": p, "truth": np.where(ill, "ill", "well")})
        for reader, right in (("ann", 0.9), ("bob", 0.75)):
            said = np.where((rng.random(500) < right) == ill, "ill", "well").astype(object)
            said[rng.random(500) < 0.3] = ""
            table[reader] = said
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def test_readers_from_run_to_query(abstain, files):
    val, new, rule, out = (str(files / one) for one in ("val.csv", "new.csv", "r.json", "o.csv"))
    columns = ["--scores", "p_ill", "--label", "truth"]
    code, stdout, _ = abstain(
        "run", val, new, *columns, "--positive", "ill", "--metric", "balanced-accuracy",
        "--budget", "0.2", "--reviewer", "ann", "--reviewer", "bob", "--policy", rule, "--json",
    )  # fmt: skip
    assert code == 0
    found = json.loads(stdout)
    assert found["withhold"]["kind"] == "opinion-gain"
    assert "what model and reader say together" in found["team"]
    opinions = ["--opinion", "ann", "--opinion", "bob"]
    abstain("apply", rule, new, *opinions, "--out", out)
    made = pd.read_csv(out, keep_default_na=False)
    kept = ~made["abstain"]
    assert (made["answer"] == made["prediction"])[kept].all()
    asked = made[~kept & ((made["ann"] != "") | (made["bob"] != ""))]
    assert set(asked["answer"]) <= {"ill", "well"}
    judged = json.loads(abstain("evaluate", rule, new, *opinions, "--json")[1])
    team = judged["team"]["balanced-accuracy"]
    assert team["team"]["value"] > team["model"]["value"]
    sql = ["--to", "sql", "--dialect", "duckdb", "--table", "t", *opinions[:2]]
    assert '"abstain_answer"' in abstain("export", rule, *sql)[1]


def test_an_answer_that_is_no_class_is_named(abstain, files):
    val, new = str(files / "val.csv"), str(files / "new.csv")
    table = pd.read_csv(val, keep_default_na=False)
    table.loc[3, "ann"] = "perhaps"
    table.to_csv(val, index=False)
    code, _, stderr = abstain(
        "run", val, new, "--scores", "p_ill", "--label", "truth", "--positive", "ill", "--metric",
        "accuracy", "--budget", "0.2", "--reviewer", "ann",
    )  # fmt: skip
    assert code == 1
    assert "perhaps" in stderr
    assert "--reviewer" in stderr
