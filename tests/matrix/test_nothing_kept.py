"""Where no row is kept, or none has a score, everything still answers: in words, not in NaN."""

import json
import os
import warnings

import numpy as np
import pytest

from abstain.evaluation import evaluate
from abstain.report import Report

from .cells import APPLICABLE, Cell, batch, decided, pairwise

CELLS = pairwise([cell for cell in APPLICABLE if cell.mode == "budget"])
FEW = [Cell("two", "auroc", "own"), Cell("two", "accuracy", "entropy"),
       Cell("four", "f1:macro", "own"),
       Cell("four", "top-k=2", "own")]  # fmt: skip


def withheld(cell, most=None):
    """Rows that the cell's rule withholds: their scores, labels, and the rule."""
    rows = np.flatnonzero(decided(cell).abstain)[:most]
    if not len(rows):
        pytest.skip("withholding is not expected to help here, so nobody is withheld")
    data = batch(cell.classes)
    return data.scores[rows], data.y[rows], decided(cell).policy


def assert_says_so(found):
    """What is not defined is None in plain data and words elsewhere."""
    after = found.estimate.after
    assert str(after) == "not defined"
    assert found.estimate.to_dict()["after"]["value"] is None
    json.dumps(found.estimate.to_dict(), allow_nan=False)
    for shown in (repr(found), repr(found.estimate), found._repr_html_()):
        assert "nan" not in shown.lower()


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("most", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_few_rows_that_are_all_withheld(cell, most):
    scores, y, policy = withheld(cell, most)
    found = policy.apply(scores)
    assert found.abstain.all()
    assert_says_so(found)
    frame = found.to_frame()
    assert len(frame) == len(scores)
    assert not frame.isna().any(axis=None)
    assert np.isfinite(found.gain).all()
    assert np.isfinite(found.priority).all()
    result = evaluate(found, y)
    assert result.realised[policy.metric.name].abstention_rate == 1
    assert repr(result)


@pytest.mark.parametrize("missing", ["refer", pytest.param("drop", marks=pytest.mark.slow)])
@pytest.mark.parametrize("cell", CELLS)
def test_rows_without_a_score_are_all_there_is(cell, missing):
    scores = np.full_like(batch(cell.classes).scores[:3], np.nan)
    found = decided(cell).policy.apply(scores, missing=missing)
    expected = 3 if missing == "refer" else 0
    assert len(found) == len(found.to_frame()) == len(found.gain) == expected
    assert len(found.priority) == len(found.reason) == expected
    assert found.abstain.all()
    assert found.abstention_rate == (1 if expected else 0)
    assert_says_so(found)


@pytest.mark.parametrize("cell", FEW, ids=str)
def test_a_rule_answers_on_a_day_without_rows(cell):
    empty = batch(cell.classes).scores[:0]
    found = decided(cell).policy.apply(empty)
    assert len(found) == len(found.to_frame()) == len(found.gain) == found.abstention_rate == 0
    assert found.to_dicts() == []
    assert_says_so(found)


@pytest.mark.parametrize("cell", CELLS)
def test_kept_rows_of_one_class(cell):
    decisions, data = decided(cell), batch(cell.classes)
    rows = np.flatnonzero(data.y == data.names[-1])
    found = decisions.policy.apply(data.scores[rows])
    assert str(found.estimate)
    assert len(found.to_frame()) == len(rows)
    json.dumps(found.estimate.to_dict(), allow_nan=False)
    assert "nan" not in repr(found.estimate).lower()
    assert repr(evaluate(found, data.y[rows]))


@pytest.mark.parametrize("cell", FEW, ids=str)
def test_one_withheld_row_has_a_report(cell):
    scores, _, policy = withheld(cell, 1)
    report = Report(policy.apply(scores))
    facts = json.loads(report.to_json())
    assert facts["steps"][facts["chosen"]]["value"] is None
    assert "NaN" not in report.to_html()


def test_as_a_model_of_mlflow_one_withheld_row_comes_out(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("mlflow.pyfunc", reason="MLflow is not installed (extra: mlflow)")
    pandas = pytest.importorskip("pandas")
    from abstain.mlflow import _load_pyfunc

    scores, _, policy = withheld(FEW[0], 1)
    policy.save(tmp_path / "policy.json")
    model = _load_pyfunc(os.fspath(tmp_path / "policy.json"))
    frame = model.predict(pandas.DataFrame({"p_yes": scores}))
    assert frame["abstain"].tolist() == [True]
    assert np.isfinite(frame["gain"]).all()


@pytest.mark.parametrize("cell", [FEW[0], FEW[3]], ids=str)
def test_the_command_line_applies_to_one_withheld_row(cell, tmp_path, monkeypatch, capsys):
    from abstain.cli import run_command

    monkeypatch.chdir(tmp_path)
    scores, _, policy = withheld(cell, 1)
    policy.save("policy.json")
    names = ["yes"] if cell.classes == "two" else policy.classes.tolist()
    header = ",".join(f"p_{name}" for name in names)
    row = ",".join(f"{value:.9g}" for value in np.atleast_1d(scores[0]).astype(float))
    (tmp_path / "new.csv").write_text(f"{header}\n{row}\n")
    code = run_command(["apply", "policy.json", "new.csv", "--out", "decided.csv", "--json"])
    told = capsys.readouterr()
    assert code == 0, told.err
    assert (tmp_path / "decided.csv").read_text().splitlines()[1].split(",")[1] == "true"
    json.loads(told.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
