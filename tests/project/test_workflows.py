"""What runs elsewhere is read here: workflows name what exists, and trust nothing that moves."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="needs PyYAML to read workflows")

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
READ = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in WORKFLOWS}
STEPS = [
    (name, job, step)
    for name, workflow in READ.items()
    for job in workflow["jobs"].values()
    for step in job["steps"]
]
TARGETS = set(re.findall(r"^([a-z][a-z -]*):(?!=)", (ROOT / "Makefile").read_text("utf-8"), re.M))
TARGETS = {target for line in TARGETS for target in line.split()}


def test_actions_are_pinned_by_their_hash():
    for path in WORKFLOWS:
        for used in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8")):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", used), used


def test_nothing_may_write_but_what_publishes():
    for name, workflow in READ.items():
        assert workflow["permissions"] == {"contents": "read"}, name
    granted = {name for name, job, _ in STEPS if "permissions" in job}
    assert granted == {"publish"}


def test_a_pull_request_is_tested_once():
    on = READ["tests"][True]  # YAML reads "on" as a truth value
    assert on["push"]["branches"] == ["main"]
    assert "pull_request" in on


def test_every_target_that_is_made_exists():
    for _, job, step in STEPS:
        for words in re.findall(r"make (.*)", step.get("run", "")):
            first = words.split(" PYTHON=")[0]
            made = job["strategy"]["matrix"]["target"] if "matrix.target" in first else [first]
            assert {one.split()[0] for one in made} <= TARGETS


def test_every_python_is_tried():
    said = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text("utf-8"))
    assert {*said} <= {*READ["tests"]["jobs"]["linux"]["strategy"]["matrix"]["python"]}


@pytest.mark.parametrize("step", ["check", "prepare"])
@pytest.mark.parametrize("version", ["", "0.2", "one"])
def test_a_release_has_a_version(step, version):
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "release.py", step, version],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "make release VERSION=0.2.0" in done.stderr
