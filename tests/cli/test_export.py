"""``abstain export``: a rule as SQL or ONNX, that decides as ``abstain apply`` does."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from abstain import Abstainer, Policy
from abstain.cli._export import DIALECTS
from abstain.datasets import screening_clinic, simulate_four_class_normal

pytest.importorskip("sqlglot", reason="SQL export needs the extra 'sql'")

SQL = ("--to", "sql", "--dialect", "sqlite", "--table", "visits")


@pytest.fixture
def rule(abstain):
    """A rule of two classes on logits, and the scores it was made for."""
    clinic = screening_clinic(300, 200, random_state=0)
    how = {"calibration": "platt", "scale": "logits", "random_state": 0}
    policy = (
        Abstainer("auroc", budget=0.1, **how)
        .fit(clinic.scores_val, clinic.y_val)
        .decide(clinic.scores_target)
        .policy
    )
    policy.save("triage.json")
    return policy, clinic.scores_target


def decided(query, scores):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE visits (id, score)")
        rows = enumerate(scores.tolist())
        connection.executemany("INSERT INTO visits VALUES (?, ?)", rows)
        found = connection.execute(query).fetchall()
    connection.close()
    return found


def test_a_query_is_printed(abstain, rule):
    policy, scores = rule
    code, out, err = abstain("export", "triage.json", *SQL, "--scores", "score")
    assert (code, err) == (0, "")
    found = decided(out, scores)
    expected = policy.apply(scores)
    assert [bool(row[-2]) for row in found] == expected.abstain.tolist()
    assert [row[-3] for row in found] == expected.prediction.tolist()
    assert {row[-1] for row in found} == {policy.sha256}


def test_a_query_is_written(abstain, rule):
    _policy, scores = rule
    more = ("--keep", "id", "--prefix", "rule_", "--no-probabilities", "--single")
    command = ("export", "triage.json", *SQL, "--scores", "score", *more, "--out", "rule.sql")
    code, out, err = abstain(*command)
    assert (code, out) == (0, "")
    assert "Wrote the rule to rule.sql" in err
    query = Path("rule.sql").read_text()
    assert '"rule_abstain"' in query
    assert len(decided(query, scores)[0]) == 4
    code, _, err = abstain(*command)
    assert code == 2
    assert "rule.sql exists; add --force" in err
    assert abstain(*command, "--force")[0] == 0


def test_a_pattern_stands_for_the_classes(abstain):
    four = simulate_four_class_normal(300, random_state=0)
    names = np.array(["a", "b", "c", "d"])
    Abstainer("accuracy", budget=0.1, calibration="bcts", random_state=0).fit(
        four.proba, names[four.y]
    ).decide(four.proba).policy.save("triage.json")
    code, out, _ = abstain("export", "triage.json", *SQL, "--scores", "p_*")
    assert code == 0
    assert '"t"."p_c"' in out
    # The scores are called as the probabilities would be.
    assert '"abstain_p_c"' in out
    assert abstain("export", "triage.json", *SQL, *(("--scores", "x") * 2))[0] == 1


def test_an_onnx_model_is_written(abstain, rule):
    onnx = pytest.importorskip("onnx", reason="ONNX export needs the extra 'onnx'")
    code, _, err = abstain("export", "triage.json", "--to", "onnx", "--out", "rule.onnx")
    assert code == 0, err
    onnx.checker.check_model(onnx.load("rule.onnx"))


def test_a_file_of_python_decides_alike(abstain, rule):
    policy, scores = rule
    code, out, err = abstain("export", "triage.json", "--to", "python", "--scores", "score")
    assert (code, err) == (0, "")
    written = ("export", "triage.json", "--to", "python", "--scores", "score", "--out", "rule.py")
    assert abstain(*written)[0] == 0
    assert Path("rule.py").read_text() == out
    made = {}
    exec(out, made)
    found = [made["decide"]([one])["abstain"] for one in scores.tolist()]
    assert found == policy.apply(scores).abstain.tolist()


def test_a_signature_is_asked_for(abstain, rule):
    key = bytes(range(32))
    Path("policy.key").write_bytes(key)
    signed = ("export", "triage.json", *SQL, "--scores", "score", "--key-file", "policy.key")
    assert abstain(*signed)[0] == 1
    Policy.load("triage.json").save("triage.json", key=key)
    assert abstain(*signed)[0] == 0


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--to", "sql"), 2, "--to sql needs --dialect, --table, --scores too"),
        (("--to", "onnx"), 2, "--to onnx needs --out too"),
        (("--to", "onnx", "--table", "t", "--out", "o"), 2, "--table: for --to sql alone"),
        (("--to", "sql", "--dialect", "oracle"), 2, "'oracle' is not one of"),
        ((*SQL, "--scores", "a", "--scores", "b", "--scores", "c"), 1, "got 3"),
    ],
)
def test_what_is_wrong_is_said(abstain, rule, options, code, said):
    found = abstain("export", "triage.json", *options)
    assert found[0] == code
    assert said in " ".join(found[2].split())


def test_what_a_terminal_would_obey_is_not_printed(abstain, rule):
    code, out, err = abstain("export", "triage.json", *SQL, "--scores", "\x1b[31mred")
    assert (code, out) == (1, "")
    assert "Write it to a file with --out" in err


def test_the_dialects_are_those_of_the_library():
    fitted = Abstainer("accuracy", budget=0.1).fit([0.2, 0.7, 0.4] * 20, [0, 1, 0] * 20)
    with pytest.raises(ValueError, match=f"must be one of {', '.join(DIALECTS)};"):
        fitted.decide([0.3, 0.6]).policy.to_sql("no such", table="t", scores="p")
