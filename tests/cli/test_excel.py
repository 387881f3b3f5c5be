"""Workbooks in and out."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from abstain.cli._predictions import read_predictions
from abstain.cli._reading import Columns
from abstain.datasets import screening_clinic

from .tables import write_columns

RUN = (
    "--label", "ill", "--calibration", "platt", "--metric", "auroc", "--budget", "0.1",
    "--scores", "p", "--json",
)  # fmt: skip


@pytest.fixture
def openpyxl():
    return pytest.importorskip("openpyxl")


@pytest.fixture
def books(abstain, openpyxl):
    """Write the same tables as CSV and as workbooks."""
    clinic = screening_clinic(200, 100, random_state=0)
    for name, logits, labels in (
        ("v", clinic.scores_val, clinic.y_val),
        ("t", clinic.scores_target, None),
    ):
        p = np.round(1 / (1 + np.exp(-logits)), 6)
        columns = {"id": [f"{row:04d}" for row in range(len(p))], "age": np.arange(len(p)), "p": p}
        columns |= {} if labels is None else {"ill": labels}
        write_columns(Path(f"{name}.csv"), columns)
        book = openpyxl.Workbook()
        sheet = book.active
        sheet.title = "scores"
        sheet.append([])
        sheet.append([f" {key} " for key in columns])
        for row in zip(*columns.values(), strict=True):
            sheet.append([one.item() if hasattr(one, "item") else one for one in row])
        book.save(f"{name}.xlsx")
    return clinic


def test_a_workbook_is_read_as_its_table_is(abstain, books):
    usual = abstain("run", "v.csv", "t.csv", *RUN)
    code, out, err = abstain("run", "v.xlsx", "t.xlsx", *RUN)
    assert code == 0, err
    assert json.loads(out) == json.loads(usual[1])
    rows = read_predictions(Path("t.xlsx"), Columns("p", identifier="id"))
    assert rows.ids[3].as_py() == "0003"


def test_one_of_several_sheets_is_asked_for(abstain, books, openpyxl):
    book = openpyxl.load_workbook("t.xlsx")
    book.create_sheet("notes").append(["nothing"])
    book.save("t.xlsx")
    code, _, err = abstain("run", "v.xlsx", "t.xlsx", *RUN)
    assert code == 1
    assert "t.xlsx has 2 sheets. Say which with --sheet, e.g. --sheet 'scores'" in err
    assert abstain("run", "v.xlsx", "t.xlsx", *RUN, "--sheet", "scores")[0] == 0
    assert "no sheet 'other'" in abstain("run", "v.xlsx", "t.xlsx", *RUN, "--sheet", "other")[2]
    both = openpyxl.load_workbook("v.xlsx")
    sheet = both.create_sheet("new")
    for row in openpyxl.load_workbook("t.xlsx")["scores"].iter_rows(values_only=True):
        sheet.append(row)
    both.save("both.xlsx")
    sheets = ("--sheet", "scores", "--sheet", "new")
    code, out, err = abstain("run", "both.xlsx", "both.xlsx", *RUN, *sheets)
    assert code == 0, err
    assert json.loads(out)["rows"] == 100


def test_rows_are_named_as_excel_counts_them(abstain, books, openpyxl):
    book = openpyxl.load_workbook("t.xlsx")
    book["scores"]["C7"] = None
    book["scores"]["C9"] = "#N/A"
    book.save("t.xlsx")
    code, _, err = abstain("run", "v.xlsx", "t.xlsx", *RUN, "--id", "id")
    assert code == 1
    assert "2 of 100 rows of t.xlsx have no score" in err
    assert "first row 7 of t.xlsx (0004); row 9 of t.xlsx (0006)." in err


def test_decisions_as_a_workbook(abstain, books, openpyxl):
    text = Path("t.csv").read_text().splitlines()
    text = [f"{line},{note}" for line, note in zip(text, ["note", *["=1+1"] * 100], strict=True)]
    Path("t.csv").write_text("\n".join(text))
    code, _, err = abstain("run", "v.csv", "t.csv", *RUN, "--id", "id", "--out", "d.xlsx")
    assert code == 0, err
    sheet = openpyxl.load_workbook("d.xlsx").active
    header, first, *_ = sheet.iter_rows()
    names = [cell.value for cell in header]
    assert names[:5] == ["id", "age", "note", "abstain", "reason"]
    cells = dict(zip(names, first, strict=True))
    assert (cells["id"].value, cells["age"].value) == ("0000", 0)
    assert (cells["note"].value, cells["note"].data_type) == ("=1+1", "s")
    assert isinstance(cells["abstain"].value, bool)
    assert sheet.max_row == 101
    assert json.loads(Path("d.xlsx.manifest.json").read_text())["output"]["rows"] == 100


def test_without_the_extra_it_is_named_before_any_work(abstain, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    write_columns(Path("v.csv"), {"p": [0.5]})
    Path("t.xlsx").write_bytes(b"PK")
    for arguments in (("v.csv", "t.xlsx"), ("v.csv", "v.csv", "--out", "d.xlsx")):
        code, out, err = abstain("run", *arguments, *RUN)
        assert (code, out) == (1, "")
        if "--out" in arguments:
            assert "pip install 'abstain[excel]'" in err
    code, _, err = abstain("shift", "t.xlsx", "v.csv")
    assert (code, "pip install 'abstain[excel]'" in err) == (1, True)
