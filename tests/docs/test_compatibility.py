"""What the page on compatibility says of versions is what the code has."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from abstain import Abstainer, Summary
from abstain.cli import run_command
from abstain.report import Report

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")


def said(name):
    """The version that the table on the page has of something."""
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {name}"))
    return int(re.search(r"now (\d+) \|", row)[1])


def test_versions_are_those_of_what_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    p, y = np.linspace(0.01, 0.99, 99), np.arange(99) % 5 // 3
    abstainer = Abstainer("accuracy", budget=0.1, calibration="platt").fit(p, y)
    decisions = abstainer.decide(p)
    written = decisions.policy.to_dict()["schema_version"]
    assert f"has a version, now {written}." in PAGE
    assert said("`report.facts`") == Report(decisions).facts["schema_version"]
    decisions.policy.save("rule.json")
    Path("t.csv").write_text("p\n" + "\n".join(map(str, p)), encoding="utf-8")
    assert run_command(["apply", "rule.json", "t.csv", "--scores", "p", "--out", "d.csv"]) == 0
    manifest = json.loads(Path("d.csv.manifest.json").read_text(encoding="utf-8"))
    assert said("manifests") == manifest["schema_version"]


def test_a_summary_of_another_version_is_refused():
    p, y = np.linspace(0.01, 0.99, 99), np.arange(99) % 5 // 3
    whole = Abstainer("accuracy", budget=0.1).fit(p, y).summarise(p).to_bytes()
    version = bytes([said("`Summary.to_bytes`")])
    place = whole.index(version)
    with pytest.raises(ValueError, match=f"version {version[0] + 1}.* {version[0]}"):
        Summary.from_bytes(whole[:place] + bytes([version[0] + 1]) + whole[place + 1 :])


def test_oldest_packages_are_those_of_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "Python        3.11 and later" in PAGE
    assert project["requires-python"] == ">=3.11"
    for dependency in project["dependencies"]:
        name, oldest = dependency.split(">=")
        assert re.search(rf"\b{name}\s+{re.escape(oldest)}(\s|$)", PAGE, re.IGNORECASE), name
