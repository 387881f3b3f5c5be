"""Which class is positive: given, named by the score column, or asked for; and said everywhere."""

import json
from pathlib import Path

import numpy as np
import pytest

from abstain import Abstainer, Policy
from abstain.datasets import screening_clinic, simulate_four_class_normal

from .tables import write_columns

NAMES = np.array(["healthy", "cancer"])
RUN = ("run", "validation.csv", "batch.csv", "--label", "y", "--scale", "logits")
RUN = (*RUN, "--calibration", "platt", "--metric", "sensitivity@specificity=0.9")
RUN = (*RUN, "--budget", "0.15")


@pytest.fixture
def clinic(abstain):
    return screening_clinic(600, 400, random_state=0)


def write(clinic, column, names=NAMES):
    write_columns(
        Path("validation.csv"), {column: clinic.scores_val, "y": np.asarray(names)[clinic.y_val]}
    )
    write_columns(Path("batch.csv"), {column: clinic.scores_target})


def found(abstain, *arguments):
    code, out, err = abstain(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize(
    ("column", "scores"),
    [("p_cancer", "p_cancer"), ("p_cancer", "p_*"), ("cancer", "cancer"), ("lo_cancer", "lo_*")],
)
def test_a_column_named_by_a_class_is_the_score_of_the_positive_one(
    abstain, clinic, column, scores
):
    write(clinic, column)
    result = found(abstain, *RUN, "--scores", scores, "--policy", "p.json")
    assert result["positive"] == "cancer"
    assert result["classes"] == ["healthy", "cancer"]
    assert Policy.load("p.json").positive == "cancer"
    library = (
        Abstainer(
            "sensitivity@specificity=0.9",
            budget=0.15,
            calibration="platt",
            scale="logits",
            random_state=0,
        )
        .fit(clinic.scores_val, clinic.y_val)
        .decide(clinic.scores_target)
    )
    assert result["estimate"]["after"]["value"] == library.estimate.after.value
    out = abstain(*RUN, "--scores", scores)[1]
    assert "\nPositive class: cancer\n" in out
    assert "Predicts cancer where its probability" in out


def test_a_score_that_could_be_of_either_class_is_an_error_that_says_what_to_add(abstain, clinic):
    write(clinic, "score")
    for command in (
        RUN,
        ("compare", *RUN[1:]),
        ("shift", *RUN[1:7], "--calibration", "platt"),
        ("calibrate", "validation.csv", "--label", "y", "--scale", "logits"),
        ("estimate", *RUN[1:-2]),
    ):
        code, out, err = abstain(*command, "--scores", "score")
        assert (code, out) == (1, "")
        assert "labels cancer and healthy and one score column, score" in err
        assert "Add --positive cancer or --positive healthy." in err
        result = found(abstain, *command, "--scores", "score", "--positive", "cancer")
        assert result["positive"] == "cancer"
        out = abstain(*command, "--scores", "score", "--positive", "cancer")[1]
        assert "Positive class: cancer" in out
    code, _, err = abstain(*RUN, "--scores", "score", "--positive", "canser")
    assert code == 1
    assert "--positive canser is none of the labels of validation.csv: cancer, healthy" in err


def test_labels_are_compared_as_text(abstain, clinic):
    write(clinic, "score", names=[0, 1])
    assert found(abstain, *RUN, "--scores", "score")["positive"] == 1
    assert found(abstain, *RUN, "--scores", "score", "--positive", "1")["positive"] == 1
    turned = found(abstain, *RUN, "--scores", "score", "--positive", "0")
    assert turned["positive"] == 0
    assert turned["classes"] == [1, 0]


def test_two_columns_need_it_where_the_metric_does(abstain, clinic):
    p = 1 / (1 + np.exp(-clinic.scores_val))
    columns = {"p_cancer": p, "p_healthy": 1 - p}
    write_columns(Path("both.csv"), {**columns, "y": NAMES[clinic.y_val]})
    command = ("run", "both.csv", "both.csv", "--calibration", "platt", "--budget", "0.1")
    code, _, err = abstain(*command, "--metric", "f1")
    assert code == 1
    assert "--metric f1 is of the positive class" in err
    assert "Add --positive cancer or --positive healthy." in err
    code, _, err = abstain(*command[:-2], "--metric", "accuracy", "--target", "sensitivity=0.9")
    assert code == 1
    assert "--target sensitivity is of the positive class" in err
    assert found(abstain, *command, "--metric", "accuracy")["positive"] is None
    either = [
        found(abstain, *command, "--metric", "f1", "--positive", name)["estimate"]["before"]
        for name in ("cancer", "healthy")
    ]
    assert either[0]["value"] < either[1]["value"]


def test_more_than_two_classes_have_none(abstain):
    simulation = simulate_four_class_normal(200, random_state=0)
    columns = {f"p_{k}": column for k, column in enumerate(simulation.proba.T)}
    write_columns(Path("v.csv"), {**columns, "y": simulation.y})
    command = ("run", "v.csv", "v.csv", "--metric", "accuracy", "--budget", "0.1")
    code, _, err = abstain(*command, "--positive", "1")
    assert code == 1
    assert "--positive is for two classes; v.csv has 4" in err


def test_a_rule_takes_the_score_of_either_class(abstain, clinic):
    write(clinic, "p_cancer")
    command = (*RUN, "--scores", "p_cancer", "--policy", "p.json", "--out", "a.csv")
    assert abstain(*command)[0] == 0
    write_columns(Path("turned.csv"), {"p_healthy": -clinic.scores_target})
    result = found(abstain, "apply", "p.json", "turned.csv", "--scores", "p_healthy")
    assert result["positive"] == "cancer"
    assert result["withheld"] == 60


def test_compare_realises_for_the_positive_class(abstain, clinic):
    names = NAMES[clinic.y_val]
    write_columns(Path("v.csv"), {"p_cancer": clinic.scores_val, "y": names})
    write_columns(Path("c.csv"), {"p_1": clinic.scores_val, "y": clinic.y_val})
    options = ("--scale", "logits", "--calibration", "platt", "--metric", "f1", "--repeats", "2")
    options = (*options, "--target-label", "y", "--methods", "random", "--budget", "40")
    named, numbered = (
        found(abstain, "compare", name, name, *options) for name in ("v.csv", "c.csv")
    )
    assert named["positive"] == "cancer"
    assert named["cells"] == numbered["cells"]
    assert {cell["abstain"] for cell in named["cells"]} == {"base", "@40 rows"}
