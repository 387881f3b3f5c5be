"""Files of any kind: the rows come back as they were, or nothing does and the message says why."""

import csv
import io
import tempfile
from contextlib import redirect_stderr
from pathlib import Path

import pyarrow as pa
from hypothesis import strategies as st
from pyarrow import parquet

from abstain.cli._predictions import read_predictions
from abstain.cli._reading import Columns, Reading
from abstain.cli._text import text_format

from .command_lines import printed_well, rules, state_of, typed
from .csv_bytes import (
    as_parquet,
    as_text,
    as_workbook,
    dialects,
    mutated,
    mutations,
    packed,
    tables,
)
from .machine import Defect, fuzzed, outcome

ENDINGS = (".csv", ".csv.gz", ".tsv", ".parquet", ".xlsx")
COMMANDS = {
    "apply": "apply rule.json FILE --id id --json",
    "run": "run FILE FILE --label ill --id id --metric auroc --budget 0.2 --calibration platt",
    "evaluate": "evaluate rule.json FILE --label ill --json",
    "estimate": "estimate FILE FILE --label ill --metric accuracy --calibration platt --json",
    "compare": "compare FILE FILE --label ill --metric auroc --methods random --calibration platt",
    "labels": "evaluate rule.json rows.csv --label ill --id id --labels FILE --json",
}


def decided(folder, raw, ending, score, out, command="apply"):
    """Run a command on a file, check what it left, and return its exit code and stderr."""
    rules(folder)
    name = f"table{ending}"
    (folder / name).write_bytes(raw)
    before = state_of(folder)
    line = [name if part == "FILE" else part for part in COMMANDS[command].split()]
    writes = command in ("apply", "run") and out is not None
    line += ["--scores", score, *(["--out", out] if writes else [])]
    code, said, err = typed(line, folder)
    after = state_of(folder)
    where = f"{line} exits with {code}: {err[-600:]}"
    if code not in (0, 1) or (
        code and not err.startswith("abstain: ") and "\nabstain: " not in err
    ):
        raise Defect(where)
    printed_well(line, code, said, err)
    expected = {out, f"{out}.manifest.json"} if writes and code == 0 else set()
    if set(after) - set(before) != expected or any(after[one] != before[one] for one in before):
        raise Defect(f"leaves {sorted(set(after) - set(before))}: {where}")
    return code, err


def columns_of(path):
    """Read a table back, by other means than ours where there are any; all as text."""
    if path.suffix == ".parquet":
        table = parquet.read_table(path)
        return {name: _texts(table.column(name).to_pylist()) for name in table.column_names}
    if path.suffix == ".xlsx":
        import openpyxl

        book = openpyxl.load_workbook(path)
        rows = [[*row] for row in book.active.iter_rows(values_only=True)]
        return {name: _texts(cells) for name, *cells in zip(*rows, strict=True)}
    with pa.input_stream(str(path), compression="detect") as stream:
        text = stream.read().decode("utf-8")
    separator = "\t" if ".tsv" in path.name else ","
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    return {name: cells for name, *cells in zip(*rows, strict=True)}


def _texts(values):
    return ["" if value is None else str(value) for value in values]


def came_back(columns, score, written, out):
    """Check that ids, rows and other columns of the input are in the output as they were."""
    names = list(written)
    for name, cells in columns.items():
        if name in (score,):
            continue
        own = name.strip()
        if own not in written:
            raise Defect(f"column {name!r} is gone from {out}: {names}")
        if not _same(cells, written[own], out):
            raise Defect(f"column {name!r} was {cells}, is {written[own]} in {out}")
    for ours in ("abstain", "prediction", "gain", "reason"):
        if not any(name.removeprefix("abstain_") == ours or name == ours for name in names):
            raise Defect(f"no column {ours!r} in {names}")


def _same(before, after, out):
    if len(before) != len(after):
        return False
    for one, other in zip(before, after, strict=True):
        one = str(one)
        if one == other:
            continue
        if out.endswith((".parquet", ".xlsx")) and _number(one) == _number(other) is not None:
            continue
        # Line ends in cells are those of XML there.
        if out.endswith(".xlsx") and " ".join(one.split()) == " ".join(other.split()):
            continue
        return False
    return True


def _number(text):
    try:
        return float(text)
    except ValueError:
        return None


@fuzzed(
    "files",
    quick=20,
    table=tables(),
    dialect=dialects(),
    ending=st.sampled_from([".csv", ".csv", ".txt", ".csv.gz", ".tsv"]),
    out=st.sampled_from(ENDINGS),
)
def test_a_text_file_comes_back(table, dialect, ending, out):
    """A table in any dialect: every id, row and other column is in the decisions as it was."""
    score, columns = table
    raw = as_text(columns, dialect)
    if raw is None:
        return "not in that encoding"
    with tempfile.TemporaryDirectory(prefix="abstain-fuzz-") as name:
        folder, out = Path(name), f"d{out}"
        code, _ = decided(
            folder, packed(raw) if ending.endswith(".gz") else raw, ending, score, out
        )
        if code:
            return "refused"
        came_back(columns, score, columns_of(folder / out), out)
    return "came back"


