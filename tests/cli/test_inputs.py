"""Files and columns as people have them: many files, gzip, names that are not there."""

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from abstain.cli._predictions import read_predictions
from abstain.cli._reading import Columns
from abstain.datasets import screening_clinic, simulate_four_class_normal

from .tables import write_columns

SETTINGS = (
    "--scores", "logit", "--scale", "logits", "--label", "ill", "--calibration", "platt",
    "--metric", "auroc", "--budget", "0.1", "--json",
)  # fmt: skip


@pytest.fixture
def clinic(abstain):
    clinic = screening_clinic(600, 600, random_state=0)
    write_columns(Path("validation.csv"), {"logit": clinic.scores_val, "ill": clinic.y_val})
    write_columns(Path("target.csv"), {"logit": clinic.scores_target})
    return clinic


def test_many_files_and_gzip_are_one_table(abstain, clinic):
    whole = json.loads(abstain("run", "validation.csv", "target.csv", *SETTINGS)[1])
    for k in range(3):
        part = {"logit": clinic.scores_target[k * 200 : (k + 1) * 200]}
        write_columns(Path(f"site-{k}.csv"), part)
        Path(f"site-{k}.csv.gz").write_bytes(gzip.compress(Path(f"site-{k}.csv").read_bytes()))
        write_columns(Path(f"site-{k}.parquet"), part)
    for pattern in ("site-*.csv", "site-*.csv.gz", "site-?.parquet"):
        code, out, err = abstain("run", "validation.csv", pattern, *SETTINGS)
        assert code == 0, err
        assert json.loads(out) == whole


def test_files_that_do_not_fit_together(abstain, clinic):
    for suffix in ("csv", "parquet"):
        write_columns(Path(f"a.{suffix}"), {"logit": [1.0], "x": [1]})
        write_columns(Path(f"b.{suffix}"), {"x": [2]})
        said = abstain("run", "validation.csv", f"[ab].{suffix}", *SETTINGS)[2]
        assert f"b.{suffix} has no column 'logit', which a.{suffix} has." in said
    write_columns(Path("b.csv"), {"logit": ["high"]})
    code, _, err = abstain("run", "validation.csv", "[ab].csv", *SETTINGS)
    assert code == 1
    assert "b.csv: column 'logit' must be numbers; line 2 of b.csv has 'high'" in err
    write_columns(Path("b.parquet"), {"logit": [1.0], "id": [True]})
    write_columns(Path("a.parquet"), {"logit": [1.0], "id": ["x"]})
    code, _, err = abstain("run", "validation.csv", "[ab].parquet", *SETTINGS, "--id", "id")
    assert code == 1
    assert "do not fit together" in err
    assert abstain("run", "validation.csv", "no-*.csv", *SETTINGS)[::2] == (
        1,
        "abstain: No file matches no-*.csv.\n",
    )


def propose(abstain, *arguments):
    code, out, err = abstain("run", "validation.csv", "target.csv", *arguments)
    assert (code, out) == (1, "")
    return [line.strip() for line in err.splitlines()[1:]]


def test_scores_are_proposed(abstain, clinic):
    proposed = propose(abstain, "--metric", "auroc", "--budget", "0.1")
    assert len(proposed) == 1
    assert proposed[0].startswith("--scores logit --scale logits  (numbers from -")
    simulation = simulate_four_class_normal(50, random_state=0)
    columns = {f"class_{k}": column for k, column in enumerate(simulation.proba.T)}
    ages = np.linspace(20, 80, 50)
    for suffix in ("csv", "parquet"):
        write_columns(Path(f"validation.{suffix}"), {"the age": ages, **columns})
        code, _, err = abstain(
            "run", f"validation.{suffix}", "target.csv", "--metric", "kappa", "--budget", "0.1"
        )
        assert code == 1
        proposed = [line.strip() for line in err.splitlines()[1:]]
        assert proposed[0] == "--scores 'class_*'  (4 columns whose rows sum to 1)"
        assert proposed[1].startswith("--scores class_0  (numbers from 0.")
        write_columns(Path(f"validation.{suffix}"), {"the age": ages})
        said = abstain("shift", f"validation.{suffix}", "target.csv")[2]
        proposed = "--scores 'the age' with --percent or --scale logits  (numbers from 20 to 80)"
        assert said.splitlines()[1].strip() == proposed


def test_labels_groups_and_ids_are_proposed(abstain, clinic):
    proposed = propose(abstain, *SETTINGS, "--label", "sick")
    assert proposed == ["--label ill  (0, 1)"]
    columns = {"logit": clinic.scores_target, "site": ["N", "S"] * 300, "who": range(600)}
    write_columns(Path("target.csv"), columns)
    assert propose(abstain, *SETTINGS, "--group", "hospital") == ["--group site  (N, S)"]
    assert propose(abstain, *SETTINGS, "--id", "patient") == [
        "--id who  (a different value in every row)"
    ]


