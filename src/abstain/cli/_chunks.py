"""Files read chunk by chunk, from any row on, in memory that does not grow with them.

What is refused of a file that is read whole is refused here too, when it is come across.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv as arrow
from pyarrow import parquet

from abstain.cli._archives import unpacked
from abstain.cli._columns import as_table, column_names, kind_of
from abstain.cli._reading import Reading
from abstain.cli._text import (
    BLOCKS,
    TextFormat,
    check_lines,
    csv_options,
    n_filled,
    text_format,
    why_unreadable,
)

# What a folder is searched for.
_ENDINGS = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
# Of a Parquet file so much is read at a time and column, whatever its pages are like.
_BUFFER = 1 << 20
# So many numbers are in memory at a time, and no fewer or more rows than these.
_CELLS = 1 << 21
_FEWEST, _MOST = 1 << 12, 1 << 18
# So many bytes of a Parquet file, as told from its first rows: long texts are few rows.
_BYTES, _LOOKED_AT = 1 << 24, 1 << 10


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


def chunk_rows(n_columns: int) -> int:
    """Return how many rows of so many columns to read at a time."""
    return min(_MOST, max(_FEWEST, _CELLS // max(n_columns, 1)))


def n_rows_of(path: Path) -> int | None:
    """Return how many rows a file has, where it says so."""
    if kind_of(path) != "parquet":
        return None
    with as_table(path), parquet.ParquetFile(path) as file:
        return int(file.metadata.num_rows)


def file_schema(path: Path, names: Sequence[str], reading: Reading) -> pa.Schema:
    """Return the types of some columns of a file; those of a text file are text."""
    if kind_of(path) == "workbook":
        raise ValueError(
            f"{path} is a workbook, which is read whole or not at all. Save it as CSV or Parquet."
        )
    absent = set(names).difference(column_names(path, reading))
    if absent:
        raise ValueError(f"{path} has no column {sorted(absent)[0]!r}, which others have.")
    if kind_of(path) != "parquet":
        return pa.schema([(name, pa.string()) for name in names])
    with as_table(path):
        schema = parquet.read_schema(path)
    return pa.schema([schema.field(name) for name in names])


def chunks_of(
    path: Path,
    names: Sequence[str],
    numbers: Sequence[str],
    reading: Reading,
    *,
    rows: int,
    start: int = 0,
) -> Iterator[pa.Table]:
    """Yield columns of a file in chunks.

    Parameters
    ----------
    path : Path
        A text file or a Parquet file.
    names : sequence of str
        The columns.
    numbers : sequence of str
        Those of them that hold scores; of a text file the others are text.
    reading : Reading
        What the user said about the file.
    rows : int
        About how many rows a chunk has; of text files it is a matter of bytes.
    start : int
        How many rows to leave out.
    """
    if kind_of(path) == "parquet":
        with as_table(path):
            yield from _parquet_chunks(path, list(names), rows, start)
        return
    yield from _rows_from(_text_chunks(path, list(names), list(numbers), reading), start)


def _parquet_chunks(path: Path, names: list[str], rows: int, start: int) -> Iterator[pa.Table]:
    with parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
        counts = [file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups)]
        first = 0
        while first < len(counts) and start >= counts[first]:
            start -= counts[first]
            first += 1
        left = range(first, len(counts))
        rows = _rows_in_memory(file, names, left, rows)
        batches = file.iter_batches(batch_size=rows, columns=names, row_groups=left)
        yield from _rows_from(_valid_tables(batches, names), start)


def _rows_in_memory(file: Any, names: list[str], groups: range, rows: int) -> int:
    """Return how many rows to read at a time where each takes much memory."""
    looked = file.iter_batches(batch_size=_LOOKED_AT, columns=names, row_groups=groups[:1])
    first = next(looked, None)
    if first is None or not first.num_rows:
        return rows
    fitting: int = _BYTES * first.num_rows // max(first.nbytes, 1)
    return max(1, min(rows, fitting))


def _valid_tables(batches: Iterator[Any], names: list[str]) -> Iterator[pa.Table]:
    for batch in batches:
        batch.validate(full=True)
        yield pa.Table.from_batches([batch]).select(names)


def _rows_from(tables: Iterator[pa.Table], start: int) -> Iterator[pa.Table]:
    """Yield what comes after so many rows."""
    for table in tables:
        if start >= table.num_rows:
            start -= table.num_rows
            continue
        yield table.slice(start)
        start = 0


def _text_chunks(
    path: Path, names: list[str], numbers: list[str], reading: Reading
) -> Iterator[pa.Table]:
    """Yield chunks of a text file: scores as numbers, or as text where they are not plain ones.

    What PyArrow cannot take as it began is begun again, with larger blocks or with text, and goes
    on where it was.
    """
    form = text_format(path, reading)
    # Where points separate thousands, what looks like a number is none.
    plain, block, given = reading.decimal != ",", 0, 0
    while True:
        texts = [name for name in names if not plain or name not in numbers]
        kinds = {name: pa.string() if name in texts else pa.float64() for name in names}
        try:
            for table in _rows_from(_parsed(path, form, names, kinds, BLOCKS[block]), given):
                given += table.num_rows
                yield table
            return
        except (pa.ArrowException, UnicodeError) as error:
            if "straddling" in str(error) and block < len(BLOCKS) - 1:
                block += 1
            elif "conversion error" in str(error) and plain and numbers:
                plain = False
            else:
                raise ValueError(why_unreadable(path, form, error)) from error


def _parsed(
    path: Path, form: TextFormat, names: list[str], kinds: dict[str, Any], block: int
) -> Iterator[pa.Table]:
    count, waiting = 0, list[pa.Table]()
    with unpacked(path) as stream:
        reader = arrow.open_csv(stream, **csv_options(form, block, names, kinds))
        for batch in reader:
            table = pa.Table.from_batches([batch])
            count += table.num_rows
            if len(form.names) > 1:
                yield table
                continue
            # Empty lines of a single column are rows, but for those at the end.
            full = n_filled(table)
            if full:
                yield pa.concat_tables([*waiting, table.slice(0, full)])
                waiting = []
            waiting.append(table.slice(full))
    check_lines(path, form, count, stream)
