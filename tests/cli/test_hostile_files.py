"""Files that are cut, mislabelled, too large, or made to do harm: read as they are, or refused."""

import gzip
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from abstain.cli import _archives
from abstain.cli._predictions import read_predictions
from abstain.cli._reading import Columns

from .tables import write_columns

RUN = (
    "run", "v.csv", "t.csv", "--scores", "p", "--label", "y", "--metric", "auroc",
    "--budget", "0.1", "--calibration", "platt",
)  # fmt: skip


@pytest.fixture
def tables(abstain):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    p = 1 / (1 + np.exp(-rng.normal(size=80) - 2 * y + 1))
    write_columns(Path("v.csv"), {"p": p, "y": y})
    write_columns(Path("t.csv"), {"p": p[:40]})
    return p, y


@pytest.fixture
def rule(abstain, tables):
    assert abstain(*RUN, "--policy", "rule.json")[0] == 0
    return "rule.json"


def refused(abstain, *arguments, code=1):
    before = sorted(Path().rglob("*"))
    found, _, err = abstain(*arguments)
    assert found == code, err
    assert "Traceback" not in err
    assert sorted(Path().rglob("*")) == before
    return " ".join(err.split())


def ids_through(abstain, *, rows, separator=",", out="d.csv", file="t.csv", encoding="utf-8"):
    """Write ids with everything in them, decide, and return those of the decisions file."""
    names = [
        f'{k}: "a"{separator} b\r\nsecond line\t' if k % 3 else f"{k:08d}" for k in range(rows)
    ]
    lines = ["id" + separator + "p"]
    for k, name in enumerate(names):
        escaped = name.replace('"', '""')
        lines.append(f'"{escaped}"{separator}{(k % 97 + 1) / 100}')
    raw = ("\n".join(lines) + "\n").encode(encoding)
    Path(file).write_bytes(gzip.compress(raw, 1) if file.endswith(".gz") else raw)
    code, _, err = abstain("apply", "rule.json", file, "--scores", "p", "--id", "id", "--out", out)
    assert code == 0, err
    read = read_predictions(Path(out), Columns("p_1", identifier="id"))
    assert read.ids.to_pylist() == names
    return names


@pytest.mark.parametrize(
    ("separator", "file", "encoding"),
    [(",", "t.csv", "utf-8"), (";", "t.csv.gz", "utf-16"), ("\t", "t.tsv", "windows-1252")],
)
def test_ids_with_line_breaks_come_back_from_large_files(abstain, rule, separator, file, encoding):
    ids_through(abstain, rows=60_000, separator=separator, file=file, encoding=encoding)


@pytest.mark.parametrize("out", ["d.csv", "d.csv.gz", "d.tsv", "d.parquet"])
def test_ids_come_back_in_every_format_and_join_labels(abstain, rule, out):
    names = ids_through(abstain, rows=60, out=out)
    write_columns(Path("labels.csv"), {"id": names, "y": np.arange(60) % 2})
    code, said, err = abstain(
        "evaluate", "rule.json", "t.csv", "--scores", "p", "--id", "id", "--labels", "labels.csv",
        "--label", "y", "--json",
    )  # fmt: skip
    assert code == 0, err
    assert json.loads(said)["labels"] == {
        "rows": 60, "labelled": 60, "without_label": 0, "labels_without_row": 0,
    }  # fmt: skip


def test_packed_text_is_packed(abstain, rule):
    assert abstain("apply", rule, "t.csv", "--scores", "p", "--out", "d.csv.gz")[0] == 0
    text = gzip.decompress(Path("d.csv.gz").read_bytes()).decode()
    assert text.startswith('"row","abstain"')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('p,note\n0.1,"a\n0.2,b\n0.3,c\n', "a quote is not closed"),
        ('p,note\n0.1,"a\n0.2,"b\n0.3,c\n', "something stands after a closing one"),
        ('p,note\n0.1,a\n0.2,"b', "a quote is not closed"),
        ('"p,note\n0.1,a\n', "has no score column"),
        ("", "is empty"),
        ("\ufeff", "is empty"),
        ("\n\n\n", "is empty"),
        ("p\n", "has no rows"),
        ("p,p\n0.1,0.2\n", "more than one column called p"),
        ("0.1\n0.2\n", "has no header"),
        ("p,q\n0.1\n", "line 2 has 1 cells, the header 2"),
        ("p\n0.1\x00\n0.2\n", "zero bytes"),
    ],
    ids=range(12),
)
def test_text_that_went_wrong(abstain, rule, text, message):
    Path("t.csv").write_text(text, encoding="utf-8")
    assert message in refused(abstain, "apply", rule, "t.csv", "--scores", "p", "--out", "d.csv")


