"""Every line of the cheat sheet does what it says, typed as it is written."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression

import abstain
from abstain import Abstainer, AbstainingClassifier, Policy, metrics
from abstain.cli import commands
from abstain.datasets import screening_clinic
from abstain.monitoring import RateController

SHEET = (Path(__file__).parents[2] / "docs" / "cheat-sheet.md").read_text(encoding="utf-8")
TABLES = [
    re.findall(r"^\| (.*?) \| (.*) \|$", part, re.M)[1:] for part in SHEET.split("\n\n| ")[1:]
]
COMMANDS, PYTHON, NAMES, _ = ([re.findall(r"`(.*?)`", row[1]) for row in rows] for rows in TABLES)


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clinic = screening_clinic(600, 400, random_state=0)
    p_val, p = (1 / (1 + np.exp(-scores)) for scores in (clinic.scores_val, clinic.scores_target))
    for name, scores, labels in (
        ("validation", p_val, clinic.y_val),
        ("batch", p, None),
        ("scored", p, clinic.y_target),
    ):
        columns = [scores] if labels is None else [scores, labels]
        head = "p_ill" if labels is None else "p_ill,ill"
        np.savetxt(
            f"{name}.csv", np.column_stack(columns), delimiter=",", header=head, comments=""
        )
    Path("costs.csv").write_text("0,1\n5,0\n")
    return p_val, clinic.y_val, p


def test_commands(clinic):
    (whole,) = COMMANDS[1]
    short = whole.removesuffix(" --budget 15%")
    lines = [
        span for spans in COMMANDS[:-2] for span in spans if span.startswith(("abstain ", "..."))
    ]
    for line in lines:
        goal = any(option in line for option in ("--target", "--cost", "--arms"))
        typed = line.replace("...", short if goal else whole)
        if "export" in typed:
            typed += " --table visits --scores p_ill"
        for written in [*Path().glob("decisions.csv*"), *Path().glob("rule-now.json")]:
            written.unlink()
        result = CliRunner().invoke(commands, shlex.split(typed)[1:])
        # A certificate may not be had from so few rows.
        assert result.exit_code == 0 or "--confidence" in typed, f"{typed}\n{result.output}"


def test_python(clinic):
    scores_val, y_val, scores = clinic
    names = {
        "Abstainer": Abstainer, "AbstainingClassifier": AbstainingClassifier, "Policy": Policy,
        "RateController": RateController, "abstain": abstain,
        "scores_val": scores_val, "y_val": y_val, "scores": scores,
        "model": LogisticRegression(), "X": scores_val[:, None], "y": y_val,
    }  # fmt: skip
    for spans in PYTHON:
        for span in spans:
            if "policy" in span and "decisions" in names:
                names["policy"] = names["decisions"].policy
            if span.startswith("policy."):
                span = span.replace('{"p_ill": 0.4}', "0.4")
            exec(span, names)


def test_names_of_metrics():
    for spans in NAMES:
        for name in spans:
            if name.islower() and not name.startswith("cost:"):
                assert metrics.get(name).name == name
