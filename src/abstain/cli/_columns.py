"""Finding files and columns: patterns of many files, and proposals where a name is not there.

Nothing is taken silently. When a column is missing the message lists what it may be, with the
exact option to add.
"""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from abstain.cli._excel import sheet_table
from abstain.cli._header import listed, names_rows, quoted, same_names
from abstain.cli._printable import in_a_line
from abstain.cli._reading import AS_FOUND, Reading
from abstain.cli._text import first_rows, read_text, text_format

_SAMPLE = 2_000
_MOST_LABELS = 50
_MOST_PROPOSED = 5
# Of a Parquet file, whose rows may take next to no room in it.
_MOST_ROWS = 10**9


def found_files(path: Path) -> list[Path]:
    """Return the file, or the files that a pattern such as ``site-*.csv`` matches, sorted."""
    if path.is_file():
        return [path]
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; for all tables in it give '{path}/*.csv'.")
    if path.exists():
        raise ValueError(
            f"{path} is no plain file: a table is read more than once. Save it first."
        )
    if not glob.has_magic(str(path)):
        raise FileNotFoundError(f"There is no file {path}.")
    files = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
    files = [file for file in files if file.is_file()]
    if not files:
        raise FileNotFoundError(f"No file matches {path}.")
    return files


def column_names(path: Path, reading: Reading = AS_FOUND) -> list[str]:
    """Return the names of a file's columns, reading as little of it as possible."""
    kind = kind_of(path)
    if kind == "workbook":
        return list(sheet_table(path, reading.sheet).column_names)
    if kind == "parquet":
        return _parquet_names(path)
    return list(text_format(path, reading).names)


def read_columns(
    files: Sequence[Path], names: Sequence[str], *, as_text: Sequence[str], reading: Reading
) -> tuple[pa.Table, list[int]]:
    """Read columns of all files, one below the other; some of them as text whatever they hold.

    Also how many rows each file has.
    """
    for file in files[1:]:
        absent = set(names).difference(column_names(file, reading))
        if absent:
            raise ValueError(f"{file} has no column {sorted(absent)[0]!r}, which {files[0]} has.")
    tables = []
    for file in files:
        kind = kind_of(file)
        if kind == "workbook":
            table = _texts(sheet_table(file, reading.sheet).select(list(names)), as_text)
        elif kind == "parquet":
            with as_table(file):
                # A folder called site=3 is no column.
                table = parquet.read_table(file, columns=list(names), partitioning=None)
                table.validate(full=True)
        else:
            # An id like 00123 is a name, not a number.
            table = read_text(file, names, reading, as_text=as_text)
        tables.append(table)
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise misfit(files, error) from error
    if table.num_rows == 0:
        raise ValueError(f"{files[0]} has no rows.")
    return table, [part.num_rows for part in tables]


def misfit(files: Sequence[Path], error: Exception) -> ValueError:
    """Return the error for files whose columns have types that cannot be one."""
    return ValueError(f"{files[0]} and the files with it do not fit together: {error}")


def kind_of(path: Path) -> Literal["parquet", "workbook", "text"]:
    """Tell what a file is, by its ending."""
    ending = path.suffix.lower()
    if ending == ".xls":
        raise ValueError(f"{path} is an old Excel workbook; save it as .xlsx or CSV.")
    if ending == ".parquet":
        return "parquet"
    return "workbook" if ending in (".xlsx", ".xlsm") else "text"


def missing_column(
    path: Path, wanted: str, option: str, reading: Reading = AS_FOUND
) -> ValueError:
    """Return an error that lists the columns there are and proposes the option to add."""
    what = "score column" if option == "--scores" else "column"
    sample = _sample(path, reading)
    propose: Callable[[str, np.ndarray[Any, Any]], str | None] = {
        "--scores": _as_score,
        "--label": _as_label,
        "--id": _as_id,
        "--group": _as_label,
        "--prediction": _as_label,
        "--known-labels": _as_label,
    }[option]
    proposed = _families(sample) if option == "--scores" else []
    found = [propose(name, values) for name, values in sample.items()]
    # What can be taken as it stands comes before what would have to be something else.
    proposed += sorted(
        (line.replace("OPTION", option) for line in found if line is not None),
        key=lambda line: "--scale" in line,
    )
    message = f"{path} has no {what} {wanted!r}. Its columns: {listed(sample)}."
    if not proposed:
        return ValueError(f"{message} Name the right one with {option}.")
    lines = "".join(f"\n  {line}" for line in proposed[:_MOST_PROPOSED])
    return ValueError(f"{message} Add the option that is right:{lines}")


