import json
from pathlib import Path

import numpy as np
import pytest

from abstain import Cost, Policy
from abstain.cli._predictions import read_predictions
from abstain.cli._reading import Columns
from abstain.datasets import screening_clinic, simulate_four_class_normal

from .tables import write_columns

RUN = (
    "run", "validation.csv", "target.csv", "--scores", "logit", "--scale", "logits",
    "--label", "ill", "--calibration", "platt", "--metric", "sensitivity@specificity=0.9",
)  # fmt: skip


@pytest.fixture
def clinic(abstain):
    clinic = screening_clinic(4_000, 1_000, random_state=0)
    write_columns(Path("validation.csv"), {"logit": clinic.scores_val, "ill": clinic.y_val})
    write_columns(Path("target.csv"), {"logit": clinic.scores_target})
    return clinic


def found(abstain, *arguments):
    code, out, err = abstain(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_a_count(abstain, clinic):
    assert found(abstain, *RUN, "--budget", "37")["withheld"] == 37


def test_a_target(abstain, clinic):
    result = found(abstain, *RUN, "--target", "0.95")
    assert result["estimate"]["after"]["value"] >= 0.95
    both = found(abstain, *RUN, "--target", "sensitivity=0.95,specificity=0.9")
    assert both["withheld"] > 0
    assert both["decision"]["kind"] == "threshold"
    code, _, err = abstain(*RUN, "--metric", "auroc", "--target", "1")
    assert code == 1
    assert "the best is" in err


def test_a_cost(abstain, clinic):
    Path("errors.csv").write_text("0,300\n9000,0\n")
    result = found(
        abstain, *RUN, "--cost", "40", "--errors", "errors.csv", "--policy", "triage.json"
    )
    policy = Policy.load("triage.json")
    cost = Cost(40, [[0, 300], [9000, 0]])
    assert policy.selection.cost.to_dict() == cost.to_dict()
    assert result["withheld"] == policy.apply(clinic.scores_target).abstain.sum()
    assert found(abstain, *RUN, "--cost", "0.2", "--value-of-metric", "1")["withheld"] > 0
    assert found(abstain, *RUN, "--cost", "0.05,0.1")["withheld"] > 0


def test_a_certificate(abstain, clinic):
    arguments = (*RUN, "--target", "sensitivity=0.85,specificity=0.85", "--confidence", "0.9")
    code, out, _ = abstain(*arguments, "--policy", "triage.json")
    assert code == 0
    assert "Certified with 90% confidence, at any prevalence" in out
    assert found(abstain, *arguments)["certificate"]["bounds"]["sensitivity"]["value"] == 0.85
    code, _, err = abstain("adapt", "triage.json", "target.csv", "--scores", "logit")
    assert code == 1
    assert "needs no adapting" in err
    assert abstain(
        "adapt", "triage.json", "target.csv", "--scores", "logit", "--drop-certificate"
    )[0] == 0  # fmt: skip
    _, out, _ = abstain(
        *RUN, "--metric", "accuracy", "--target", "0.8", "--confidence", "0.9",
        "--prior-range", "0.2:0.5",
    )  # fmt: skip
    assert "prevalences 0.2 to 0.5" in out


@pytest.mark.filterwarnings("ignore::abstain.exceptions.AssumptionWarning")
def test_arms(abstain, clinic):
    arguments = (*RUN, "--metric", "auroc", "--arms", "npv=95%,ppv=0.99")
    code, out, err = abstain(*arguments, "--prevalence", "5%..30%", "--policy", "arms.json")
    assert code == 0
    assert "Released: " in out
    assert "go unseen; promised: npv 0.95" in out
    assert "No ppv 0.99 can be promised" in err
    again = found(abstain, *arguments, "--prior-range", "0.05:0.3")
    release, person, act = again["arms"]
    assert release["rows"] + person["rows"] == again["rows"]
    assert act["promises"] == {}
    assert again["certificate"]["confidence"] == 0.95
    code, _, err = abstain(*arguments)
    assert code != 0
    assert "--prior-range" in err


@pytest.mark.filterwarnings("ignore::abstain.exceptions.AssumptionWarning")
def test_arms_by_group(abstain, clinic):
    rows = Path("validation.csv").read_text().splitlines()
    site = ["site", *("AB"[number % 2] for number in range(len(rows) - 1))]
    Path("sites.csv").write_text("\n".join(map(",".join, zip(rows, site, strict=True))))
    arguments = ("--metric", "auroc", "--arms", "sensitivity=0.9", "--json")
    command = ("run", "sites.csv", *RUN[2:])
    alone = json.loads(abstain(*command, *arguments)[1])["arms"][0]["rows"]
    each = json.loads(abstain(*command, *arguments, "--by", "site")[1])["arms"][0]["rows"]
    assert 0 < each < alone
    code, _, err = abstain(*command, "--metric", "auroc", "--budget", "0.1", "--by", "site")
    assert code != 0
    assert "`arms`" in err or "--arms" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--arms", "0.9"), "must be NAME=NUMBER"),
        ((), "exactly one of --budget, --target, --cost, --arms; got none"),
        (("--budget", "0.1", "--cost", "2"), "got --budget and --cost"),
        (("--budget", "1.5"), "must be a fraction"),
        (("--budget", "many"), "'many' is no number, such as 0.15 or 15%."),
        (("--budget", "0,15"), "write 0.15"),
        (("--target", "sensitivity"), "must be a number or NAME=NUMBER"),
        (("--budget", "0.1", "--errors", "errors.csv"), "there is no such file"),
        (("--budget", "0.1", "--value-of-metric", "2"), "go with --cost"),
        (("--cost", "-1"), "not negative"),
        (("--budget", "0.1", "--confidence", "0.9", "--prior-range", "0.1"), "LOW:HIGH"),
    ],
)
def test_wrong_commands(abstain, clinic, arguments, message):
    code, _, err = abstain(*RUN, *arguments)
    assert code == 2
    assert message in " ".join(err.split())


