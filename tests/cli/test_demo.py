import csv
import json
from pathlib import Path

import pytest

from abstain import Policy


def test_the_demo_tells_its_story_and_writes_its_files(abstain):
    code, out, err = abstain("demo")
    assert (code, err) == (0, "")
    assert "Refer 750 of 5,000 patients (15%)" in out
    for row in ("nobody referred", "abstain, for this metric", "baseline random"):
        assert row in out
    folder = Path("abstain-demo")
    assert sorted(path.name for path in folder.iterdir()) == [
        "decisions.csv",
        "report.html",
        "roc.png",
        "target.csv",
        "triage.json",
        "validation.csv",
    ]
    with open(folder / "decisions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(row["abstain"] == "true" for row in rows) == 750
    logits = [float(line) for line in (folder / "target.csv").read_text().split()[1:]]
    again = Policy.load(folder / "triage.json").apply(logits)
    assert again.abstain.tolist() == [row["abstain"] == "true" for row in rows]

    # It runs again, over what is there, for machines too.
    code, out, _ = abstain("demo", "--json", "--strict")
    assert code == 0
    found = json.loads(out)["abstain, for this metric"]
    assert found["positive"] == 1
    assert found["withheld"] == 750
    assert found["true_after"] > 0.8


@pytest.mark.slow
def test_what_the_demo_says_to_try_next_works(abstain):
    _, out, _ = abstain("demo", "--out", "elsewhere")
    command = out.split("Try next")[1].replace("\\\n", " ").strip().splitlines()[0].split()
    assert command[0] == "abstain"
    code, out, _ = abstain(*command[1:], "--json")
    assert code == 0
    assert json.loads(out)["withheld"] == 1500