def _texts(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Turn columns of a workbook into text: whether 17 is a number there depends on the cell."""
    for name in names:
        place = table.column_names.index(name)
        column = table.column(name)
        # A column of numbers with gaps is still one of whole numbers to who reads it.
        if (
            pa.types.is_floating(column.type)
            and pc.all(pc.equal(column, pc.floor(column))).as_py()
            and (pc.max(pc.abs(column)).as_py() or 0) < 2**63
        ):
            column = column.cast(pa.int64())
        table = table.set_column(place, name, column.cast(pa.string()))
    return table


@contextmanager
def as_table(path: Path) -> Iterator[None]:
    """Say of which file it is that PyArrow complains."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError) as error:
        said = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read as a table: {said}") from error


def _parquet_names(path: Path) -> list[str]:
    with as_table(path), parquet.ParquetFile(path) as file:
        names: list[str] = file.schema_arrow.names
        rows = file.metadata.num_rows
    if not 0 <= rows <= _MOST_ROWS:
        raise ValueError(f"{path} says it has {rows:,} rows; at most {_MOST_ROWS:,} are read.")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise same_names(path, twice)
    return names


def _sample(path: Path, reading: Reading) -> dict[str, Any]:
    """Return the first rows of each column."""
    kind = kind_of(path)
    if kind == "workbook":
        first = sheet_table(path, reading.sheet).slice(0, _SAMPLE)
    elif kind == "parquet":
        with as_table(path), parquet.ParquetFile(path) as file:
            found = next(file.iter_batches(batch_size=_SAMPLE), None)
            first = None if found is None else pa.Table.from_batches([found])
    else:
        first = first_rows(path, reading, _SAMPLE)
    if first is None or not first.num_rows:
        return dict.fromkeys(column_names(path, reading), np.empty(0))
    return {name: first.column(name).to_numpy() for name in first.column_names}


def _families(sample: dict[str, Any]) -> list[str]:
    """Propose patterns: columns with a common beginning whose rows sum to 1."""
    by_beginning: dict[str, list[str]] = {}
    for name, values in sample.items():
        beginning = name[: name.rfind("_") + 1]
        if beginning and values.dtype.kind == "f":
            by_beginning.setdefault(beginning, []).append(name)
    found = []
    for beginning, names in by_beginning.items():
        total = sum(sample[name] for name in names)
        if len(names) > 1 and np.allclose(total, 1, atol=1e-3):
            found.append(f"--scores '{beginning}*'  ({len(names)} columns whose rows sum to 1)")
    return found


def _as_score(name: str, values: Any) -> str | None:
    said, scale = "numbers", ""
    if values.dtype == object:
        said, scale, values = _in_text(values)
    if values.dtype.kind != "f" or not values.size or not np.isfinite(values).all():
        return None
    if names_rows(name, values):
        return None
    low, high = values.min(), values.max()
    if not scale and not (low >= 0 and high <= 1):
        scale = " --scale logits" if low < 0 or high > 100 else " with --percent or --scale logits"
    return f"--scores {quoted(name)}{scale}  ({said} from {low:.3g} to {high:.3g})"


def _in_text(values: Any) -> tuple[str, str, Any]:
    """Return numbers that are written as text: with a sign of percent, with a decimal comma."""
    texts = [str(value).strip() for value in values.tolist()]
    percent = all(text.endswith("%") for text in texts)
    try:
        numbers = np.array([float(text.rstrip("%").replace(",", ".")) for text in texts])
    except ValueError:
        return "", "", np.empty(0)
    said = "percentages" if percent else "numbers with decimal commas"
    return said, " --percent" if percent else "", numbers


def _as_label(name: str, values: Any) -> str | None:
    if values.dtype.kind == "f":
        # Whole numbers beside gaps, as labels are that are known of some rows.
        there = values[~np.isnan(values)]
        if len(there) == len(values) or (there % 1).any():
            return None
        values = there.astype(np.int64)
    if values.dtype == object and (_in_text(values)[2] % 1).any():
        return None
    distinct = sorted({" ".join(str(value).split()) for value in values.tolist()})
    if not 2 <= len(distinct) <= _MOST_LABELS:
        return None
    shown = ", ".join(map(in_a_line, distinct[:4])) + (", ..." if len(distinct) > 4 else "")
    return f"OPTION {quoted(name)}  ({shown})"


def _as_id(name: str, values: Any) -> str | None:
    if values.dtype.kind == "f" or len(set(values.tolist())) < len(values):
        return None
    return f"--id {quoted(name)}  (a different value in every row)"
