"""The Dockerfile says what exists, and what the guide says. No Docker is needed for that."""

import json
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from abstain.cli import commands

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "examples" / "docker" / "Dockerfile"
TEXT = DOCKERFILE.read_text(encoding="utf-8")
STEPS = [
    tuple(line.split(maxsplit=1))
    for line in TEXT.replace("\\\n", " ").splitlines()
    if line and not line.startswith("#")
]


def of(instruction):
    return [rest for name, rest in STEPS if name == instruction]


def test_what_is_run_exists():
    run = [shlex.split(line) for line in of("RUN")]
    assert run[0][:2] == ["pip", "install"]
    commands_run = [line[1:] for line in run if line[0] == "abstain"]
    assert ["doctor"] in commands_run
    (shown,) = re.findall(r"abstain \\\n#\s+(apply .*)", TEXT)
    for arguments in (*commands_run, shlex.split(shown), json.loads(of("CMD")[0])):
        if arguments[0] in commands.list_commands(None):
            parent = click.Context(commands, **commands.context_settings)
            command = commands.get_command(parent, arguments[0])
            command.make_context(arguments[0], [*arguments[1:]], parent=parent)
        else:
            assert CliRunner().invoke(commands, arguments).exit_code == 0


def test_anybody_may_run_it():
    assert not of("USER")[-1].startswith(("0", "root"))
    assert json.loads(of("ENTRYPOINT")[0]) == ["abstain"]


def test_the_extra_and_the_base_are_ours():
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (extra,) = re.findall(r"abstain\[(\w+)\]", of("ARG")[0])
    assert re.search(rf"^{extra} = ", pyproject, flags=re.MULTILINE)
    (wanted,) = re.findall(r'requires-python = ">=3\.(\d+)"', pyproject)
    (base,) = re.findall(r"^python:3\.(\d+)-slim$", of("FROM")[0])
    assert int(base) >= int(wanted)


@pytest.mark.parametrize("step", [*of("USER"), "--read-only"])
def test_the_guide_says_the_same(step):
    guide = (ROOT / "docs" / "guide" / "deploying.md").read_text(encoding="utf-8")
    assert step in guide
