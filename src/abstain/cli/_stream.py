"""Predictions that are never in memory as a whole: their columns settled, their scores in chunks.

What ``_tables`` does for tables that fit, with the same checks and the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from abstain._inputs import Mask
from abstain.cli._chunks import chunk_rows, chunks_of, file_schema, n_rows_of, table_files
from abstain.cli._columns import column_names, found_files, misfit
from abstain.cli._places import Places
from abstain.cli._reading import Columns, Reading
from abstain.cli._scores import (
    ScoreColumns,
    no_percentages,
    remark_on_gaps,
    score_columns,
)
from abstain.cli._tables import MOST_NAMED, say_how_read
from abstain.policy import Policy

#: Larger inputs are streamed; what is smaller is read as it always was.
MOST_BYTES = 200_000_000
# What text is packed to, at most times: it counts for what it unpacks to.
_PACKED = 5


def is_streamed(batch: Path, stream: bool | None) -> bool:
    """Tell whether a batch is streamed: it is a folder, or large, or that was asked for."""
    if stream is not None:
        if not stream and batch.is_dir():
            raise click.UsageError(
                f"--no-stream is for files; for all tables in the folder give '{batch}/*.csv'."
            )
        return stream
    if batch.is_dir():
        return True
    try:
        files = found_files(batch)
    except (OSError, ValueError):
        return False  # what is wrong with it is said when it is read
    weighed = (
        file.stat().st_size * (_PACKED if file.suffix.lower() == ".gz" else 1) for file in files
    )
    return sum(weighed) > MOST_BYTES


def refuse_in_streams(given: Mapping[str, Any], out: Path | None) -> None:
    """Refuse options that take all rows at once."""
    for option, value in given.items():
        if value not in (None, False):
            raise click.UsageError(
                f"{option} takes all rows in memory at once, and BATCH is streamed. Leave it out; "
                f"or, for a file that fits into memory, add --no-stream."
            )
    if out is not None and out.suffix.lower() == ".xlsx":
        raise click.UsageError(
            f"Cannot stream into the workbook {out}: name a folder, or a file that ends in "
            f".parquet, .csv, .csv.gz or .tsv."
        )


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a file.

    Attributes
    ----------
    scores : pyarrow.Table
        A column per class, named by it, or one; NaN where a row has no score.
    gaps : ndarray of bool or None
        Which rows have no score; None for none.
    table : pyarrow.Table
        What else was asked for.
    begin : int
        The number of the first row in its file.
    """

    scores: pa.Table
    gaps: Mask | None
    table: pa.Table
    begin: int

    def __len__(self) -> int:
        return int(self.scores.num_rows)


