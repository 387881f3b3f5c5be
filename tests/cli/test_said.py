"""What commands say: the answer first, what was asked beside what was got, what moved."""

import csv
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from abstain.cli import run_command
from abstain.cli._summary import proportion_lines
from abstain.datasets import screening_clinic

from .tables import write_columns

COLUMNS = ("--scores", "logit")
RUN = ("run", "validation.csv", "batch.csv", *COLUMNS, "--scale", "logits", "--label", "ill")
RUN = (*RUN, "--calibration", "platt")


@pytest.fixture
def clinic(abstain):
    clinic = screening_clinic(2_000, 800, random_state=0)
    write_columns(Path("validation.csv"), {"logit": clinic.scores_val, "ill": clinic.y_val})
    write_columns(Path("batch.csv"), {"logit": clinic.scores_target})
    return clinic


def found(abstain, *arguments):
    code, out, err = abstain(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_costs_before_and_after(abstain, clinic):
    Path("errors.csv").write_text("0,1\n10,0\n")
    command = (*RUN, "--metric", "accuracy", "--cost", "0.5", "--errors", "errors.csv")
    cost = found(abstain, *command)["asked"]["cost"]
    assert cost["words"] == "missing class 1 costs 10, a false alarm 1, a referral 0.5"
    assert cost["after"]["per_row"] < cost["before"]["per_row"]
    after = cost["after"]
    assert after["errors"] + after["referrals"] == pytest.approx(after["per_row"])
    assert after["total"] == pytest.approx(800 * after["per_row"])
    assert after["interval"][0] <= after["per_row"] <= after["interval"][1]
    out = abstain(*command)[1]
    assert "Costs: missing class 1 costs 10, a false alarm 1, a referral 0.5" in out
    assert f"  before  {cost['before']['per_row']:.4g} per row (90% interval " in out
    assert "Before is with the predictions of this rule; predicted as the most probable" in out
    every = found(abstain, *RUN, "--metric", "accuracy", "--cost", "0.1,0.2")
    assert every["asked"]["cost"]["words"] == (
        "every error costs 1, referring class 0 0.1, class 1 0.2"
    )
    worth = (*RUN, "--metric", "auroc", "--cost", "0.1", "--value-of-metric", "2")
    part = found(abstain, *worth)["asked"]["cost"]["before"]
    assert part["per_row"] == part["metric"]
    assert "a metric of 1 is worth 2 per row, a referral 0.1" in abstain(*worth)[1]


def test_a_budget_that_would_not_help_is_not_spent(abstain):
    rng = np.random.default_rng(7)
    y = (rng.random(1200) < 0.08).astype(int)
    logits = rng.normal(size=1200) + 1.5 * y - 2
    then = rng.normal(size=800) + 1.5 * (rng.random(800) < 0.15) - 2
    write_columns(Path("validation.csv"), {"logit": logits, "ill": y})
    write_columns(Path("batch.csv"), {"logit": then})
    metric = ("--metric", "specificity@sensitivity=0.99", "--budget", "60")
    code, out, err = abstain(*RUN, *metric, "--out", "d.csv", "--json")
    found = json.loads(out)
    assert (code, found["withheld"]) == (0, 0)
    assert found["estimate"]["before"] == found["estimate"]["after"]
    assert "so nobody is withheld" in " ".join(found["assumption"]["doubts"])
    assert "Warning: Withholding is not expected to help, so nobody is withheld" in err
    code, _, err = abstain(*RUN, *metric, "--out", "e.csv", "--strict")
    assert (code, Path("e.csv").exists()) == (1, False)
    assert "so nobody is withheld" in err


def test_targets_beside_what_is_reached(abstain, clinic):
    goal = "sensitivity=0.9,specificity=0.85"
    command = (*RUN, "--metric", "accuracy", "--target", goal)
    result = found(abstain, *command)
    targets = {one["metric"]: one for one in result["asked"]["targets"]}
    assert [*targets] == ["sensitivity", "specificity"]
    assert targets["sensitivity"]["asked"] == 0.9
    assert targets["sensitivity"]["reached"] is (targets["sensitivity"]["value"] >= 0.9)
    out = abstain(*command)[1]
    for name, one in targets.items():
        assert f"  {name}  at least {one['asked']:g}: {one['value']:.4f} (90% interval" in out
    assert result["before_as_most_probable"]["value"] != result["estimate"]["before"]["value"]
    other = result["before_as_most_probable"]["value"]
    assert f"predicted as the most probable class it would be {other:.4f}" in out
    plain = found(abstain, *RUN, "--metric", "accuracy", "--budget", "0.1", "--decision", "argmax")
    assert plain["before_as_most_probable"] is None
    assert plain["estimate"]["before"]["value"] == pytest.approx(other, abs=0.01)


def test_a_target_just_out_of_reach(abstain, clinic):
    code, _, err = abstain(*RUN, "--metric", "auroc", "--target", "1")
    assert code == 1
    best = float(err.partition("the best is ")[2].split(",")[0])
    assert best < 1
    goal = f"{best + 2e-6:.6f}"
    code, _, err = abstain(*RUN, "--metric", "auroc", "--target", goal)
    if code == 1:
        shown = err.partition("the best is ")[2].split(",")[0]
        assert float(shown) < float(goal)
        assert "Ask for 0." in err


def test_apply_says_what_was_stored_and_what_moved(abstain, clinic, capsys):
    run = (*RUN, "--metric", "auroc", "--budget", "0.1", "--policy", "my rule.json")
    made = found(abstain, *run)["priors"]
    stored = made["target"]
    same = found(abstain, "apply", "my rule.json", "batch.csv", *COLUMNS)
    assert same["priors"]["stored"] == pytest.approx(stored)
    assert same["priors"]["estimated"] == pytest.approx(made["estimated"], abs=0.01)
    assert (same["priors"]["moved"], same["adapt"]) == (False, None)

    healthy = clinic.y_target == 0
    rows = np.flatnonzero(healthy | (np.arange(800) % 20 == 0))
    write_columns(Path("june.csv"), {"logit": clinic.scores_target[rows]})
    command = ("apply", "my rule.json", "june.csv", *COLUMNS)
    moved = found(abstain, *command)
    assert moved["priors"]["stored"] == pytest.approx(stored)
    low, high = moved["priors"]["interval"][1]
    assert low <= moved["priors"]["estimated"][1] <= high < stored[1]
    assert moved["priors"]["moved"]
    out = abstain(*command)[1]
    assert "made for  these rows (estimated, 90% interval)" in out
    assert "The class proportions moved from those that the rule was made for." in out
    suggested = shlex.split(out.splitlines()[-1])
    assert suggested[:4] == ["abstain", "adapt", "my rule.json", "june.csv"]
    assert shlex.split(moved["adapt"]) == suggested
    assert run_command(suggested[1:]) == 0
    capsys.readouterr()
    adapted = found(abstain, "apply", "my rule-adapted.json", "june.csv", *COLUMNS)
    assert not adapted["priors"]["moved"]


def test_apply_says_why_few_rows_tell_nothing(abstain, clinic):
    assert abstain(*RUN, "--metric", "auroc", "--budget", "0.1", "--policy", "p.json")[0] == 0
    write_columns(Path("few.csv"), {"logit": clinic.scores_target[:20]})
    result = found(abstain, "apply", "p.json", "few.csv", *COLUMNS)
    assert result["priors"]["estimated"] is None
    assert result["priors"]["why_not"].startswith("20 rows are too few")
    out = abstain("apply", "p.json", "few.csv", *COLUMNS)[1]
    assert "Those of these rows were not estimated: 20 rows are too few" in out
    assert "estimated," not in out


def test_no_more_than_people_can_look_at(abstain, clinic):
    run = (*RUN, "--metric", "accuracy", "--budget", "0.2", "--policy", "p.json")
    assert found(abstain, *run)["withheld"] == 160
    command = ("apply", "p.json", "batch.csv", *COLUMNS, "--at-most", "40")
    result = found(abstain, *command)
    assert (result["withheld"], result["over_capacity"]) == (40, 120)
    out = abstain(*command, "--out", "d.csv", "--sort", "pressing")[1]
    assert out.startswith(
        "Withheld 40 of 800 rows (5.0%)\nThe rule would withhold 160: the 40 most"
    )
    assert "120 were let through for lack of capacity" in out
    lines = Path("d.csv").read_text().splitlines()[1:]
    assert all(",true," in line for line in lines[:40])
    assert all("over capacity" in line for line in lines[40:160])
    assert not any("over capacity" in line for line in lines[160:])
    assert found(abstain, *command[:-1], "500")["over_capacity"] == 0


def test_counts_and_percentages_are_budgets_of_compare_too(abstain, clinic):
    command = ("compare", *RUN[1:], "--metric", "auroc", "--methods", "delta-metric")
    both = found(abstain, *command, "--budget", "80", "--budget", "10%")
    by_count, by_share = both["methods"]["delta-metric"]
    assert (by_count["budget"], by_share["budget"]) == (80, 0.1)
    assert by_count["value"] == by_share["value"]
    head = abstain(*command, "--budget", "80", "--budget", "10%")[1].splitlines()[1]
    assert head.split("  ")[1:] != []
    assert "80 rows (90% interval)" in head
    assert "10% (90% interval)" in head
    said = [
        abstain(*command, "--budget", "800"),
        abstain(*RUN, "--metric", "f1", "--budget", "800"),
    ]
    assert [code for code, _, _ in said] == [1, 1]
    assert said[0][2] == said[1][2]
    assert "--budget as a count must be less than the batch" in said[0][2]


def test_many_classes_do_not_push_the_answer_away(abstain):
    rng = np.random.default_rng(0)
    y = rng.integers(12, size=400)
    logits = rng.normal(size=(400, 12))
    logits[np.arange(400), y] += 5
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    columns = {f"p_c{k}": column for k, column in enumerate(proba.T)}
    write_columns(Path("v.csv"), {**columns, "y": [f"c{k}" for k in y]})
    options = ("--calibration", "temperature", "--metric", "accuracy")
    code, out, err = abstain("run", "v.csv", "v.csv", *options, "--budget", "0.1")
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0] == "Withheld 40 of 400 rows (10.0%)"
    assert "Class proportions, those that moved most" in lines
    assert "  ... and 4 more (--json has all)" in lines
    out = abstain("shift", "v.csv", "v.csv", "--calibration", "temperature")[1]
    assert out.startswith("Is there a shift?")
    assert "  ... and 4 more (--json has all)" in out
    assert "and 4 more that moved less" in abstain("estimate", "v.csv", "v.csv", *options)[1]


