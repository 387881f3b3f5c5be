"""The commands that the README and Start here show work as they are written."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from abstain.cli import commands
from abstain.datasets import screening_clinic

ROOT = Path(__file__).parents[2]


def abstain_commands(block):
    lines = block.replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [line[1:] for line in words if line[:1] == ["abstain"]]


def run(arguments):
    result = CliRunner().invoke(commands, arguments, prog_name="abstain")
    assert result.exit_code == 0, f"abstain {shlex.join(arguments)}\n{result.output}"
    return result.output


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


BLOCKS = re.findall(
    r"```(python|sh|text)\n(.*?)```",
    (ROOT / "docs" / "start.md").read_text(encoding="utf-8"),
    flags=re.DOTALL,
)


def start(blocks, change=lambda block: block):
    """Type the blocks of Start here, and compare with the output that it shows."""
    names, shown = {}, ""
    for kind, block in blocks:
        if kind == "python":
            exec(compile(block, "start.md", "exec"), names)
        elif kind == "sh":
            shown = "".join(map(run, abstain_commands(change(block))))
        else:
            assert block in shown


def test_the_first_command_of_start_here(here):
    upto = [kind for kind, _ in BLOCKS].index("text") + 1
    # Without the report, which is most of the time.
    start(BLOCKS[:upto], lambda block: block.replace("--report report.html", ""))
    assert (here / "decisions.csv").exists()


@pytest.mark.slow
def test_start_here(here):
    start(BLOCKS)
    for name in ("report", "clinic", "again"):
        assert (here / f"{name}.html").exists()


def test_the_commands_of_the_readme(here):
    clinic = screening_clinic(1_500, 1_500, random_state=0)
    ids = np.arange(1_500)
    p_val, p = (1 / (1 + np.exp(-scores)) for scores in (clinic.scores_val, clinic.scores_target))
    pd.DataFrame({"p_ill": p_val, "ill": clinic.y_val}).to_csv("validation.csv", index=False)
    batch = pd.DataFrame({"patient": ids, "p_ill": p})
    for name in ("batch", "tomorrow", "scored"):
        batch.to_csv(f"{name}.csv", index=False)
    labels = pd.DataFrame({"patient": ids, "ill": clinic.y_target})
    labels.to_csv("followed-up.csv", index=False)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = [one for block in text.split("```")[1::2] for one in abstain_commands(block)]
    names = [arguments[0] for arguments in found]
    assert names == ["run", "apply", "estimate", "shift", "evaluate", "export"]
    for arguments in found:
        run(arguments)
    assert (here / "report.html").exists()
