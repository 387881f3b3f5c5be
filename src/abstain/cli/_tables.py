"""Tables in files: which files, their columns, and their rows chunk by chunk.

A file of text or Parquet is read from any row on, in memory that does not grow with it; a workbook
is one chunk. Whatever the kind, what is wrong is said in the same words.
"""

from __future__ import annotations

import glob
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from abstain.cli._excel import sheet_lines, sheet_table
from abstain.cli._header import listed, proposed, same_names
from abstain.cli._reading import AS_FOUND, Reading
from abstain.cli._terminal import in_a_line
from abstain.cli._text import first_rows, line_of, rows_from, text_chunks, text_format

# What a folder is searched for.
_ENDINGS = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
# Of a Parquet file so much is read at a time and column, whatever its pages are like.
_BUFFER = 1 << 20
# So many numbers are in memory at a time, and no fewer or more rows than these.
_CELLS = 1 << 21
_FEWEST, _MOST = 1 << 12, 1 << 18
# So many bytes of a Parquet file, as told from its first rows: long texts are few rows.
_BYTES, _LOOKED_AT = 1 << 24, 1 << 10
# Of a Parquet file, whose rows may take next to no room in it.
_MOST_ROWS = 10**9
_SAMPLE = 2_000
_MOST_NAMED = 3


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


def table_files(folder: Path) -> list[Path]:
    """Return the tables in a folder and the folders in it, sorted; hidden ones are none."""
    found = sorted(
        path
        for path in folder.rglob("*")
        if path.name.lower().endswith(_ENDINGS)
        and path.is_file()
        and not any(part[0] in "._" for part in path.relative_to(folder).parts)
    )
    if not found:
        raise FileNotFoundError(
            f"{folder} is a folder without a table: no file in it ends in {', '.join(_ENDINGS)}."
        )
    return found


def kind_of(path: Path) -> Literal["parquet", "workbook", "text"]:
    """Tell what a file is, by its ending."""
    ending = path.suffix.lower()
    if ending == ".xls":
        raise ValueError(f"{path} is an old Excel workbook; save it as .xlsx or CSV.")
    if ending == ".parquet":
        return "parquet"
    return "workbook" if ending in (".xlsx", ".xlsm") else "text"


def column_names(path: Path, reading: Reading = AS_FOUND) -> list[str]:
    """Return the names of a file's columns, reading as little of it as possible."""
    kind = kind_of(path)
    if kind == "workbook":
        return list(sheet_table(path, reading.sheet).column_names)
    if kind == "text":
        return list(text_format(path, reading).names)
    with _as_table(path), parquet.ParquetFile(path) as file:
        names: list[str] = file.schema_arrow.names
        rows = file.metadata.num_rows
    if not 0 <= rows <= _MOST_ROWS:
        raise ValueError(f"{path} says it has {rows:,} rows; at most {_MOST_ROWS:,} are read.")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise same_names(path, twice)
    return names


def n_rows_of(path: Path) -> int | None:
    """Return how many rows a file has, where it says so."""
    if kind_of(path) != "parquet":
        return None
    with _as_table(path), parquet.ParquetFile(path) as file:
        return int(file.metadata.num_rows)


def file_schema(path: Path, names: Sequence[str], reading: Reading) -> pa.Schema:
    """Return the types that some columns of a file come in; those of a text file are text."""
    if kind_of(path) != "parquet":
        return pa.schema([(name, pa.string()) for name in names])
    with _as_table(path):
        schema = parquet.read_schema(path)
    return pa.schema([schema.field(name) for name in names])


def check_columns(files: Sequence[Path], names: Iterable[str], reading: Reading) -> None:
    """Refuse files that do not have the columns that the first of them has."""
    for file in files[1:]:
        absent = {*names}.difference(column_names(file, reading))
        if absent:
            raise ValueError(f"{file} has no column {sorted(absent)[0]!r}, which {files[0]} has.")


def misfit(files: Sequence[Path], error: Exception) -> ValueError:
    """Return the error for files whose columns have types that cannot be one."""
    return ValueError(f"{files[0]} and the files with it do not fit together: {error}")