def test_of_a_hundred_classes_those_that_moved_most_are_shown():
    then, now = np.full(100, 0.01), np.full(100, 0.01)
    now[[17, 42]] = 0.005, 0.015
    names = ["\u6771\u4eac" if k == 42 else f"class {k}" for k in range(100)]
    columns = {
        side: [f"{one:.3f}" for one in values]
        for side, values in (("validation", then), ("these rows", now))
    }
    lines = proportion_lines("Class proportions", names, columns, then=then, now=now)
    assert len(lines) == 11
    assert lines[0] == "Class proportions, those that moved most"
    assert lines[2].split() == ["class", "17", "0.010", "0.005"]
    # Two letters that are twice as wide.
    assert lines[3].startswith("  \u6771\u4eac" + " " * 4)
    assert lines[-1] == "  ... and 92 more (--json has all)"
    few = proportion_lines("Class proportions", names[:10], columns={}, then=then, now=now)
    assert len(few) == 12


def test_which_cases_are_referred_and_the_likeliest_first(abstain, clinic):
    """A window near the threshold, which people take for the highest scores."""
    command = [*RUN, "--metric", "auroc", "--budget", "80", "--out", "d.csv", "--sort", "score"]
    told = found(abstain, *command)
    low, high = told["withhold"]["lower"], told["withhold"]["upper"]
    assert told["refers"] == (
        f"Cases with a probability of class 1 from {low:.4f} to {high:.4f} are referred"
    )
    assert told["refers"] + "; those above it are kept" in abstain(*command, "--force")[1]
    with Path("d.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    likely = np.array([float(row["p_1"]) for row in rows])
    assert (np.diff(likely) <= 0).all()
    assert {row["abstain"] for row in rows[: int((likely > high + 1e-4).sum())]} == {"false"}


def test_proportions_of_a_rare_class_have_digits(abstain):
    """0.001 then and 0.001 now is half as many again."""
    rng, n = np.random.default_rng(0), 40_000
    tables = {"validation.csv": 0.001, "batch.csv": 0.0015}
    for name, rate in tables.items():
        y = (rng.random(n) < rate).astype(int)
        write_columns(Path(name), {"logit": rng.normal(size=n) + 3 * y - 7, "ill": y})
    out = abstain(*RUN, "--metric", "accuracy", "--budget", "50")[1]
    row = next(line for line in out.splitlines() if line.startswith("  1 "))
    then, now, low, _, high = row.replace("(", "").replace(")", "").split()[1:]
    assert {len(one) for one in (then, now, low, high)} == {len("0.00100")}
    assert float(low) < float(now) < float(high)
    assert abstain("shift", *RUN[1:])[1].count(then) >= 1