def test_where_nothing_can_be_proposed(abstain, clinic):
    Path("target.csv").write_text("a,b\nx,x\nx,x\n")
    code, _, err = abstain("run", "validation.csv", "target.csv", *SETTINGS)
    assert code == 1
    assert "Its columns: a, b. Name the right one with --scores." in err
    write_columns(Path("t.parquet"), {"a": np.empty(0)})
    assert "Name the right one" in abstain("run", "validation.csv", "t.parquet", *SETTINGS)[2]


def test_ids_and_groups_are_text(abstain, clinic):
    Path("t.csv").write_text("logit,id,site\n1.5,007,01\n2.5,008,01\n")
    rows = read_predictions(Path("t.csv"), Columns("logit", identifier="id", group="site"))
    assert rows.ids.to_pylist() == ["007", "008"]
    assert rows.groups.tolist() == ["01", "01"]
    assert rows.files == (Path("t.csv"),)


def test_columns_in_another_order_are_the_same_classes(abstain):
    simulation = simulate_four_class_normal(400, random_state=0)
    columns = {f"p_{name}": simulation.proba[:, k] for k, name in enumerate("abcd")}
    write_columns(Path("v.csv"), {**columns, "y": np.array(list("abcd"))[simulation.y]})
    write_columns(Path("t.csv"), columns)
    write_columns(Path("u.csv"), dict(reversed(columns.items())))
    settings = ("--calibration", "temperature", "--json")
    for command in (
        ("run", "--metric", "kappa", "--budget", "0.1"),
        ("compare", "--metric", "kappa", "--methods", "delta-metric"),
        ("shift",),
    ):
        name, *options = command
        same, other = (
            abstain(name, "v.csv", file, *options, *settings)[1] for file in ("t.csv", "u.csv")
        )
        assert json.loads(same) == json.loads(other)
    write_columns(Path("u.csv"), {"p_a": [0.5], "p_b": [0.5]})
    code, _, err = abstain("run", "v.csv", "u.csv", "--metric", "kappa", "--budget", "0.1")
    assert code == 1
    assert "u.csv has score columns for a, b; the fitted ones are for a, b, c, d" in err


def test_numbers_and_categories_as_files_have_them(abstain, clinic):
    sites = pa.array(["N", "S"] * 300).dictionary_encode()
    whole = clinic.scores_target.round().astype(int)
    write_columns(Path("t.parquet"), {"logit": whole, "site": sites})
    write_columns(Path("t.csv"), {"logit": whole.astype(float)})
    names = ("--id", "site", "--group", "site", "--out", "decisions.csv")
    code, out, err = abstain("run", "validation.csv", "t.parquet", *SETTINGS, *names)
    assert code == 0, err
    found = json.loads(out)
    assert found.pop("duplicate_ids") == {"count": 2, "rows": 600, "first": ["N", "S"]}
    assert "2 values of 'site' in t.parquet come more than once, in 600 rows: N, S." in err
    assert found == json.loads(abstain("run", "validation.csv", "t.csv", *SETTINGS)[1])
    assert Path("decisions.csv").read_text().splitlines()[2].startswith('"S",')


def test_labels_that_are_numbers_are_compared_as_numbers(abstain):
    simulation = simulate_four_class_normal(400, random_state=0)
    columns = {f"p_{k}": simulation.proba[:, k] for k in (3, 0, 1, 2)}
    run = ("run", "v.csv", "v.csv", "--metric", "kappa", "--budget", "0.1", "--json")
    write_columns(Path("v.csv"), {**columns, "y": simulation.y})
    assert json.loads(abstain(*run)[1])["classes"] == [3, 0, 1, 2]
    write_columns(Path("v.csv"), {**columns, "y": [f"{label}" for label in simulation.y]})
    assert json.loads(abstain(*run)[1])["classes"] == [3, 0, 1, 2]
    write_columns(Path("v.parquet"), {**columns, "y": [f"{label}" for label in simulation.y]})
    run = ("run", "v.parquet", "v.csv", *run[3:])
    assert json.loads(abstain(*run)[1])["classes"] == ["3", "0", "1", "2"]


def test_a_single_score_is_of_the_class_it_is_named_by(abstain, clinic):
    names = np.array(["healthy", "ill"])
    columns = {"p_healthy": -clinic.scores_val, "ill": names[clinic.y_val]}
    write_columns(Path("validation.csv"), columns)
    run = ("run", "validation.csv", "validation.csv", *SETTINGS, "--scores", "p_*", "--json")
    code, out, err = abstain(*run)
    assert code == 0, err
    assert json.loads(out)["positive"] == "healthy"
    assert json.loads(out)["classes"] == ["ill", "healthy"]
