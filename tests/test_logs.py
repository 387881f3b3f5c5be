"""The library says what it does to whoever listens, and nothing to anybody else."""

import ast
import logging
import subprocess
import sys
from pathlib import Path

import pytest

import abstain
from abstain import Abstainer, Policy
from abstain._logs import logger, repeated_work
from abstain.datasets import screening_clinic

PACKAGE = Path(abstain.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
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


def test_what_is_done_many_times_over_is_for_those_too(caplog):
    room = logger("flow")
    with caplog.at_level(logging.INFO, logger="abstain"), repeated_work():
        room.info("one of a hundred")
    assert not caplog.records
    with caplog.at_level(logging.DEBUG, logger="abstain"), repeated_work():
        room.info("one of a hundred")
    assert len(caplog.records) == 1


def calls(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_everything_is_said_in_one_style(path):
    """No printing; loggers come from one place; texts are put together only if someone listens."""
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py").lstrip("_")
    for call in calls(path):
        name = ast.unparse(call.func)
        assert name != "print"
        if name == "logger":
            assert ast.literal_eval(call.args[0]) == NAMED.get(room, room)
        elif name.startswith("_logger."):
            assert name in {"_logger.debug", "_logger.info", "_logger.warning"}
            assert isinstance(call.args[0], ast.Constant), ast.unparse(call)
        elif name == "logging.getLogger":
            assert path.stem in {"_logs", "_verbose"}
