"""``abstain run --by COLUMN``, with a budget that is the same for each group or a target."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from abstain import Abstainer
from abstain.datasets import screening_clinic

from .tables import write_columns

CLINIC = screening_clinic(1_000, 1_000, random_state=0)
SITE = np.repeat(["north", "south"], [800, 200])
READ = ("--scores", "logit", "--scale", "logits", "--label", "ill", "--calibration", "platt")
GOAL = ("--metric", "auroc", "--budget", "10%")
RUN = ("run", "validation.csv", "target.csv", *READ, *GOAL, "--equal", "referral")


@pytest.fixture
def clinic(abstain):
    write_columns(Path("validation.csv"), {"logit": CLINIC.scores_val, "ill": CLINIC.y_val})
    write_target(SITE)


def write_target(site, scores=CLINIC.scores_target, name="site"):
    columns = {"id": np.arange(len(scores)) + 5, name: site, "logit": scores}
    write_columns(Path("target.csv"), columns)


def rows():
    with Path("decisions.csv").open() as file:
        return list(csv.DictReader(file))


def test_what_the_library_decides(abstain, clinic):
    code, out, err = abstain(*RUN, "--by", "site", "--id", "id", "--out", "decisions.csv")
    assert code == 0, err
    assert "Withheld 100 of 1,000 rows, chosen in each site" in out
    assert "north: 80 of 800 rows (10.0%)\n  Estimated auroc  before 0.9" in out
    told = {"calibration": "platt", "scale": "logits", "random_state": 0}
    library = Abstainer("auroc", budget=0.1, **told).fit(CLINIC.scores_val, CLINIC.y_val)
    decisions = library.decide_groups(CLINIC.scores_target, SITE)
    written = rows()
    assert [row["abstain"] == "true" for row in written] == decisions.abstain.tolist()
    assert [row["site"] for row in written] == SITE.tolist()
    assert [*written[0]][:3] == ["id", "site", "abstain"]
    rules = json.loads(Path("decisions.csv.manifest.json").read_text())["policy"]
    assert {(row["site"], row["policy"]) for row in written} == {
        (name, rules[name][:12]) for name in ("north", "south")
    }


def test_facts(abstain, clinic):
    code, out, _ = abstain(*RUN, "--by", "site", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["by"], found["withheld"], found["doubts"]) == ("site", 100, [])
    assert {name: one["withheld"] for name, one in found["groups"].items()} == {
        "north": 80,
        "south": 20,
    }


def test_a_column_called_group(abstain, clinic):
    write_target(SITE, name="group")
    assert abstain(*RUN, "--by", "group", "--out", "decisions.csv", "--sort", "pressing")[0] == 0
    written = rows()
    assert [*written[0]][:4] == ["row", "id", "group", "abstain"]
    assert sum(row["abstain"] == "true" for row in written if row["group"] == "south") == 20


def test_small_and_empty_groups_are_told(abstain, clinic):
    write_target(np.where(np.arange(1_000) < 5, "", SITE))
    code, out, err = abstain(*RUN, "--by", "site")
    assert code == 0
    assert "(empty): 0 of 5 rows (0.0%)" in out
    assert "Too few rows for any of them to be referred within the budget: group (empty)" in err
    assert abstain(*RUN, "--by", "site", "--strict", "--out", "decisions.csv")[0] == 1
    assert not Path("decisions.csv").exists()


def test_rows_without_a_score(abstain, clinic):
    scores = [None, *CLINIC.scores_target[1:].tolist()]
    write_target(SITE, scores)
    arguments = (*RUN, "--by", "site", "--out", "decisions.csv", "--force", "--missing")
    assert abstain(*arguments, "refer")[0] == 0
    assert rows()[0]["reason"] == "no score"
    assert sum(row["abstain"] == "true" for row in rows()) == 100
    assert abstain(*arguments, "drop")[0] == 0
    assert [row["row"] for row in rows()] == [str(number) for number in range(1, 1_000)]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "--equal needs --by"),
        (("--by", "ward"), "ward"),
        (("--by", "site", "--policy", "p.json"), "--policy is of one rule"),
        (("--by", "site", "--report", "r.html"), "--report is of one rule"),
        (("--by", "site", "--group", "site"), "--group is of one rule"),
        (("--by", "site", "--audit", "2%"), "--audit is of one rule"),
        (("--by", "site", "--known-labels", "id"), "--known-labels is of one rule"),
        (("--by", "site", "--stream"), "--by takes all rows in memory"),
        (("--by", "site", "--budget", "40"), "--budget of groups must be a fraction"),
        (("--by", "site", "--confidence", "0.9"), "--confidence is of all rows"),
    ],
)
def test_what_does_not_go_together(abstain, clinic, more, said):
    code, _, err = abstain(*RUN, *more)
    assert code != 0
    assert said in err


FLOOR = ("run", "validation.csv", "target.csv", *READ, "--metric", "auroc", "--by", "site")


def test_a_target_is_reached_in_each_group(abstain, clinic):
    arguments = (*FLOOR, "--target", "sensitivity=0.85,specificity=0.8")
    code, out, err = abstain(*arguments)
    assert code == 0, err
    assert out.count("sensitivity  at least 0.85") == 2
    found = json.loads(abstain(*arguments, "--json")[1])
    assert all(one["reached"] for one in found["asked"]["targets"])
    shares = [one["abstention_rate"] for one in found["groups"].values()]
    assert shares[0] != shares[1]


@pytest.mark.parametrize(
    "more", [("--budget", "0.1"), ("--target", "0.9", "--budget", "0.1", "--equal", "referral")]
)
def test_a_budget_or_a_target(abstain, clinic, more):
    code, _, err = abstain(*FLOOR, *more)
    assert code != 0
    assert "--by goes with --arms; or with --budget and --equal referral" in err
