"""What the page on compatibility says of versions is what the code has."""

import re
import tomllib
from pathlib import Path

from abstain._schema import SCHEMA_VERSION
from abstain.cli import _writing
from abstain.report import _facts
from abstain.summaries import _bytes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")


def test_schema_versions_are_those_of_the_code():
    assert f"has a version, now {SCHEMA_VERSION}." in PAGE
    for name, version in (
        ("`report.facts`", _facts.SCHEMA_VERSION),
        ("manifests", _writing.SCHEMA_VERSION),
        ("`Summary.to_bytes`", _bytes._VERSION),
    ):
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| {name}"))
        assert f"now {version} |" in row


def test_oldest_packages_are_those_of_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "Python        3.11 and later" in PAGE
    assert project["requires-python"] == ">=3.11"
    for dependency in project["dependencies"]:
        name, oldest = dependency.split(">=")
        assert re.search(rf"\b{name}\s+{re.escape(oldest)}(\s|$)", PAGE, re.IGNORECASE), name
