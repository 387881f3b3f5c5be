"""What --out writes: the input's columns, the decisions, a manifest; together or not at all."""

import csv
import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from abstain import Policy, __version__
from abstain.cli import _writing
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.report import Report

from .tables import write_columns

RUN = (
    "run", "v.csv", "t.csv", "--scores", "logit", "--scale", "logits", "--label", "ill",
    "--calibration", "platt", "--metric", "auroc", "--budget", "0.15",
)  # fmt: skip
OURS = ["abstain", "reason", "prediction", "gain", "p_0", "p_1"]


@pytest.fixture
def clinic(abstain):
    clinic = screening_clinic(300, 200, random_state=0)
    write_columns(Path("v.csv"), {"logit": clinic.scores_val, "ill": clinic.y_val})
    columns = {
        "code": [f"00{row}" for row in range(200)],
        "logit": clinic.scores_target,
        "price": [f"{row}.50" for row in range(200)],
        "patient": [f"P{row}" for row in range(200)],
    }
    write_columns(Path("t.csv"), columns)
    return clinic


def rows_of(name):
    with open(name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def ours_in(names):
    return [name for name in names if name != "policy"]


def test_other_columns_come_along_as_they_came(abstain, clinic):
    code, _, err = abstain(*RUN, "--id", "patient", "--out", "d.csv")
    assert code == 0, err
    rows = rows_of("d.csv")
    assert ours_in(rows[0]) == ["patient", "code", "price", *OURS]
    assert (rows[7]["patient"], rows[7]["code"], rows[7]["price"]) == ("P7", "007", "7.50")
    assert abstain(*RUN, "--out", "e.csv")[0] == 0
    assert ours_in(rows_of("e.csv")[5]) == ["row", "code", "price", "patient", *OURS]
    assert rows_of("e.csv")[5]["row"] == "5"


def test_nothing_of_theirs_is_written_over(abstain, clinic):
    names = ("row", "prediction", "abstain_prediction", "p_1")
    write_columns(
        Path("t.csv"),
        {"logit": clinic.scores_target} | {name: [f"their {name}"] * 200 for name in names},
    )
    code, _, err = abstain(*RUN, "--out", "d.csv")
    assert code == 0, err
    assert "what was decided is called abstain_row for row, abstain_abstain_prediction for" in err
    first = rows_of("d.csv")[0]
    for name in names:
        assert first[name] == f"their {name}"
    assert first["abstain_row"] == "0"
    assert first["abstain_abstain_prediction"] in ("0", "1")
    assert 0 < float(first["abstain_p_1"]) < 1
    assert json.loads(Path("d.csv.manifest.json").read_text())["renamed"] == {
        "row": "abstain_row",
        "prediction": "abstain_abstain_prediction",
        "p_1": "abstain_p_1",
    }


def test_numbers_are_short_and_reproduce_the_decisions(abstain, clinic):
    settings = (*RUN, "--metric", "sensitivity@specificity=0.9", "--policy", "rule.json")
    assert abstain(*settings, "--out", "d.csv", "--force")[0] == 0
    rows = rows_of("d.csv")
    digits = [row["p_1"].partition("e")[0].replace(".", "").lstrip("0") for row in rows]
    assert max(map(len, digits)) == 6
    rule = Policy.load("rule.json")
    exact = rule.apply(clinic.scores_target)
    written = np.array([float(row["p_1"]) for row in rows])
    assert written == pytest.approx(exact.proba[:, 1], rel=1e-5)
    predicted = np.array([row["prediction"] == "1" for row in rows])
    assert (predicted == (written >= float(rows[0]["threshold"]))).all()
    abstained = np.array([row["abstain"] == "true" for row in rows])
    low, high = written[abstained].min(), written[abstained].max()
    assert (abstained == ((written >= low) & (written <= high))).all()


@pytest.mark.parametrize(("apart", "digits"), [(1e-3, 6), (1e-8, 9), (1e-11, 12), (1e-15, 17)])
def test_rows_decided_differently_stay_apart(abstain, clinic, apart, digits):
    abstain(*RUN, "--policy", "rule.json")
    rule = Policy.load("rule.json")
    low, high = rule.region.to_dict()["lower"], rule.region.to_dict()["upper"]
    made = rule.apply(clinic.scores_target)
    compact, abstained = np.array([high, high + apart, 0.99]), np.array([True, False, False])
    made = replace(made, outcome=replace(made.outcome, compact=compact, abstain=abstained))
    assert low < high
    assert _writing.digits_of(made) == digits


def test_many_classes_have_digits_that_predict_the_same(abstain):
    simulation = simulate_four_class_normal(200, random_state=0)
    columns = {f"p_{k}": column for k, column in enumerate(simulation.proba.T)}
    write_columns(Path("v.csv"), columns | {"y": simulation.y})
    run = ("run", "v.csv", "v.csv", "--metric", "accuracy", "--budget", "0.1")
    assert abstain(*run, "--calibration", "temperature", "--out", "d.csv")[0] == 0
    rows = rows_of("d.csv")
    written = np.array([[float(row[f"p_{k}"]) for k in range(4)] for row in rows])
    assert (written.argmax(axis=1) == [int(row["prediction"]) for row in rows]).all()
    assert "y" in rows[0]


def test_formats_by_the_ending(abstain, clinic):
    # One rule for all of them: a rule's checksum has the second in it in which it was made.
    assert abstain(*RUN, "--out", "made.csv", "--policy", "rule.json")[0] == 0
    for ending in ("csv", "csv.gz", "tsv", "parquet"):
        apply = ("apply", "rule.json", "t.csv", "--scores", "logit")
        assert abstain(*apply, "--out", f"d.{ending}")[0] == 0
    text = Path("d.csv").read_text()
    assert gzip.decompress(Path("d.csv.gz").read_bytes()).decode() == text
    with open("d.tsv", newline="") as file:
        assert list(csv.reader(file, delimiter="\t")) == list(csv.reader(text.splitlines()))
    table = parquet.read_table("d.parquet")
    assert table.schema.field("code").type == pa.string()
    assert table.column("price")[3].as_py() == 3.5
    assert json.loads(table.schema.metadata[b"abstain"])["versions"]["abstain"] == __version__
    for name in ("d.xls", "d.txt", "d.gz", "d"):
        code, _, err = abstain(*RUN, "--out", name)
        assert code == 2
        assert ".csv, .csv.gz, .tsv, .parquet or .xlsx." in " ".join(err.split())


def test_the_manifest_says_what_it_was_made_of(abstain, clinic):
    abstain(*RUN, "--out", "d.csv", "--policy", "rule.json")
    found = json.loads(Path("d.csv.manifest.json").read_text())
    digest = {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in
              ("v.csv", "t.csv", "d.csv", "rule.json")}  # fmt: skip
    assert found["inputs"] == [
        {"file": "v.csv", "sha256": digest["v.csv"], "rows": 300},
        {"file": "t.csv", "sha256": digest["t.csv"], "rows": 200},
    ]
    assert found["output"] == {"file": "d.csv", "rows": 200, "sha256": digest["d.csv"]}
    assert found["command"].startswith("abstain run v.csv t.csv --scores logit")
    assert found["created"].endswith("+00:00")
    assert set(found["versions"]) == {"abstain", "python", "numpy"}
    policy = getattr(Policy.load("rule.json"), "sha256", None)
    assert found["policy"] == policy
    if policy is not None:
        assert rows_of("d.csv")[0]["policy"] == policy[:12]
    abstain("apply", "rule.json", "t.csv", "--scores", "logit", "--out", "e.csv")
    found = json.loads(Path("e.csv.manifest.json").read_text())
    assert found["inputs"][0] == {"file": "rule.json", "sha256": digest["rule.json"], "rows": None}
    calibrate = ("calibrate", "v.csv", "t.csv", "--scores", "logit", "--scale", "logits")
    code, _, err = abstain(*calibrate, "--label", "ill", "--out", "c.csv")
    assert code == 0
    assert "Wrote calibrated probabilities to c.csv, and what it was made of to" in err
    assert len(json.loads(Path("c.csv.manifest.json").read_text())["inputs"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "d.csv", "--policy", "./d.csv"), "d.csv is given for two outputs"),
        (("--out", "t.csv", "--force"), "Cannot write t.csv: it is read as t.csv."),
        (("--policy", "v.csv", "--force"), "Cannot write v.csv: it is read as v.csv."),
        (("--out", "d.csv", "--report", "d.csv.manifest.json"), "given for two outputs"),
        (("--report", "."), "it is a folder"),
    ],
)
def test_no_file_serves_twice(abstain, clinic, arguments, message):
    before = {path: path.read_bytes() for path in Path().iterdir()}
    code, _, err = abstain(*RUN, *arguments)
    assert code == 2
    assert message in " ".join(err.split())
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_all_outputs_land_together_or_none(abstain, clinic, monkeypatch):
    before = sorted(Path().iterdir())

    def crash(self):
        raise OSError("no space left")

    monkeypatch.setattr(Report, "to_html", crash)
    code, _, _ = abstain(*RUN, "--out", "d.csv", "--policy", "p.json", "--report", "r.html")
    assert code == 1
    assert sorted(Path().iterdir()) == before
