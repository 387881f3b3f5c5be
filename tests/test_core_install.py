"""The core install alone, in a virtual environment of its own, runs the whole flow."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
FLOW = """
import importlib.util
from abstain import Abstainer, Policy
from abstain.datasets import screening_clinic

for extra in ("click", "matplotlib", "pyarrow", "rich"):
    assert importlib.util.find_spec(extra) is None, extra
clinic = screening_clinic(500, 500)
abstainer = Abstainer("sensitivity@specificity=0.9", budget=0.1, scale="logits", random_state=0)
decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
decisions.policy.save("policy.json")
assert (Policy.load("policy.json").apply(clinic.scores_target).abstain == decisions.abstain).all()
assert 0 < decisions.abstain.sum() <= 50
from abstain.report import Report
assert "<!DOCTYPE html>" in Report(decisions).to_html()
try:
    from abstain.plots import RegionDisplay
    RegionDisplay.from_decisions(decisions)
except ImportError as error:
    assert "pip install 'abstain[plots]'" in str(error)
else:
    raise AssertionError("plots without matplotlib")
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    folder = tmp_path_factory.mktemp("core")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", python]
    install = [*pip, "install", "--no-compile", REPOSITORY]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip could not install the core here: {done.stderr[-300:]}")
    return python


def test_the_core_runs_the_flow(python, tmp_path):
    done = subprocess.run(
        [python, "-c", FLOW], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_command_line_names_its_extra(python, tmp_path):
    command = [python.parent / "abstain", "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "abstain: the command line needs click, which comes with an extra: "
        "pip install 'abstain[cli]'"
    )