@dataclass(eq=False)
class Stream:
    """Files of predictions, and which columns of theirs are what.

    Attributes
    ----------
    files : list of Path
        The files, in order.
    names : list of str
        The columns of the first one, which all have.
    scores : ScoreColumns
        Those that hold scores.
    identifier : str or None
        The one that names rows.
    reading : Reading
        What the user said about the files.
    """

    files: list[Path]
    names: list[str]
    scores: ScoreColumns
    identifier: str | None
    reading: Reading
    # Across chunks: which rows have no score, and the highest of what may be percentages.
    _without: str = ""
    _first: list[int] = field(default_factory=list)
    _n_without: int = 0
    _highest: float | None = None
    _signed: bool = False

    @property
    def others(self) -> list[str]:
        """The columns that are neither scores nor the id."""
        return [name for name in self.names if name not in {*self.scores.columns, self.identifier}]

    def schema(self) -> pa.Schema:
        """Return the types that the id and the other columns have in all files together."""
        names = [*([] if self.identifier is None else [self.identifier]), *self.others]
        schemas = [file_schema(file, names, self.reading) for file in self.files]
        try:
            return pa.unify_schemas(schemas, promote_options="permissive").remove_metadata()
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise misfit(self.files, error) from error

    def check(self) -> None:
        """Refuse, before anything is read, files that do not have what the first one has."""
        for file in self.files:
            file_schema(file, self.scores.columns, self.reading)
        say_how_read(Places(self.files, [], self.reading), commas=False, reading=self.reading)

    def n_rows(self) -> int | None:
        """Return how many rows there are, where all files say so."""
        counts = [n_rows_of(file) for file in self.files]
        return None if None in counts else sum(count or 0 for count in counts)

    def chunks(self, file: Path, *, others: bool, start: int = 0) -> Iterator[Chunk]:
        """Yield the rows of a file from one on: scores, and the other columns where asked."""
        columns = self.scores.columns
        names = [*columns]
        if others:
            names += [name for name in (self.identifier, *self.others) if name is not None]
        reading, begin = self.reading, start
        rows = chunk_rows(len(names))
        for table in chunks_of(file, names, columns, reading, rows=rows, start=start):
            places = Places([file], [begin + table.num_rows], reading, begin)
            # Of a part nothing tells percentages from fractions; of all of it something may.
            numbers, commas, points = self.scores.numbers(
                table, places, reading, alone=False, doubt_ids=begin == 0
            )
            if commas and points:
                _refuse_commas(file, points[-1], places)
            scores, gaps = self.scores.table(numbers, places)
            if reading.percent and len(columns) == 1:
                self._note_percentages(table.column(columns[0]), numbers[0])
            if commas and reading.decimal is None:
                if begin > start:
                    _refuse_commas(file, columns[0], places)
                reading = replace(reading, decimal=",")
                say_how_read(Places([file], [], reading), commas=True, reading=self.reading)
            yield Chunk(scores, gaps, table.drop_columns(columns), begin)
            begin += table.num_rows

    def _note_percentages(self, given: pa.ChunkedArray, numbers: pa.ChunkedArray) -> None:
        if pa.types.is_string(given.type):
            self._signed = self._signed or bool(pc.any(pc.match_substring(given, "%")).as_py())
        high = pc.max(numbers).as_py()
        if high is not None:
            self._highest = max(high, self._highest or 0.0)

    def note_gaps(self, chunk: Chunk, file: Path, number: int) -> None:
        """Refuse rows without a score, or keep them for :meth:`remarks`.

        ``number`` is that of the chunk's first row among the rows of all files.
        """
        if chunk.gaps is None:
            return
        count, rows = int(chunk.gaps.sum()), np.flatnonzero(chunk.gaps)
        end = chunk.begin + len(chunk)
        if not self._n_without:
            self._without = Places([file], [end], self.reading, chunk.begin).first(rows)
        self._first += (number + rows[: MOST_NAMED - len(self._first)]).tolist()
        self._n_without += count
        if self.reading.missing == "error":
            what = f"{file} has rows without a score, of {end:,} read so far {count:,}"
            remark_on_gaps(f"{what}, first {self._without}", count, [], self.reading)

    def remarks(self, n_rows: int) -> dict[str, Any]:
        """Say, once all scores were read, what is out of the ordinary about them."""
        if n_rows == 0:
            raise ValueError(f"{self.files[0]} has no rows.")
        high = self._highest
        if self.reading.percent and high is not None and not self._signed and high <= 0.01:
            raise no_percentages(self.files[0], self.scores.columns[0], 100 * high)
        if not self._n_without:
            return {}
        if self._n_without == n_rows:
            raise ValueError(f"{self.files[0]} has no row with a score.")
        what = f"{self._n_without:,} of {n_rows:,} rows of {self.files[0]} have no score"
        where = f"{what}, first {self._without}"
        return remark_on_gaps(where, self._n_without, self._first, self.reading)


def stream_of(
    path: Path,
    columns: Columns,
    reading: Reading,
    *,
    scale: str | None = None,
    rule: Policy | None = None,
) -> Stream:
    """Find the files and the columns of predictions that are to be streamed.

    ``path`` is a file, a pattern of files, or a folder; the others are as for
    ``read_predictions``.
    """
    files = table_files(path) if path.is_dir() else found_files(path)
    # A workbook is refused before anything else is asked of it.
    file_schema(files[0], [], reading)
    names = column_names(files[0], reading)
    scores = score_columns(files[0], names, columns, reading, scale=scale, rule=rule)
    return Stream(files, names, scores, columns.identifier, reading)


def _refuse_commas(file: Path, name: str, places: Places) -> None:
    raise ValueError(
        f"{file}: column {name!r} has decimal points in some rows and decimal commas in others, "
        f"from {places.of(0)} on. Say which it is with --decimal."
    )