def test_apply_repeats_the_decisions(abstain, clinic):
    assert abstain(*RUN, "--budget", "0.15", "--out", "a.csv", "--policy", "triage.json")[0] == 0
    code, out, err = abstain(
        "apply", "triage.json", "target.csv", "--scores", "logit", "--out", "b.csv"
    )
    assert code == 0
    assert "Withheld 150 of 1,000 rows" in out
    assert "b.csv" in err
    assert Path("a.csv").read_text() == Path("b.csv").read_text()
    code, _, err = abstain(
        "apply", "triage.json", "target.csv", "--scores", "logit", "--out", "b.csv"
    )
    assert (code, "add --force" in err) == (2, True)


def test_apply_finds_the_columns_of_the_classes_by_name(abstain):
    source = simulate_four_class_normal(500, random_state=0)
    names = ["mild", "none", "severe", "worst"]
    columns = {f"p_{name}": column for name, column in zip(names, source.proba.T, strict=True)}
    write_columns(Path("validation.csv"), {**columns, "y": np.array(names)[source.y]})
    write_columns(Path("turned.csv"), dict(reversed(columns.items())))
    run = ("run", "validation.csv", "validation.csv", "--metric", "accuracy", "--budget", "0.1")
    assert abstain(*run, "--out", "a.csv", "--policy", "rule.json")[0] == 0
    assert abstain("apply", "rule.json", "turned.csv", "--out", "b.csv")[0] == 0
    first, second = (read_predictions(Path(name), Columns("p_*")) for name in ("a.csv", "b.csv"))
    assert first.scores.equals(second.scores)
    columns["p_unknown"] = columns.pop("p_none")
    write_columns(Path("other.csv"), columns)
    code, _, err = abstain("apply", "rule.json", "other.csv")
    assert code == 1
    assert "the fitted ones are for mild, none, severe, worst" in err


def test_adapt(abstain, clinic):
    assert abstain(*RUN, "--budget", "0.15", "--policy", "triage.json")[0] == 0
    ill = np.flatnonzero(clinic.y_target == 1)[:50]
    rows = np.concatenate([np.flatnonzero(clinic.y_target == 0), ill])
    write_columns(Path("recent.csv"), {"logit": clinic.scores_target[rows]})
    command = ("adapt", "triage.json", "recent.csv", "--scores", "logit")
    code, out, err = abstain(*command, "--out", "june.json")
    assert code == 0
    assert "The estimates rest on this. " in out
    assert "june.json" in err
    assert Policy.load("june.json").priors[1] < 0.15
    result = found(abstain, *command)
    assert result["assumption"]["assumed"] == "weighed"
    assert result["assumption"]["check"]["p_value"] > 0.01
    assert result["old_priors"][1] > 0.25
    write_columns(Path("recent.csv"), {"logit": 0.3 * clinic.scores_target - 2})
    code, out, err = abstain(*command)
    assert (code, err.count("Warning: ")) == (0, 1)
    assert "Nothing that was weighed explains the batch" in err
    code, out, err = abstain(*command, "--out", "july.json", "--strict")
    assert (code, "Withheld" in out) == (1, True)
    assert err.endswith("abstain: stopped by --strict; nothing was written.\n")
    assert not Path("july.json").exists()


