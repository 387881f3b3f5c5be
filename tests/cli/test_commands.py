"""The commands around ``run``: report, compare, evaluate, calibrate, doctor."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from abstain import Policy
from abstain.cli import _demo, run_command
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.evaluation import evaluate as evaluated
from abstain.report import Report

from .tables import write_columns

COLUMNS = ("--scores", "logit", "--label", "ill")
SCORES = (*COLUMNS, "--scale", "logits")
RUN = (
    "run", "validation.csv", "target.csv", *SCORES, "--calibration", "platt",
    "--metric", "auroc", "--budget", "0.2",
)  # fmt: skip


@pytest.fixture
def clinic(abstain):
    clinic = screening_clinic(800, 800, random_state=0)
    write_columns(Path("validation.csv"), {"logit": clinic.scores_val, "ill": clinic.y_val})
    columns = {
        "patient": [f"<i>{number}</i>" for number in range(800)],
        "site": ["N", "S"] * 400,
        "logit": clinic.scores_target,
    }
    write_columns(Path("target.csv"), columns)
    write_columns(Path("labelled.csv"), {**columns, "ill": clinic.y_target})
    return clinic


def facts_of(path):
    text = Path(path).read_text(encoding="utf-8")
    return json.loads(text.split('id="facts">')[1].split("</script>")[0])


def test_run_writes_a_report(abstain, clinic):
    code, out, err = abstain(
        *RUN, "--id", "patient", "--group", "site", "--report", "report.html", "--json"
    )
    assert code == 0, err
    assert "Wrote the report to report.html" in err
    found, facts = json.loads(out), facts_of("report.html")
    step = facts["steps"][facts["chosen"]]
    assert step["withheld"] == found["withheld"] == 160
    assert facts["reproduce"]["command"].startswith("abstain run validation.csv target.csv")
    assert list(facts["reproduce"]["inputs"]) == ["validation.csv", "target.csv"]
    assert facts["cases"]["id_name"] == "patient"
    assert facts["groups"]["names"] == ["N", "S"]
    assert "<i>" not in Path("report.html").read_text(encoding="utf-8")


def test_a_report_that_exists_is_kept(abstain, clinic):
    Path("report.html").write_text("precious")
    code, _, err = abstain(*RUN, "--report", "report.html", "--out", "decisions.csv")
    assert (code, "add --force" in err) == (2, True)
    assert Path("report.html").read_text() == "precious"
    assert not Path("decisions.csv").exists()


def test_a_crash_leaves_no_half_report(abstain, clinic, monkeypatch):
    def crash(self):
        raise OSError("no space left")

    monkeypatch.setattr(Report, "to_html", crash)
    code, _, err = abstain(*RUN, "--report", "report.html")
    assert (code, err.splitlines()[-1]) == (1, "abstain: no space left")
    assert sorted(path.name for path in Path().iterdir()) == [
        "labelled.csv",
        "target.csv",
        "validation.csv",
    ]


def test_an_interrupt_is_one_line_and_130(abstain, clinic, monkeypatch):
    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Report, "to_html", interrupt)
    code, out, err = abstain(*RUN, "--report", "report.html")
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "abstain: interrupted; nothing half-written was left."
    assert not Path("report.html").exists()


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_that_compiled_code_swallows_is_one_too(abstain, clinic, monkeypatch):
    def interrupt(self):
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt as error:
            raise SystemError("returned a result with an exception set") from error

    monkeypatch.setattr(Report, "to_html", interrupt)
    code, out, err = abstain(*RUN, "--report", "report.html")
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "abstain: interrupted; nothing half-written was left."


def test_report_of_a_saved_rule(abstain, clinic):
    abstain(*RUN, "--policy", "triage.json")
    code, out, err = abstain(
        "report", "triage.json", "target.csv", "--validation", "validation.csv", *COLUMNS,
        "--title", "Ward 7", "--out", "page.html",
    )  # fmt: skip
    assert code == 0, err
    assert out.startswith("Refer 160 of 800 cases (20%). Estimated auROC rises from ")
    facts = facts_of("page.html")
    assert facts["title"] == "Ward 7"
    assert facts["moved"]["interval"] is not None
    assert list(facts["reproduce"]["inputs"]) == ["triage.json", "validation.csv", "target.csv"]
    code, out, _ = abstain("report", "triage.json", "target.csv", "--scores", "logit", "--json")
    assert code == 0
    # The page has the cases packed.
    assert {**json.loads(out), "cases": None} == {**facts_of("report.html"), "cases": None}
    assert json.loads(out)["trust"]["back_test"] is None


def test_compare_estimates_without_labels(abstain, clinic):
    command = ("compare", "validation.csv", "target.csv", *SCORES, "--calibration", "platt")
    command = (*command, "--metric", "auroc", "--budget", "0.1", "--budget", "0.2")
    code, out, _ = abstain(*command, "--json")
    found = json.loads(out)
    assert code == 0
    ours = found["methods"]["delta-metric"]
    assert [part["budget"] for part in ours] == [0.1, 0.2]
    for name, parts in found["methods"].items():
        for own, other in zip(ours, parts, strict=True):
            # Rectified by labelled rows, so no longer the best of what is expected by itself.
            assert own["value"] >= other["value"] - 0.01, name
    run = json.loads(abstain(*RUN, "--json")[1])
    assert ours[1]["value"] == run["estimate"]["after"]["value"]
    assert found["base"] == run["estimate"]["before"]["value"]
    lines = abstain(*command, "--methods", "delta-metric,random")[1].splitlines()
    assert lines[0] == f"auroc, estimated without labels; nobody withheld: {found['base']:.4f}"
    assert [line.split()[0] for line in lines[2:-1]] == ["delta-metric", "random"]
    assert lines[-1] == "Positive class: 1"


def test_compare_realises_with_labels(abstain, clinic):
    command = (
        "compare", "validation.csv", "labelled.csv", *SCORES, "--calibration", "platt",
        "--metric", "auroc", "--methods", "delta-metric,random", "--target-label", "ill",
        "--repeats", "3",
    )  # fmt: skip
    code, out, err = abstain(*command)
    assert code == 0, err
    assert "delta-metric" in out
    assert json.loads(abstain(*command, "--json")[1])["metric"] == "auroc"


def test_compare_takes_classes_by_name_where_labels_are_too(abstain):
    simulation = simulate_four_class_normal(300, random_state=0)
    columns = {f"p_{name}": simulation.proba[:, k] for k, name in enumerate("dbca")}
    labels = {"y": np.array(list("dbca"))[simulation.y]}
    write_columns(Path("a.csv"), columns | labels)
    write_columns(Path("b.csv"), dict(sorted(columns.items())) | labels)
    options = ("--metric", "accuracy", "--methods", "random", "--target-label", "y")
    options = (*options, "--calibration", "temperature", "--repeats", "2", "--json")
    first, second = (abstain("compare", name, name, *options)[1] for name in ("a.csv", "b.csv"))
    assert json.loads(first) == json.loads(second)


@pytest.mark.parametrize(
    ("method", "message"),
    [("entropi", "Did you mean 'entropy'?"), ("dropout-variance", "needs draws of test-time")],
)
def test_compare_knows_its_methods(abstain, clinic, method, message):
    code, _, err = abstain(
        "compare", "validation.csv", "target.csv", "--metric", "auroc", "--methods", method
    )
    assert code == 2
    assert message in " ".join(err.split())


def test_evaluate_compares_with_the_truth(abstain, clinic):
    abstain(*RUN, "--policy", "triage.json")
    command = ("evaluate", "triage.json", "labelled.csv", *COLUMNS, "--group", "site")
    code, out, err = abstain(*command, "--metric", "accuracy", "--json")
    assert code == 0, err
    found = json.loads(out)
    decisions = Policy.load("triage.json").apply(clinic.scores_target)
    library = evaluated(decisions, clinic.y_target).realised["auroc"]
    assert found["realised"]["auroc"]["kept"] == library.kept
    assert set(found["realised"]) == {"auroc", "accuracy"}
    assert set(found["groups"]) == {"N", "S"}
    assert "estimated without labels against realised" in abstain(*command)[1]


def test_calibrate_measures_and_writes(abstain, clinic):
    command = ("calibrate", "validation.csv", "target.csv", *SCORES, "--id", "patient")
    code, out, err = abstain(*command, "--out", "calibrated.csv", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["selected"] in found["methods"]
    methods = found["methods"]
    assert methods["platt"]["log_loss"] < methods["identity"]["log_loss"]
    with open("calibrated.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["patient", "p_0", "p_1"]
    assert np.isclose(float(rows[0]["p_0"]) + float(rows[0]["p_1"]), 1)
    lines = abstain("calibrate", "validation.csv", *SCORES)[1].splitlines()
    assert lines[-1] == f"* used: {found['selected']}"
    code, _, err = abstain("calibrate", "validation.csv", *SCORES, "--out", "x.csv")
    assert code == 2
    assert "BATCH and --out go together" in err


def test_doctor_passes_here_and_says_what_is_missing(abstain, monkeypatch):
    code, out, _ = abstain("doctor", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["check"]["passed"]
    assert found["threads"] >= 1
    monkeypatch.setitem(_demo.EXTRAS, "plots", ("no-such-package",))
    code, out, _ = abstain("doctor")
    assert code == 0
    assert "lacks no-such-package: pip install 'abstain[plots]'" in out
    monkeypatch.setattr(Policy, "load", lambda path: 1 / 0)
    code, out, _ = abstain("doctor")
    assert code == 1
    assert "Self-check FAILED: ZeroDivisionError" in out


def test_doctor_knows_the_extras_as_they_are_declared():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    declared = tomllib.loads(text)["project"]["optional-dependencies"]
    for extra, packages in _demo.EXTRAS.items():
        names = {re.split(r"[<>=\[]", requirement)[0] for requirement in declared[extra]}
        assert {*packages} == names


def test_names_complete_in_the_shell(monkeypatch, capsys):
    monkeypatch.setenv("_ABSTAIN_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "abstain run --metric sens")
    monkeypatch.setenv("COMP_CWORD", "3")
    with pytest.raises(SystemExit):
        run_command([])
    assert "plain,sensitivity@specificity=0.99" in capsys.readouterr().out


def test_a_program_that_reads_tables_does_not_wait_for_pandas(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "v.csv").write_text("p,y\n" + "0.2,0\n0.7,1\n0.4,0\n0.8,1\n" * 20)
    program = """
import sys
from abstain.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
assert "pandas" not in sys.modules
import pyarrow
assert len(pyarrow.table({"a": [1, 2]}).to_pandas()) == 2
"""
    run = ["calibrate", "v.csv", "--scores", "p"]
    subprocess.run([sys.executable, "-c", program, *run], cwd=tmp_path, check=True)
