"""Rows without a score, labels that are known, ids that come twice."""

import csv
import json
from pathlib import Path

import pytest

from abstain.datasets import screening_clinic

from .tables import write_columns

HOW = ("--scores", "logit", "--scale", "logits", "--label", "ill", "--calibration", "platt")
RUN = ("run", "v.csv", "t.csv", *HOW, "--metric", "auroc", "--budget", "0.15")
GAPS = (3, 9, 12, 40)


@pytest.fixture
def clinic(abstain):
    clinic = screening_clinic(300, 200, random_state=0)
    write_columns(Path("v.csv"), {"logit": clinic.scores_val, "ill": clinic.y_val})
    write_columns(Path("whole.csv"), {"logit": clinic.scores_target})
    scores = [None if row in GAPS else value for row, value in enumerate(clinic.scores_target)]
    labels = [label if row % 4 == 0 else None for row, label in enumerate(clinic.y_target)]
    ids = [f"P{row}" for row in range(200)]
    write_columns(Path("t.csv"), {"id": ids, "logit": scores, "seen": labels})
    return clinic


def found(abstain, *arguments):
    code, out, err = abstain(*arguments, "--json")
    assert code == 0, err
    return json.loads(out), err


def rows_of(name):
    with open(name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_default_names_the_rows_and_the_way_out(abstain, clinic):
    code, out, err = abstain(*RUN, "--id", "id")
    assert (code, out) == (1, "")
    assert err == (
        "abstain: 4 of 200 rows of t.csv have no score, first line 5 of t.csv (P3); line 11 of "
        "t.csv (P9); line 14 of t.csv (P12). Add --missing refer to give them to a person, or "
        "--missing drop to leave them out.\n"
    )
    code, _, err = abstain("shift", "v.csv", "t.csv", *HOW)
    assert (code, "4 of 200 rows of t.csv have no score" in err) == (1, True)
    code, _, err = abstain("shift", "v.csv", "t.csv", *HOW, "--missing", "drop")
    assert (code, "they are left out" in err) == (0, True)


def test_dropped_rows_are_counted_and_keep_the_others_in_place(abstain, clinic):
    result, err = found(abstain, *RUN, "--missing", "drop", "--out", "d.csv")
    assert "Warning: 4 of 200 rows of t.csv have no score" in err
    assert "they are left out" in err
    assert result["rows"] == 196
    assert result["without_score"] == {"rows": 4, "done": "drop", "first": [3, 9, 12, 40]}
    rows = rows_of("d.csv")
    assert [int(row["row"]) for row in rows] == [row for row in range(200) if row not in GAPS]
    assert [row["id"] for row in rows][3] == "P4"


def test_a_validation_row_without_a_score_is_of_no_use(abstain, clinic):
    scores = [None, *clinic.scores_val[1:]]
    write_columns(Path("v.csv"), {"logit": scores, "ill": clinic.y_val})
    code, _, err = abstain(*RUN[:2], "whole.csv", *RUN[3:])
    assert (code, "1 of 300 rows of v.csv have no score" in err) == (1, True)
    for way in ("drop", "refer"):
        _, err = found(abstain, *RUN[:2], "whole.csv", *RUN[3:], "--missing", way)
        assert "1 of 300 rows of v.csv have no score" in err
        assert "they are left out" in err
    write_columns(Path("v.csv"), {"logit": clinic.scores_val, "ill": [None, *clinic.y_val[1:]]})
    code, _, err = abstain(*RUN[:2], "whole.csv", *RUN[3:])
    assert (code, "column 'ill' is empty in 1 rows, first line 2 of v.csv" in err) == (1, True)


def test_rows_without_a_score_go_to_a_person(abstain, clinic):
    result, err = found(
        abstain, *RUN, "--missing", "refer", "--id", "id", "--out", "d.csv", "--policy", "r.json"
    )
    assert "they are referred to a person" in err
    assert result["without_score"]["first"] == ["P3", "P9", "P12", "P40"]
    rows = rows_of("d.csv")
    assert len(rows) == 200
    for row in GAPS:
        assert (rows[row]["abstain"], rows[row]["reason"]) == ("true", "no score")
        assert (rows[row]["p_1"], rows[row]["prediction"]) == ("", "")
    arguments = ("apply", "r.json", "t.csv", "--scores", "logit", "--id", "id")
    _, err = found(abstain, *arguments, "--missing", "refer", "--out", "e.csv")
    assert [row["abstain"] for row in rows_of("e.csv")] == [row["abstain"] for row in rows]
    report = ("report", "r.json", "t.csv", "--scores", "logit", "--id", "id", "--missing", "refer")
    assert abstain(*report)[0] == 0
    write_columns(Path("w.csv"), {"logit": [None, *clinic.scores_target[1:]],
                                  "ill": clinic.y_target})  # fmt: skip
    evaluate = ("evaluate", "r.json", "w.csv", "--scores", "logit", "--label", "ill")
    for way in ("refer", "drop"):
        _, err = found(abstain, *evaluate, "--missing", way)
        assert "1 of 200 rows of w.csv have no score" in err


def test_known_labels_are_not_withheld(abstain, clinic):
    result, _ = found(
        abstain, *RUN, "--known-labels", "seen", "--missing", "refer", "--out", "d.csv"
    )
    rows = rows_of("d.csv")
    for number, row in enumerate(rows):
        if number % 4 == 0:
            assert (row["abstain"], row["reason"]) == ("false", "label known")
            assert int(row["prediction"]) == clinic.y_target[number]
    # Rows 12 and 40 have a label, so that nothing is missing about them.
    assert result["without_score"]["rows"] == 2


def test_a_column_of_known_labels_that_is_not_there(abstain, clinic):
    code, _, err = abstain(*RUN, "--known-labels", "diagnosis", "--missing", "refer")
    assert code == 1
    assert "--known-labels seen  (0, 1" in err


def test_ids_that_come_twice_are_reported(abstain, clinic):
    ids = ["A", "A", "B", "B", "B", *range(195)]
    columns = {"id": [str(one) for one in ids], "logit": clinic.scores_target}
    write_columns(Path("t.csv"), columns)
    result, err = found(abstain, *RUN, "--id", "id")
    assert "2 values of 'id' in t.csv come more than once, in 5 rows: A, B." in err
    assert result["duplicate_ids"] == {"count": 2, "rows": 5, "first": ["A", "B"]}