def test_a_closed_quote_with_line_breaks_is_no_mistake(abstain, rule):
    Path("t.csv").write_text('p,note\n0.1,"a\nb"\n\n0.2,"c ""d"""\n')
    assert abstain("apply", rule, "t.csv", "--scores", "p", "--out", "d.csv")[0] == 0
    assert '"a\nb"' in Path("d.csv").read_text()


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_empty_lines_above_the_header(abstain, rule, end):
    Path("t.csv").write_bytes(end.join(["", "", "p,x", "0.1,1", "0.2,2", ""]).encode())
    assert abstain("apply", rule, "t.csv", "--scores", "p", "--out", "d.csv")[0] == 0
    assert len(Path("d.csv").read_text().splitlines()) == 3


def test_very_long_lines_and_very_many_columns(abstain, rule):
    Path("t.csv").write_bytes(b"p,note\n0.5," + b"x" * (9 << 20) + b"\n")
    assert abstain("apply", rule, "t.csv", "--scores", "p")[0] == 0
    Path("t.csv").write_bytes(b"x" * (9 << 20))
    assert "has no header: column 1" in refused(abstain, "apply", rule, "t.csv", "--scores", "p")
    names = ",".join(f"c{k}" for k in range(20_000))
    Path("t.csv").write_text(f"{names},p\n{',' * 20_000}0.5\n")
    assert abstain("apply", rule, "t.csv", "--scores", "p")[0] == 0


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("x.csv", b"PK\x03\x04 and so on", "its name must end in .xlsx"),
        ("x.csv", gzip.compress(b"p\n0.1\n"), "its name must end in .gz"),
        ("x.csv", b"PAR1 and so on", "its name must end in .parquet"),
        ("x.csv.gz", b"p\n0.1\n", "cannot be read"),
        ("x.csv.gz", gzip.compress(b"p\n" + bytes(9_000))[:-20], "x.csv.gz"),
        ("x.xlsx", b"p\n0.1\n", "cannot be read as a workbook"),
        ("x.xlsx", b"", "cannot be read as a workbook"),
        ("x.parquet", b"", "cannot be read as a table"),
        ("x.parquet", b"PAR1" + bytes(100) + b"PAR1", "cannot be read as a table"),
        ("x.xls", b"\xd0\xcf\x11\xe0", "old Excel workbook"),
    ],
    ids=range(10),
)
def test_files_that_are_not_what_they_are_called(abstain, rule, name, raw, message):
    Path(name).write_bytes(raw)
    assert message in refused(abstain, "apply", rule, name, "--scores", "p")


