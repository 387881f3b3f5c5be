"""The library says what it does to whoever listens, and nothing to anybody else."""

import ast
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import abstain
from abstain import Abstainer, Policy
from abstain.datasets import screening_clinic
from abstain.evaluation import Dataset, compare

PACKAGE = Path(abstain.__file__).parent
# What users listen to keeps the name it has had.
NAMED = {"deciding": "flow"}
FLOW = """
import logging, sys
from abstain import Abstainer
from abstain.datasets import screening_clinic
clinic = screening_clinic(500, 500, random_state=0)
abstainer = Abstainer("auroc", budget=0.1, scale="logits", random_state=0)
abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
assert not logging.getLogger().handlers
assert not logging.getLogger("abstain").level
assert [type(one).__name__ for one in logging.getLogger("abstain").handlers] == ["NullHandler"]
logging.getLogger("abstain.flow").warning("nobody listens")
"""


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(500, 500, random_state=0)


def fitted(clinic):
    abstainer = Abstainer("auroc", budget=0.1, scale="logits", random_state=0)
    return abstainer.fit(clinic.scores_val, clinic.y_val)


def test_nothing_is_printed_and_nothing_set_up_for_others():
    done = subprocess.run([sys.executable, "-c", FLOW], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""


def test_the_stages_can_be_followed(clinic, caplog, tmp_path):
    with caplog.at_level(logging.INFO, logger="abstain"):
        decisions = fitted(clinic).decide(clinic.scores_target)
        decisions.policy.save(tmp_path / "policy.json")
        Policy.load(tmp_path / "policy.json")
    said = [(record.name, record.getMessage()) for record in caplog.records]
    assert [name for name, _ in said] == [
        "abstain.calibration",
        "abstain.abstainer",
        "abstain.flow",
        "abstain.flow",
        "abstain.flow",
        "abstain.flow",
        "abstain.files",
        "abstain.policy",
    ]
    texts = [text for _, text in said]
    assert texts[0].startswith(f"picked {decisions.policy.calibrator.name}")
    assert texts[1].startswith("500 rows of 2 classes calibrated by ")
    assert decisions.assumption.summary() in texts[2]
    assert "proportions of 500 rows estimated and checked in " in texts[3]
    assert decisions.policy.region.describe() in texts[4]
    assert "50 rows withheld; auroc estimated in" in texts[5]
    assert str(decisions.estimate.after) in texts[5]
    assert texts[6] == f"wrote {tmp_path / 'policy.json'}"
    assert {record.levelno for record in caplog.records} == {logging.INFO}


def test_the_reasons_are_for_those_who_debug(clinic, caplog):
    with caplog.at_level(logging.DEBUG, logger="abstain"):
        fitted(clinic).decide(clinic.scores_target).policy.apply([0.3])
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.DEBUG]
    assert said[0].startswith("cross-validated log loss: {'identity': ")
    assert said[-1] == "applied to 1 rows"


def test_what_is_done_many_times_over_is_for_those_too(clinic, caplog):
    scores = [1 / (1 + np.exp(-one)) for one in (clinic.scores_val, clinic.scores_target)]
    data = Dataset(scores[0], clinic.y_val, scores[1], clinic.y_target)
    heard = {}
    for level in (logging.INFO, logging.DEBUG):
        caplog.clear()
        with caplog.at_level(level, logger="abstain"):
            compare(["entropy"], data, "accuracy", [0.1], repeats=2, progress=False)
        heard[level] = {one.name for one in caplog.records if one.levelno == logging.INFO}
    assert "abstain.flow" in heard[logging.DEBUG] - heard[logging.INFO]


@pytest.fixture(scope="module")
def calls():
    """Every call in the package: where, what of, and the call."""
    return [
        (path.relative_to(PACKAGE), ast.unparse(node.func), node)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    ]


def test_nothing_is_printed(calls):
    assert not [str(path) for path, name, _ in calls if name == "print"]


def test_loggers_come_from_one_place_and_are_called_after_their_room(calls):
    asked = {path.parts[0] for path, name, _ in calls if name == "logging.getLogger"}
    assert asked == {"_logs.py", "cli"}  # which sets the level of what is heard
    made = [(path.parts[0], ast.literal_eval(call.args[0]))
            for path, name, call in calls if name == "logger"]  # fmt: skip
    assert made
    for part, called in made:
        room = part.removesuffix(".py").lstrip("_")
        assert called == NAMED.get(room, room)


def test_texts_are_put_together_only_if_someone_listens(calls):
    said = [(str(path), name, call) for path, name, call in calls if name.startswith("_logger.")]
    assert {name for _, name, _ in said} <= {"_logger.debug", "_logger.info", "_logger.warning"}
    assert not [path for path, _, call in said if not isinstance(call.args[0], ast.Constant)]
