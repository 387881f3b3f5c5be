"""What the README claims is said of a test or a measurement that exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs/claims.md").read_text(encoding="utf-8").split("| --- | --- |\n")[1]
ROWS = [row.strip("| ").split(" | ") for row in TABLE.splitlines() if row]


def flat(name):
    return " ".join((ROOT / name).read_text(encoding="utf-8").replace("**", "").split())


def test_the_words_stand_in_the_readme():
    readme = flat("README.md")
    assert [claim for claim, _ in ROWS if claim not in readme] == []


def test_what_holds_them_exists():
    evidence = flat("docs/evidence.md")
    for _, held in ROWS:
        tests = re.findall(r"`(tests/[\w/.]+)(?:::(\w+))?`", held)
        sections = re.findall(r"evidence: ([\w ]+)", held)
        assert tests or sections
        for path, name in tests:
            assert (ROOT / path).exists(), path
            assert not name or f"def {name}(" in (ROOT / path).read_text("utf-8"), name
        assert all(f"## {section.strip()}" in evidence for section in sections), sections