def test_parquet_that_is_cut_or_names_a_column_twice(abstain, rule):
    table = pa.table([[0.1, 0.2], [0.3, 0.4]], names=["p", "p"])
    parquet.write_table(table, "x.parquet")
    assert "more than one column called p" in refused(
        abstain, "apply", rule, "x.parquet", "--scores", "p"
    )
    write_columns(Path("x.parquet"), {"p": np.linspace(0, 1, 500)})
    whole = Path("x.parquet").read_bytes()
    for size in (3, 10, len(whole) // 2, len(whole) - 1):
        Path("x.parquet").write_bytes(whole[:size])
        said = refused(abstain, "apply", rule, "x.parquet", "--scores", "p")
        assert "x.parquet cannot be read as a table" in said
    hive = Path("site=3")
    hive.mkdir()
    write_columns(hive / "X.PARQUET", {"p": [0.1, 0.2]})
    assert abstain("apply", rule, "site=3/X.PARQUET", "--scores", "p", "--out", "d.csv")[0] == 0
    assert "site" not in Path("d.csv").read_text()


def test_what_unpacks_to_far_more_than_a_table(abstain, rule, monkeypatch):
    monkeypatch.setattr(_archives, "_ENOUGH", 100_000)
    Path("x.csv.gz").write_bytes(gzip.compress(b"p,note\n0.1," + b"x" * 3_000_000 + b"\n"))
    said = refused(abstain, "apply", rule, "x.csv.gz", "--scores", "p")
    assert "unpacks to more than 200 times its size" in said
    book_of({"p": [0.1, 0.2]}, more={"xl/extra.xml": b"<a>" + b" " * 9_000_000 + b"</a>"})
    said = refused(abstain, "apply", rule, "x.xlsx", "--scores", "p")
    assert "unpacks to" in said


def book_of(columns, *, more=None, change=lambda name, raw: raw):
    """Write x.xlsx with a table, and with parts that Excel would not write."""
    pytest.importorskip("openpyxl")
    write_columns(Path("plain.xlsx"), columns)
    with (
        zipfile.ZipFile("plain.xlsx") as plain,
        zipfile.ZipFile("x.xlsx", "w", zipfile.ZIP_DEFLATED) as book,
    ):
        for name in plain.namelist():
            book.writestr(name, change(name, plain.read(name)))
        for name, raw in (more or {}).items():
            book.writestr(name, raw)
    Path("plain.xlsx").unlink()


LAUGHS = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_workbook_with_rules_of_its_own_is_not_read(abstain, rule, encoding):
    mark = LAUGHS.decode().encode(encoding)

    def change(name, raw):
        return mark + raw if name.startswith("xl/worksheets") else raw

    book_of({"p": [0.1, 0.2]}, change=change)
    said = refused(abstain, "apply", rule, "x.xlsx", "--scores", "p")
    assert "has a document type" in said


@pytest.mark.parametrize(
    ("pattern", "words", "message"),
    [
        (rb"<dimension[^>]*/>", b'<dimension ref="A1:XFD1048576"/>', None),
        (rb'<row r="2"', b'<row r="99999999999"', "beyond the 1,048,576 rows"),
        (rb'<row r="2"', b'<row r="x"', "cannot be read as a workbook"),
        (rb"</sheetData>", b"", "cannot be read as a workbook"),
        (rb"<v>0.1</v>", b"<v>%s</v>" % (b"9" * 400), "p"),
    ],
    ids=range(5),
)
def test_sheets_that_lie_about_themselves(abstain, rule, pattern, words, message):
    def change(name, raw):
        if not name.startswith("xl/worksheets"):
            return raw
        raw = (
            raw
            if b"<dimension" in raw
            else raw.replace(b"<sheetData>", b'<dimension ref="A1"/><sheetData>')
        )
        return re.sub(pattern, words, raw, count=1)

    book_of({"p": [0.1, 0.2]}, change=change)
    if message is None:
        assert abstain("apply", rule, "x.xlsx", "--scores", "p")[0] == 0
    else:
        assert message in refused(abstain, "apply", rule, "x.xlsx", "--scores", "p")


def test_numbers_that_are_names_in_excel(abstain, rule):
    book_of({"p": [0.1, 0.2], "id": [12345678901234.0, 3.0]})
    assert (
        abstain("apply", rule, "x.xlsx", "--scores", "p", "--id", "id", "--out", "d.csv")[0] == 0
    )
    assert Path("d.csv").read_text().splitlines()[1].startswith('"12345678901234"')


def test_what_is_no_plain_file(abstain, rule):
    import os

    Path("folder").mkdir()
    os.mkfifo("pipe.csv")
    try:
        for name, message in (("folder", "is a folder"), ("pipe.csv", "is no plain file")):
            before = sorted(Path().iterdir())
            code, _, err = abstain("apply", rule, name, "--scores", "p")
            assert (code, message in err) == (1, True)
            assert sorted(Path().iterdir()) == before
    finally:
        Path("pipe.csv").unlink()


def test_nothing_that_is_printed_moves_the_cursor(abstain, tables):
    p, y = tables
    bell, turned = "\x1b]0;gone\x07", "\u202eill"
    labels = np.array([bell, f"two\nlines{turned}"])[y]
    Path("v.csv").write_text(
        f'p,"{bell}"\n'
        + "".join(f'{one},"{label}"\n' for one, label in zip(p, labels, strict=True))
    )
    said = []
    for arguments in (
        ("--positive", bell),
        ("--label", "none"),
        ("--label", bell),
        ("--scores", "\x1b[2J"),
        ("--policy", "no\x1b[2J/\n.json"),
        ("--metric", "\x1b[2J"),
        ("--\x1b[2J",),
    ):
        label = () if "--label" in arguments else ("--label", bell)
        code, out, err = abstain(*RUN, *label, *arguments)
        said.append((code, out + err))
    assert said[0][0] == 0
    assert "two\\nlines\\u202eill" in said[0][1]
    assert not any(re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", text) for _, text in said)
    assert "no\\x1b[2J/\\n.json" in said[4][1]


def test_a_terminal_that_is_one_column_wide(abstain, rule, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1")
    for arguments in (("run", "--help"), ("apply", rule, "t.csv", "--scores", "p"), ("run",)):
        assert abstain(*arguments)[0] in (0, 2)


def test_names_of_files_that_are_no_text(abstain, rule):
    name = "d\udcff.csv"
    code, _, err = abstain("apply", rule, "t.csv", "--scores", "p", "--out", name)
    assert code == 0, err
    assert "d\\udcff.csv" in err
    manifest = json.loads(Path(f"{name}.manifest.json").read_text())
    assert manifest["output"]["file"] == name


def test_results_where_the_terminal_has_fewer_letters(abstain, tables, monkeypatch):
    p, y = tables
    write_columns(
        Path("v.csv"),
        {"p": p, "y": np.array(["gesund", "größer"])[y]},
    )
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    assert abstain(*RUN, "--positive", "größer")[0] == 0
    stream.flush()
    assert b"gr\\xf6\\xdfer" in stream.buffer.getvalue()


def test_formulas_stay_what_they_are(abstain, rule):
    names = ["=1+1", "+2", "-3", "@SUM(A1)", "\t=4"]
    write_columns(Path("t.csv"), {"id": names, "p": np.linspace(0.1, 0.9, 5)})
    assert abstain("apply", rule, "t.csv", "--scores", "p", "--id", "id", "--out", "d.csv")[0] == 0
    assert (
        read_predictions(Path("d.csv"), Columns("p_1", identifier="id")).ids.to_pylist() == names
    )
