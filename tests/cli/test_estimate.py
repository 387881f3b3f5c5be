"""``abstain estimate``, and what all commands say of levels, assumptions and doubts."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import abstain as library
from abstain.cli import _output
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.exceptions import RepairWarning

from .tables import write_columns

FILES = ("validation.csv", "target.csv")
HOW = ("--scores", "logit", "--label", "ill", "--scale", "logits", "--calibration", "platt")
ESTIMATE = ("estimate", *FILES, *HOW, "--metric", "accuracy", "--metric", "auroc")
RUN = ("run", *FILES, *HOW, "--metric", "accuracy", "--budget", "0.1")


def above(logits):
    return (logits > -1.5).astype(int)


@pytest.fixture
def clinic(abstain):
    clinic = screening_clinic(1_000, 1_000, random_state=1)
    scores, new = clinic.scores_val, clinic.scores_target
    write_columns(Path(FILES[0]), {"logit": scores, "ill": clinic.y_val, "said": above(scores)})
    write_columns(Path(FILES[1]), {"logit": new, "said": above(new)})
    write_columns(Path("labelled.csv"), {"logit": new, "ill": clinic.y_target})
    return clinic


@pytest.fixture
def odd(clinic):
    """A batch that no label shift explains."""
    write_columns(Path(FILES[1]), {"logit": 0.3 * clinic.scores_target - 2})


def test_it_is_what_the_library_estimates(abstain, clinic):
    code, out, err = abstain(*ESTIMATE, "--prediction", "said", "--json")
    assert (code, err) == (0, "")
    found = library.estimate(
        clinic.scores_val, clinic.y_val, clinic.scores_target, ["accuracy", "auroc"],
        prediction_val=above(clinic.scores_val), prediction=above(clinic.scores_target),
        scale="logits", calibration="platt", random_state=0,
    )  # fmt: skip
    assert json.loads(out) == found.to_dict()
    assert abstain(*ESTIMATE, "--prediction", "said")[1] == f"{found}\n"
    assert abstain(*ESTIMATE)[1] != f"{found}\n"


def test_columns_are_the_classes_by_name(abstain):
    source = simulate_four_class_normal(500, random_state=0)
    names = np.array(["3", "1", "x", "2"])
    columns = {f"p_{name}": column for name, column in zip(names, source.proba.T, strict=True)}
    right = names[source.proba.argmax(axis=1)]
    # As numbers, until one of them is none.
    write_columns(Path("v.csv"), {**columns, "y": names[source.y], "said": right})
    write_columns(Path("t.csv"), dict(reversed(columns.items())) | {"said": right})
    command = ("estimate", "v.csv", "t.csv", "--metric", "accuracy", "--shift", "none", "--json")
    code, out, err = abstain(*command, "--prediction", "said")
    assert code == 0, err
    assert json.loads(out)["classes"] == names.tolist()
    assert out == abstain(*command)[1]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--prediction", "guess"), 1, "no column 'guess'"),
        (("--level", "1.5"), 2, "--level must be in (0, 1)"),
        (("--metric", "aurok"), 2, "Did you mean 'auroc'?"),
    ],
)
def test_mistakes_are_explained(abstain, clinic, arguments, code, message):
    result, out, err = abstain(*ESTIMATE, *arguments)
    assert (result, out) == (code, "")
    assert message in " ".join(err.split())


def test_a_metric_must_be_named(abstain, clinic):
    assert "Missing option '--metric'" in abstain("estimate", *FILES)[2]


def test_the_level_is_that_of_the_words(abstain, clinic):
    commands = [RUN, ESTIMATE, ("compare", *FILES, *HOW, "--metric", "accuracy")]
    for command in commands:
        out = abstain(*command, "--level", "0.5")[1]
        assert "50% interval" in out
        assert "90%" not in out
    assert "90% interval" in abstain(*RUN)[1]


def test_what_was_assumed_is_said(abstain, clinic):
    _, out, err = abstain(*RUN, "--policy", "rule.json")
    assert "\nThe estimates rest on this. " in out
    assert "Warning" not in err
    found = json.loads(abstain(*RUN, "--json")[1])
    assert found["assumption"]["assumed"] == "weighed"
    assert found["assumption"]["summary"] in out
    assert found["reached"] is None
    assert list(found["alternative"]) == list(found["assumption"]["worlds"])
    out = abstain("apply", "rule.json", FILES[1], "--scores", "logit")[1]
    assert "The estimates rest on this. " in out


def test_how_sure_a_target_is(abstain, clinic):
    target = (*RUN[:-2], "--target", "0.85")
    reached = json.loads(abstain(*target, "--json")[1])["reached"]
    line = f"The target is reached with probability {reached:.2f} by the estimate"
    assert line in abstain(*target)[1].splitlines()


def test_doubts_are_said_once_and_with_the_alternative(abstain, odd):
    code, out, err = abstain(*RUN)
    assert code == 0
    assert err.startswith("Warning: ")
    assert "scores of another model" in err
    assert err.count("\n") == 1
    found = json.loads(abstain(*RUN, "--json")[1])
    likely = [name for name, weight in found["assumption"]["worlds"].items() if weight >= 0.05]
    assert out.count("\n  If ") == (len(likely) if len(likely) > 1 else 0)
    # What is chosen may be doubted besides.
    assert err.startswith(abstain(*ESTIMATE)[2].rstrip())


def test_strict_prints_and_writes_nothing(abstain, odd, clinic):
    write_columns(Path("same.csv"), {"logit": clinic.scores_target})
    same = ("run", FILES[0], "same.csv", *RUN[3:])
    code, _, err = abstain(*same, "--policy", "rule.json", "--strict")
    assert (code, err) == (0, "Wrote the rule to rule.json\n")
    outputs = ("--out", "decisions.csv", "--policy", "new.json", "--report", "page.html")
    apply = ("apply", "rule.json", FILES[1], "--scores", "logit", "--out", "decisions.csv")
    compare = ("compare", *FILES, *HOW, "--metric", "accuracy", "--methods", "delta-metric")
    labelled = (*compare, "--target-label", "ill", "--repeats", "2")
    write_columns(Path("target.csv"), {
        "logit": 0.3 * clinic.scores_target - 2, "ill": clinic.y_target
    })  # fmt: skip
    before = sorted(Path().iterdir())
    for command in ((*RUN, *outputs), apply, ESTIMATE, compare, labelled):
        code, out, err = abstain(*command, "--strict")
        assert code == 1, command
        assert "accuracy" in out
        # An applied rule may say as well that it withholds more than its budget.
        more = ["Warning: "] * (command == apply)
        assert [line[:9] for line in err.splitlines()] == ["Warning: ", *more, "abstain: "]
        assert err.endswith("abstain: stopped by --strict; nothing was written.\n")
    assert sorted(Path().iterdir()) == before


def test_evaluate_says_whether_the_interval_held(abstain, clinic):
    abstain(*RUN, "--policy", "rule.json")
    command = ("evaluate", "rule.json", "labelled.csv", "--scores", "logit", "--label", "ill")
    lines = abstain(*command)[1].splitlines()
    parts = json.loads(abstain(*command, "--json")[1])["estimated"]
    for name, part in zip(("all", "kept"), parts.values(), strict=True):
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        low, high = part["interval"]
        assert part["inside"] is (low <= part["realised"] <= high)
        assert line.endswith(", inside" if part["inside"] else ", outside")


def test_repairs_are_said_plainly_and_others_as_ever(abstain, clinic, monkeypatch):
    def warn(*given, **more):
        warnings.warn("3 rows were clipped.", RepairWarning, stacklevel=1)
        warnings.warn("3 rows were clipped.", RepairWarning, stacklevel=1)
        return emit(*given, **more)

    emit = _output.emit
    monkeypatch.setattr("abstain.cli._demo.emit", warn)
    code, _, err = abstain("metrics")
    assert (code, err) == (0, "Warning: 3 rows were clipped.\n")