@fuzzed("files", quick=8, table=tables(), out=st.sampled_from(ENDINGS), book=st.booleans())
def test_a_typed_file_comes_back(table, out, book):
    """The same from workbooks and Parquet."""
    score, columns = table
    raw = as_workbook(columns) if book else as_parquet(columns)
    if raw is None:
        return "not in Excel"
    with tempfile.TemporaryDirectory(prefix="abstain-fuzz-") as name:
        folder, out = Path(name), f"d{out}"
        ending = ".xlsx" if book else ".parquet"
        code, _ = decided(folder, raw, ending, score, out)
        if code:
            return "refused"
        if not book:
            came_back(columns, score, columns_of(folder / out), out)
    return "came back"


@fuzzed(
    "files",
    quick=30,
    table=tables(),
    dialect=dialects(),
    changes=mutations(),
    ending=st.sampled_from([".csv", ".csv", ".csv", ".csv.gz", ".tsv"]),
    command=st.sampled_from([*COMMANDS, "apply", "apply", "apply"]),
)
def test_a_damaged_text_file(table, dialect, changes, ending, command):
    """Bytes that went wrong: rows that are there, or a refusal that leaves nothing."""
    score, columns = table
    raw = as_text(columns, dialect)
    if raw is None:
        return "not in that encoding"
    raw = mutated(raw, changes)
    with tempfile.TemporaryDirectory(prefix="abstain-fuzz-") as name:
        folder = Path(name)
        data = packed(raw) if ending.endswith(".gz") else raw
        code, err = decided(folder, data, ending, score, "d.csv", command)
        if code:
            return "refused"
        if command == "apply" and "Read table" not in err:
            _as_python_reads(raw, columns_of(folder / "d.csv"))
    return "taken"


def _as_python_reads(raw, written):
    """Check ids against another reader, for a file that was taken for UTF-8 and commas."""
    text = raw.decode("utf-8-sig").lstrip("\r\n")
    if text.startswith("sep="):
        text = text.partition("\n")[2] or text.partition("\r")[2]
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    names = [name.strip() for name in rows[0]]
    if "id" not in names:
        raise Defect(f"decided without an id: {names}")
    at = names.index("id")
    expected = [row[at] for row in rows[1:]]
    if written["id"] != expected:
        raise Defect(f"ids were {expected}, are {written['id']}")


@fuzzed(
    "files",
    quick=8,
    table=tables(),
    changes=mutations(),
    kind=st.sampled_from([".xlsx", ".parquet", ".csv.gz", ".csv"]),
    named=st.sampled_from(["", "", "", ".csv", ".xlsx", ".parquet", ".csv.gz", ".tsv", ".xls"]),
)
def test_a_damaged_file_of_another_kind(table, changes, kind, named):
    """Workbooks, Parquet and packed text that are damaged, or called by a wrong name."""
    score, columns = table
    raw = {
        ".xlsx": as_workbook,
        ".parquet": as_parquet,
        ".csv.gz": lambda columns: packed(as_text(columns, PLAIN)),
        ".csv": lambda columns: as_text(columns, PLAIN),
    }[kind](columns)
    if raw is None:
        return "not in Excel"
    with tempfile.TemporaryDirectory(prefix="abstain-fuzz-") as name:
        code, _ = decided(Path(name), mutated(raw, changes), named or kind, score, "d.csv")
    return "refused" if code else "taken"


@fuzzed(
    "files",
    quick=75,
    table=tables(),
    dialect=dialects(),
    changes=mutations() | st.just([]),
    separator=st.sampled_from([None, None, ",", ";"]),
    encoding=st.sampled_from([None, None, None, "utf-8", "utf-16", "windows-1252"]),
)
def test_reading_itself(table, dialect, changes, separator, encoding):
    """The function that reads: rows and cells as another reader finds them, or a refusal."""
    score, columns = table
    raw = as_text(columns, dialect)
    if raw is None:
        return "not in that encoding"
    raw = mutated(raw, changes)
    reading = Reading(separator=separator, encoding=encoding, missing="refer")
    with tempfile.TemporaryDirectory(prefix="abstain-fuzz-") as name:
        path = Path(name) / "table.csv"
        path.write_bytes(raw)

        def read():
            rows = read_predictions(path, Columns(score, identifier="id"), reading, others=True)
            return rows.ids.to_pylist(), rows.others.to_pydict(), text_format(path, reading)

        with redirect_stderr(io.StringIO()):
            found = outcome(read)
    if isinstance(found, Exception):
        return "refused"
    ids, others, form = found
    text = raw.decode("utf-8-sig" if form.encoding == "utf-8" else form.encoding)
    stream = io.StringIO(text, newline="")
    for _ in range(form.skip):
        stream.readline()
    rows = [row for row in csv.reader(stream, delimiter=form.separator) if row]
    names, *rows = rows
    expected = {one.strip() or f"column {k}": [row[k - 1] for row in rows]
                for k, one in enumerate(names, start=1)}  # fmt: skip
    if ids != expected["id"]:
        raise Defect(f"ids are {ids}, not {expected['id']}")
    for name, cells in others.items():
        if cells != expected[name]:
            raise Defect(f"{name} is {cells}, not {expected[name]}")
    return "read"


PLAIN = {
    "separator": ",", "quoting": csv.QUOTE_MINIMAL, "end": "\n", "encoding": "utf-8", "above": "",
    "below": "", "cut": False,
}  # fmt: skip