def chunks_of(
    path: Path, names: Sequence[str], numbers: Sequence[str], reading: Reading, *, start: int = 0
) -> Iterator[pa.Table]:
    """Yield columns of a file in chunks.

    Parameters
    ----------
    path : Path
        A table.
    names : sequence of str
        The columns.
    numbers : sequence of str
        Those of them that hold scores; but for Parquet files the others are text.
    reading : Reading
        What the user said about the file.
    start : int
        How many rows to leave out.
    """
    kind = kind_of(path)
    if kind == "text":
        yield from rows_from(text_chunks(path, list(names), numbers, reading), start)
    elif kind == "workbook":
        table = sheet_table(path, reading.sheet).select(list(names))
        # Where points separate thousands, what looks like a number is none.
        plain = numbers if reading.decimal != "," else ()
        yield _texts(table, [name for name in names if name not in plain]).slice(start)
    else:
        with _as_table(path):
            yield from _parquet_chunks(path, list(names), start)


def _parquet_chunks(path: Path, names: list[str], start: int) -> Iterator[pa.Table]:
    with parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
        counts = [file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups)]
        first = 0
        while first < len(counts) and start >= counts[first]:
            start -= counts[first]
            first += 1
        left = range(first, len(counts))
        rows = min(_MOST, max(_FEWEST, _CELLS // max(len(names), 1)))
        # Fewer at a time where each takes much memory.
        looked = file.iter_batches(batch_size=_LOOKED_AT, columns=names, row_groups=left[:1])
        head = next(looked, None)
        if head is not None and head.num_rows:
            rows = max(1, min(rows, _BYTES * head.num_rows // max(head.nbytes, 1)))
        batches = file.iter_batches(batch_size=rows, columns=names, row_groups=left)
        yield from rows_from(_valid_tables(batches, names), start)


def _valid_tables(batches: Iterator[Any], names: list[str]) -> Iterator[pa.Table]:
    for batch in batches:
        batch.validate(full=True)
        yield pa.Table.from_batches([batch]).select(names)


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
def _as_table(path: Path) -> Iterator[None]:
    """Say of which file it is that PyArrow complains."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError) as error:
        said = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read as a table: {said}") from error


def missing_column(
    path: Path, wanted: str, option: str, reading: Reading = AS_FOUND
) -> ValueError:
    """Return an error that lists the columns there are and proposes the option to add."""
    sample = _sample(path, reading)
    what = "score column" if option == "--scores" else "column"
    message = f"{path} has no {what} {wanted!r}. Its columns: {listed(sample)}."
    lines = [f"\n  {line}" for line in proposed(sample, option)]
    if not lines:
        return ValueError(f"{message} Name the right one with {option}.")
    return ValueError(f"{message} Add the option that is right:{''.join(lines)}")


def _sample(path: Path, reading: Reading) -> dict[str, Any]:
    """Return the first rows of each column, typed by what they hold."""
    names = column_names(path, reading)
    if kind_of(path) == "text":
        first = first_rows(path, reading, _SAMPLE)
    else:
        found = chunks_of(path, names, names, replace(reading, decimal=None))
        first = next(found, None)
    if first is None or not first.num_rows:
        return dict.fromkeys(names, np.empty(0))
    return {name: first.column(name).slice(0, _SAMPLE).to_numpy() for name in names}


@dataclass(frozen=True)
class Places:
    """The rows of files that were read one below the other: each can be found again.

    Attributes
    ----------
    files : sequence of Path
        The files, in order.
    counts : sequence of int
        How many rows each has.
    reading : Reading
        How they were read.
    begin : int
        How many rows come before what was read of them.
    """

    files: Sequence[Path]
    counts: Sequence[int]
    reading: Reading
    begin: int = 0

    def of(self, row: int) -> str:
        """Return where a row stands, e.g. ``line 18 of batch.csv``; a pass over the file."""
        begins, row = [0, *accumulate(self.counts)], row + self.begin
        part = bisect_right(begins, row) - 1
        file, row = self.files[part], row - begins[part]
        kind = kind_of(file)
        if kind == "parquet":
            return f"row {row} of {file}, counted from 0"
        if kind == "workbook":
            return f"row {sheet_lines(file, self.reading.sheet)[row]} of {file}"
        return f"line {line_of(file, row, self.reading)} of {file}"

    def first(self, rows: Iterable[int], names: Sequence[object] | None = None) -> str:
        """Return where the first of some rows stand, with what each is called."""
        shown = []
        for row in islice(rows, _MOST_NAMED):
            called = "" if names is None else f" ({in_a_line(names[row])})"
            shown.append(f"{self.of(int(row))}{called}")
        return "; ".join(shown)
