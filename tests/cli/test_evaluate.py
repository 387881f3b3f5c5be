"""Labels that came later: joined by id, with gaps, by several groups, with intervals."""

import json
from pathlib import Path

import numpy as np
import pytest

from abstain import Policy
from abstain.datasets import screening_clinic
from abstain.evaluation import evaluate

from .tables import write_columns

COLUMNS = ("--scores", "logit")
N = 600


@pytest.fixture
def clinic(abstain):
    clinic = screening_clinic(800, N, random_state=0)
    write_columns(Path("validation.csv"), {"logit": clinic.scores_val, "ill": clinic.y_val})
    columns = {
        "who": [f"{k:04d}" for k in range(N)],
        "logit": clinic.scores_target,
        "site": ["N", "S"] * (N // 2),
        "sex": ["f"] * 20 + ["m"] * (N - 20),
    }
    write_columns(Path("batch.csv"), columns)
    run = ("run", "validation.csv", "batch.csv", *COLUMNS, "--scale", "logits", "--label", "ill")
    run = (*run, "--calibration", "platt", "--metric", "auroc", "--budget", "0.2")
    assert abstain(*run, "--policy", "p.json")[0] == 0
    return clinic


def write_labels(clinic, rows, **more):
    write_columns(
        Path("labels.csv"),
        {"who": [f"{k:04d}" for k in rows], "ill": clinic.y_target[rows], **more},
    )


def found(abstain, *arguments):
    code, out, err = abstain("evaluate", "p.json", "batch.csv", *COLUMNS, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


JOIN = ("--labels", "labels.csv", "--id", "who", "--label", "ill")


def test_labels_are_joined_by_id(abstain, clinic):
    rows = np.random.default_rng(0).permutation(N)[:450]
    write_labels(clinic, rows)
    with Path("labels.csv").open("a") as file:
        file.write('"x-1",1\n')
    result = found(abstain, *JOIN)
    assert result["labels"] == {
        "rows": N,
        "labelled": 450,
        "without_label": 150,
        "labels_without_row": 1,
    }
    rows = np.sort(rows)
    decisions = Policy.load("p.json").apply(clinic.scores_target[rows])
    library = evaluate(decisions, clinic.y_target[rows]).realised["auroc"]
    assert result["realised"]["auroc"]["kept"] == library.kept
    assert result["realised"]["auroc"]["kept_interval"] == list(library.kept_interval)
    out = abstain("evaluate", "p.json", "batch.csv", *COLUMNS, *JOIN)[1]
    assert out.startswith("Judged 450 of 600 rows: 150 have no label, 1 label belongs to no row\n")
    assert "Positive class: 1" in out
    level = found(abstain, *JOIN, "--level", "0.5")["realised"]["auroc"]
    assert level["level"] == 0.5
    assert level["kept_interval"][0] > library.kept_interval[0]


def test_rows_without_a_label_are_left_out_and_counted(abstain, clinic):
    columns = {"logit": clinic.scores_target, "who": [str(k) for k in range(N)]}
    labels = [str(y) if k % 3 else "" for k, y in enumerate(clinic.y_target)]
    write_columns(Path("gaps.csv"), {**columns, "ill": labels})
    code, out, err = abstain(
        "evaluate", "p.json", "gaps.csv", *COLUMNS, "--label", "ill", "--json"
    )
    assert code == 0, err
    assert json.loads(out)["labels"]["without_label"] == N // 3
    write_columns(Path("none.csv"), {**columns, "ill": [""] * (N - 1) + ["NA"]})
    code, _, err = abstain("evaluate", "p.json", "none.csv", *COLUMNS, "--label", "ill")
    assert code == 1
    assert "No row of none.csv has a label" in err


def test_what_cannot_be_joined_is_said(abstain, clinic):
    command = ("evaluate", "p.json", "batch.csv", *COLUMNS)
    code, _, err = abstain(*command, "--labels", "labels.csv", "--label", "ill")
    assert (code, "--labels needs --id" in err) == (2, True)
    write_labels(clinic, np.r_[np.arange(10), [3, 4]])
    code, _, err = abstain(*command, *JOIN)
    assert code == 1
    assert "labels.csv: 2 ids in column 'who' come more than once: 0003, 0004" in err
    write_columns(Path("labels.csv"), {"patient": ["0001"], "ill": [1]})
    code, _, err = abstain(*command, *JOIN)
    assert code == 1
    assert "labels.csv has no column 'who' to join by: it must be called the same" in err
    write_columns(Path("labels.csv"), {"who": ["0001", "0002"], "ill": ["1", "perhaps"]})
    code, _, err = abstain(*command, *JOIN)
    assert code == 1
    assert "1 labels in column 'ill' are none of the rule's classes (0, 1), first perhaps" in err
    write_columns(Path("labels.csv"), {"who": ["9001"], "ill": [1]})
    code, _, err = abstain(*command, *JOIN)
    assert code == 1
    assert "Are the ids in 'who' the same in both files?" in err


def test_several_groups_each_by_itself_and_small_ones_are_said(abstain, clinic):
    write_labels(clinic, np.arange(N))
    result = found(abstain, *JOIN, "--group", "site", "--group", "sex", "--metric", "accuracy")
    assert result["groups"]["site"]["N"]["auroc"]["n"] == 300
    assert result["groups"]["sex"]["f"]["accuracy"]["n"] == 20
    assert any(one.startswith("sex f (20 rows") for one in result["small"])
    groups = ("--group", "site", "--group", "sex")
    code, out, err = abstain("evaluate", "p.json", "batch.csv", *COLUMNS, *JOIN, *groups)
    assert code == 0
    assert "\nby site " in out
    assert "\nby sex " in out
    assert "Warning: Too few rows to say much: sex f (20 rows" in err
    one = found(abstain, *JOIN, "--group", "site")["groups"]
    assert one["N"] == {
        "auroc": result["groups"]["site"]["N"]["auroc"],
    }


def test_the_head_lines_up(abstain, clinic):
    write_labels(clinic, np.arange(N))
    command = ("evaluate", "p.json", "batch.csv", *COLUMNS, *JOIN)
    out = abstain(*command, "--metric", "sensitivity@specificity=0.9")[1]
    head, *lines = out.split("\n\n")[1].splitlines()
    for word in ("on all", "on the kept", "on the withheld"):
        place = head.index(word)
        for line in lines:
            assert line[place - 2 : place] == "  "
            assert line[place] != " "
