"""Where a command may write, what it writes over, and that everything lands together."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from abstain import _files
from abstain.report import Report

from .tables import write_columns

RUN = (
    "run", "v.csv", "t.csv", "--scores", "p", "--label", "y", "--metric", "auroc",
    "--budget", "0.1", "--calibration", "platt",
)  # fmt: skip


@pytest.fixture
def tables(abstain):
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    p = 1 / (1 + np.exp(-rng.normal(size=100) - 2 * y + 1))
    write_columns(Path("v.csv"), {"p": p, "y": y})
    write_columns(Path("t.csv"), {"p": np.append(p[1:], 0.5)})
    return p, y


def state():
    found = {}
    for path in Path().rglob("*"):
        if path.is_symlink():
            found[str(path)] = os.readlink(path)
        else:
            found[str(path)] = path.read_bytes() if path.is_file() else path.stat().st_mode
    return found


def refused(abstain, *arguments):
    before = state()
    code, _, err = abstain(*arguments)
    assert code == 2, err
    assert state() == before
    return " ".join(err.split())


def test_no_output_is_another_or_an_input_under_any_name(abstain, tables):
    Path("costs.csv").write_text("0,1\n5,0\n")
    Path("sub").mkdir()
    os.link("t.csv", "hard.csv")
    Path("soft.csv").symlink_to("t.csv")
    Path("to-d.csv").symlink_to("d.csv")
    for outputs, message in (
        (("--out", "d.csv", "--policy", "d.csv"), "given for two outputs"),
        (("--out", "d.csv", "--policy", "sub/../d.csv"), "given for two outputs"),
        (("--out", "d.csv", "--policy", "to-d.csv"), "given for two outputs"),
        (("--out", "d.csv", "--policy", str(Path("d.csv").resolve())), "given for two outputs"),
        (("--out", "d.csv", "--report", "d.csv.manifest.json"), "given for two outputs"),
        (("--out", "t.csv"), "it is read as t.csv"),
        (("--out", "hard.csv"), "it is read as t.csv"),
        (("--report", "soft.csv"), "it is read as t.csv"),
        (("--metric", "cost:costs.csv", "--out", "costs.csv"), "it is read as costs.csv"),
    ):
        assert message in refused(abstain, *RUN, *outputs, "--force"), outputs
    cost = [part for part in RUN if part not in ("--budget", "0.1")]
    assert "it is read as costs.csv" in refused(
        abstain, *cost, "--cost", "1", "--errors", "costs.csv", "--policy", "costs.csv", "--force"
    )
    assert abstain(*RUN, "--policy", "rule.json")[0] == 0
    for command in ("apply", "adapt", "report"):
        out = "rule.json" if command != "apply" else "t.csv"
        line = (command, "rule.json", "t.csv", "--scores", "p", "--out", out, "--force")
        assert "it is read as" in refused(abstain, *line)


def test_where_the_case_of_names_is_ignored_so_is_it_here(abstain, tables):
    """As on Windows and macOS, where both spellings of a folder, and of a file, are the same."""
    Path("runs").mkdir()
    Path("RUNS").symlink_to("runs")
    Path("runs/t.csv").write_bytes(Path("t.csv").read_bytes())
    line = [part if part != "t.csv" else "runs/t.csv" for part in RUN]
    both = ("--out", "runs/d.csv", "--policy", "runs/D.CSV")
    assert "given for two outputs" in refused(abstain, *line, *both)
    assert "it is read as" in refused(abstain, *line, "--out", "runs/T.csv")
    Path("RUNS").unlink()
    assert abstain(*line, *both)[0] == 0


def test_force_writes_through_links_and_keeps_what_is_no_file(abstain, tables):
    Path("sub").mkdir()
    Path("sub/real.csv").write_text("old")
    Path("link.csv").symlink_to("sub/real.csv")
    Path("dangling.csv").symlink_to("sub/new.csv")
    Path("loop.csv").symlink_to("loop.csv")
    os.mkfifo("pipe.csv")
    code, _, err = abstain(*RUN, "--out", "link.csv", "--force")
    assert code == 0, err
    assert Path("link.csv").is_symlink()
    assert Path("sub/real.csv").read_text().startswith('"row"')
    assert abstain(*RUN, "--out", "dangling.csv")[0] == 0
    assert Path("sub/new.csv").read_text().startswith('"row"')
    assert "it is a pipe" in refused(abstain, *RUN, "--out", "pipe.csv", "--force")
    assert "a link to itself" in refused(abstain, *RUN, "--out", "loop.csv", "--force")
    for option in ("--policy", "--report"):
        assert "it is a device" in refused(abstain, *RUN, option, "/dev/null", "--force")
        assert "it is a folder" in refused(abstain, *RUN, option, "sub", "--force")
    Path("pipe.csv").unlink()


def test_what_was_private_stays_private(abstain, tables):
    Path("d.csv").write_text("old")
    Path("d.csv").chmod(0o600)
    Path("rule.json").write_text("old")
    Path("rule.json").chmod(0o400)
    assert abstain(*RUN, "--out", "d.csv", "--policy", "rule.json", "--force")[0] == 0
    assert Path("d.csv").stat().st_mode & 0o777 == 0o600
    assert Path("rule.json").stat().st_mode & 0o777 == 0o400
    assert json.loads(Path("rule.json").read_text())


def test_a_page_that_fails_leaves_no_decisions(abstain, tables, monkeypatch):
    def fail(self):
        raise ValueError("the page cannot be drawn")

    monkeypatch.setattr(Report, "to_html", fail)
    before = state()
    code, _, err = abstain(*RUN, "--out", "d.csv", "--policy", "p.json", "--report", "r.html")
    assert (code, err) == (1, "abstain: The page cannot be drawn\n")
    assert state() == before


@pytest.mark.parametrize("links", [True, False])
def test_where_one_cannot_land_the_others_go_back(tmp_path, monkeypatch, links):
    old, new, third = (tmp_path / name for name in ("old", "new", "third"))
    old.write_text("old")
    usual = Path.replace

    def replace(self, target):
        if Path(target).name == "third":
            raise OSError("no more")
        return usual(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError("no links")))

    def write():
        with _files.landing() as place:
            for path in (old, new, third):
                place(path).write_text("written")

    with pytest.raises(OSError, match="no more"):
        write()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"old": "old"}


def test_a_name_as_long_as_names_can_be(abstain, tables):
    name = f"{'n' * 237}.csv"
    assert abstain(*RUN, "--out", name)[0] == 0
    assert Path(name).exists()
    code, _, err = abstain(*RUN, "--out", f"{'n' * 300}.csv")
    assert code in (1, 2)
    assert "Traceback" not in err


def test_the_demo_does_not_write_over_files_of_others(abstain):
    Path("decisions.csv").write_text("mine")
    code, _, err = abstain("demo", "--out", ".")
    assert (code, "exists, and not from a demo" in " ".join(err.split())) == (2, True)
    assert state() == {"decisions.csv": b"mine"}


def test_a_column_that_names_rows_is_no_score(abstain, tables):
    p, y = tables
    numbered = {"patient": np.arange(100) + 1001, "p_0": 1 - p, "p_1": p, "y": y}
    write_columns(Path("v.csv"), numbered)
    write_columns(Path("t.csv"), {name: numbered[name] for name in ("patient", "p_0", "p_1")})
    for scores in ("*", "p*", "[p]*"):
        for scale in ("probabilities", "logits"):
            code, _, err = abstain(*RUN, "--scores", scores, "--scale", scale)
            assert code == 1
            assert "column 'patient' holds whole numbers from 1001 to 1100" in err
            assert f"--scores '{scores}' takes it for a score" in err
    # The column of an option is never one of a pattern's.
    write_columns(Path("t.csv"), {"y": y, "p_0": 1 - p, "p_1": p})
    line = (*RUN[:3], "--scores", "*", "--label", "y", *RUN[7:])
    write_columns(Path("v.csv"), {"p_0": 1 - p, "p_1": p, "y": y})
    assert abstain(*line[:2], "v.csv", *line[3:], "--known-labels", "y")[0] == 1
    code, _, err = abstain(*RUN, "--scores", "y")
    assert (code, "--scores and --label both name the column 'y'" in err) == (1, True)
    # By its own name it is taken, and doubted.
    write_columns(Path("v.csv"), {"case": np.arange(100) - 50, "y": y})
    code, _, err = abstain(*RUN[:2], "v.csv", *RUN[3:], "--scores", "case", "--scale", "logits")
    assert (code, "as a column does that names rows. It is taken" in err) == (0, True)
    code, _, _ = abstain(
        *RUN[:2], "v.csv", *RUN[3:], "--scores", "case", "--scale", "logits", "--strict"
    )
    assert code == 1


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet"])
def test_ids_are_not_proposed_as_scores(abstain, tables, ending):
    p, y = tables
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
    columns = {
        "patient": [f"{k:05d}" for k in range(100)], "case": np.arange(100) * 1.0 + 7,
        "visit no": [float(k % 9) for k in range(100)], "q": p, "y": y,
    }  # fmt: skip
    write_columns(Path(f"v.{ending}"), columns)
    code, _, err = abstain("run", f"v.{ending}", "t.csv", *RUN[3:])
    assert code == 1
    assert [line.split()[1] for line in err.splitlines()[1:]] == ["q"]


@pytest.mark.parametrize(
    "names", [("001", "002"), ("true", "false"), ("True", "False"), ("1e5", "2e5"), ("1.0", "2.0")]
)
def test_classes_are_called_what_they_are_called(abstain, tables, names):
    p, y = tables
    labels = np.array(names)[y]
    rows = "".join(f"{1 - one},{one},{label}\n" for one, label in zip(p, labels, strict=True))
    Path("w.csv").write_text(f"p_{names[0]},p_{names[1]},y\n{rows}")
    line = ("w.csv", "w.csv", "--label", "y", "--metric", "accuracy", "--calibration", "platt")
    code, out, err = abstain("run", *line, "--budget", "0.1", "--policy", "w.json", "--json")
    assert code == 0, err
    assert json.loads(out)["classes"] == list(names)
    assert abstain("evaluate", "w.json", "w.csv", "--label", "y")[0] == 0
    assert abstain("apply", "w.json", "w.csv", "--out", "d.csv")[0] == 0
    assert f'"p_{names[1]}"' in Path("d.csv").read_text()
    assert abstain("estimate", *line, "--prediction", "y")[0] == 0
    rows = "".join(f"{one},{label}\n" for one, label in zip(p, labels, strict=True))
    Path("w.csv").write_text(f"p,y\n{rows}")
    code, _, err = abstain(
        "run", *line, "--scores", "p", "--budget", "0.1", "--positive", names[1]
    )
    assert code == 0, err


def test_labels_that_had_gaps_are_whole_numbers(abstain, tables):
    p, y = tables
    write_columns(Path("w.csv"), {"p_0": 1 - p, "p_1": p, "y": [f"{one}.0" for one in y]})
    code, out, err = abstain("run", "w.csv", "w.csv", *RUN[7:], "--label", "y", "--json")
    assert code == 0, err
    assert json.loads(out)["classes"] == [0, 1]


@pytest.mark.parametrize(
    ("text", "count"), [("0.29", 29), ("29%", 29), ("2.9e1%", 29), ("29", 29)]
)
def test_a_budget_is_the_number_that_was_typed(abstain, tables, text, count):
    code, out, err = abstain(*RUN, "--budget", text, "--json")
    assert code == 0, err
    assert json.loads(out)["withheld"] == count


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--budget", "1e999"), ("--budget", "9" * 400), ("--budget", "1e400%"),
        ("--budget", "nan"), ("--random-state", "-1"), ("--random-state", "1e9"),
        ("--level", "1e999"),
        ("--encoding", "base64"), ("--encoding", "rot13"),
        ("--separator", "é"), ("--separator", "ab"),
    ],
)  # fmt: skip
def test_numbers_and_names_beyond_all_bounds(abstain, tables, option, value):
    code, out, err = abstain(*RUN, option, value)
    assert (code in (1, 2), out, "Traceback" in err) == (True, "", False)
    assert option in err


def test_columns_called_as_ours_keep_their_values(abstain, tables):
    p, _ = tables
    names = ("abstain", "prediction", "gain", "reason", "policy", "abstain_gain", "row")
    theirs = {name: [f"{name} {k}" for k in range(100)] for name in names}
    write_columns(Path("t.csv"), {"p": p, **theirs})
    assert abstain(*RUN, "--out", "d.parquet")[0] == 0
    table = parquet.read_table("d.parquet")
    assert {name: table.column(name).to_pylist() for name in theirs} == theirs
    assert {"abstain_abstain", "abstain_prediction", "abstain_abstain_gain"} <= {
        *table.column_names
    }


def test_what_is_not_defined_is_null_with_a_reason(abstain, tables):
    p, _ = tables
    assert abstain(*RUN, "--policy", "rule.json")[0] == 0
    write_columns(Path("t.csv"), {"p": p[:6], "y": [1] * 6})

    def refuse(constant):
        raise AssertionError(constant)

    code, out, err = abstain(
        "evaluate", "rule.json", "t.csv", "--scores", "p", "--label", "y", "--json"
    )
    assert code == 0, err
    found = json.loads(out, parse_constant=refuse)
    assert found["realised"]["auroc"]["all"] is None
    assert "a class is missing" in found["null_because"]["realised.auroc.all"]
    assert "NaN" not in out
