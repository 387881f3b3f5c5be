"""``--verbose`` tells on stderr what is done; results stay what they are."""

import json
import logging
import re
from pathlib import Path

import pytest

from abstain.datasets import screening_clinic

from .tables import write_columns

RUN = (
    "run", "validation.csv", "batch.csv", "--scores", "logit", "--label", "ill", "--scale",
    "logits", "--metric", "auroc", "--budget", "0.2", "--policy", "triage.json", "--force",
)  # fmt: skip
LINE = r"\[ +\d+\.\d\d s\] [a-z]+: .+"


@pytest.fixture
def files(abstain):
    clinic = screening_clinic(500, 500, random_state=0)
    write_columns(Path("validation.csv"), {"logit": clinic.scores_val, "ill": clinic.y_val})
    write_columns(Path("batch.csv"), {"logit": clinic.scores_target})


def logged(err):
    return [line for line in err.splitlines() if line.startswith("[")]


def test_quiet_unless_asked(abstain, files):
    code, _, err = abstain(*RUN)
    assert code == 0
    assert not logged(err)


@pytest.mark.parametrize("command", [("-v", *RUN), (*RUN, "--verbose")], ids=["before", "after"])
def test_the_stages_are_on_stderr_and_results_on_stdout(abstain, files, command):
    quiet = json.loads(abstain(*RUN, "--json")[1])
    code, out, err = abstain(*command, "--json")
    assert code == 0
    assert json.loads(out) == quiet
    lines = logged(err)
    assert all(re.fullmatch(LINE, line) for line in lines)
    rooms = [line.split("] ")[1].split(":")[0] for line in lines]
    assert rooms[:2] == ["cli", "cli"]
    assert {"calibration", "abstainer", "flow", "files"} <= {*rooms}
    assert "read 500 rows of validation.csv" in lines[0]
    assert lines[-1].endswith("wrote triage.json")


def test_twice_gives_the_reasons(abstain, files):
    once, twice = (logged(abstain(flag, *RUN)[2]) for flag in ("-v", "-vv"))
    assert not any("cross-validated log loss: " in line for line in once)
    assert any("cross-validated log loss: " in line for line in twice)
    both = logged(abstain("-v", *RUN, "-v")[2])
    assert len(both) == len(twice)


def test_logging_is_left_as_it_was(abstain, files):
    root, own = logging.getLogger(), logging.getLogger("abstain")
    before = [*root.handlers], [*own.handlers], own.level
    abstain("-vv", *RUN)
    assert ([*root.handlers], [*own.handlers], own.level) == before