def test_a_broken_policy_is_said(abstain, clinic):
    Path("triage.json").write_text("{")
    code, _, err = abstain("apply", "triage.json", "target.csv", "--scores", "logit")
    assert code == 1
    assert "not a whole JSON file" in err


def test_a_rule_remembers_the_columns_it_was_made_from(abstain, clinic):
    probabilities = {"score": 1 / (1 + np.exp(-clinic.scores_target)), "p_age": np.arange(1_000.0)}
    validation = {"score": 1 / (1 + np.exp(-clinic.scores_val)), "ill": clinic.y_val}
    write_columns(Path("v.csv"), validation)
    write_columns(Path("b.csv"), probabilities | {"ill": clinic.y_target})
    made = ("--label", "ill", "--scores", "score", "--metric", "auroc", "--budget", "0.1")
    assert abstain("run", "v.csv", "b.csv", *made, "--policy", "rule.json")[0] == 0
    assert Policy.load("rule.json").made_from == {"scores": "score", "label": "ill"}
    for name, *more in (
        ("apply",), ("apply", "--stream"), ("adapt", "--out", "new.json"), ("evaluate",),
        ("report", "--validation", "v.csv", "--out", "page.html"),
    ):  # fmt: skip
        told = ("--scores", "score", *(("--label", "ill") if name == "evaluate" else ()))
        code, out, err = abstain(name, "rule.json", "b.csv", *more)
        assert code == 0, err
        again = abstain(
            name, "rule.json", "b.csv", *more, *told, *(["--force"] * ("--out" in more))
        )
        assert again[1] == out
    assert Policy.load("new.json").made_from == {"scores": "score", "label": "ill"}
    query = ("export", "rule.json", "--to", "sql", "--dialect", "duckdb", "--table", "t")
    assert abstain(*query)[1] == abstain(*query, "--scores", "score")[1]
    # Told otherwise, or where the column is not there, they are looked for as ever.
    write_columns(Path("other.csv"), {"p_1": probabilities["score"]})
    assert abstain("apply", "rule.json", "other.csv")[0] == 0
    code, _, err = abstain("apply", "rule.json", "b.csv", "--scores", "p_*")
    assert code == 1
    assert "as a column does that names rows" in err or "probabilities lie within" in err


def test_scores_that_nothing_explains_make_no_rule(abstain, clinic):
    scores = ("--scores", "logit")
    write_columns(Path("v.csv"), {"logit": clinic.scores_val, "ill": clinic.y_val})
    write_columns(Path("b.csv"), {"logit": clinic.scores_target})
    # As a model that was trained again has them.
    write_columns(Path("retrained.csv"), {"logit": 0.5 * clinic.scores_target - 3})
    run = (*scores, "--scale", "logits", "--label", "ill", "--metric", "auroc", "--budget", "0.1")
    assert abstain("run", "v.csv", "b.csv", *run, "--policy", "rule.json")[0] == 0
    assert abstain("adapt", "rule.json", "b.csv", "--out", "b.json")[0] == 0
    code, out, err = abstain("adapt", "rule.json", "retrained.csv", "--out", "new.json")
    assert code == 1
    assert "no rule was written" in err
    assert "Withheld" in out
    assert not Path("new.json").exists()
    assert abstain("adapt", "rule.json", "retrained.csv", "--out", "new.json", "--force")[0] == 0
    assert Path("new.json").exists()


def test_a_budget_caps_a_target(abstain, clinic):
    write_columns(Path("v.csv"), {"logit": clinic.scores_val, "ill": clinic.y_val})
    write_columns(Path("b.csv"), {"logit": clinic.scores_target})
    run = ("run", "v.csv", "b.csv", "--scores", "logit", "--scale", "logits", "--label", "ill")
    run = (*run, "--metric", "accuracy", "--calibration", "platt", "--json")
    found = json.loads(abstain(*run, "--target", "0.95")[1])
    needed = found["withheld"]
    for budget, most in ((needed // 2, needed // 2), (needed + 100, needed)):
        code, out, _ = abstain(*run, "--target", "0.95", "--budget", budget, "--policy", "p.json")
        capped = json.loads(out)
        assert code == 0
        assert capped["withheld"] == most
        assert capped["reached"] == pytest.approx(found["reached"]) or budget < needed
        assert Policy.load("p.json").selection.target == 0.95
        assert abstain("adapt", "p.json", "b.csv", "--force")[0] == 0
        Path("p.json").unlink()
    best = json.loads(abstain(*run, "--budget", needed // 2)[1])
    code, out, _ = abstain(*run, "--target", "0.99999", "--budget", needed // 2)
    assert code == 0
    assert json.loads(out)["estimate"]["after"] == best["estimate"]["after"]
    assert json.loads(out)["asked"]["targets"][0]["reached"] is False
