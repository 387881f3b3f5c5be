"""Predictions that are never in memory as a whole: their columns settled, their scores in chunks.

What ``_tables`` does for tables that fit, with the same checks and the same words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from abstain._inputs import Mask
from abstain.cli._chunks import chunk_rows, chunks_of, file_schema, n_rows_of, table_files
from abstain.cli._columns import column_names, found_files
from abstain.cli._places import Places
from abstain.cli._reading import Reading
from abstain.cli._scores import as_numbers, check_scale, without_score
from abstain.cli._tables import PREFIX, class_names, say_how_read, score_columns
from abstain.exceptions import RepairWarning, warn_user

_MOST_NAMED = 5


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
        n: int = self.scores.num_rows
        return n


@dataclass(eq=False)
class Stream:
    """Files of predictions, and which columns of theirs are what.

    Attributes
    ----------
    files : list of Path
        The files, in order.
    names : list of str
        The columns of the first one, which all have.
    columns : list of str
        Those that hold scores.
    identifier : str or None
        The one that names rows.
    reading : Reading
        What the user said about the files.
    """

    files: list[Path]
    names: list[str]
    columns: list[str]
    pattern: str
    identifier: str | None
    reading: Reading
    scale: str | None
    choosable: bool
    # Across chunks: which rows have no score, and the highest of what may be percentages.
    _without: list[str] = field(default_factory=list)
    _first: list[int] = field(default_factory=list)
    _n_without: int = 0
    _highest: float | None = None
    _signed: bool = False

    @property
    def others(self) -> list[str]:
        """The columns that are neither scores nor the id."""
        return [name for name in self.names if name not in {*self.columns, self.identifier}]

    def schema(self) -> pa.Schema:
        """Return the types that the id and the other columns have in all files together."""
        names = [*([] if self.identifier is None else [self.identifier]), *self.others]
        schemas = [file_schema(file, names, self.reading) for file in self.files]
        try:
            return pa.unify_schemas(schemas, promote_options="permissive").remove_metadata()
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(
                f"{self.files[0]} and the files with it do not fit together: {error}"
            ) from error

    def score_names(self, classes: Any) -> list[str]:
        """Return the names of the scores in the order of the classes that were fitted."""
        if len(self.columns) == 1:
            return self._score_names()
        own = class_names(self.columns, self.pattern)
        fitted = [str(label) for label in classes]
        if sorted(own) != sorted(fitted):
            raise ValueError(
                f"{self.files[0]} has score columns for {', '.join(own)}; the fitted ones are for "
                f"{', '.join(fitted)}. Name the columns with --scores."
            )
        return [f"{PREFIX}{name}" for name in fitted]

    def _score_names(self) -> list[str]:
        starred = len(self.columns) > 1 or "*" in self.pattern
        names = class_names(self.columns, self.pattern) if starred else []
        return [f"{PREFIX}{name}" for name in names] or self.columns

    def check(self) -> None:
        """Refuse, before anything is read, files that do not have what the first one has."""
        if self.reading.percent and self.scale == "logits":
            raise click.UsageError(
                "--percent is for probabilities, and these scores are logits"
                + (" by --scale." if self.choosable else " by the rule.")
            )
        for file in self.files:
            file_schema(file, self.columns, self.reading)
        say_how_read(Places(self.files, [], self.reading), commas=False, reading=self.reading)

    def n_rows(self) -> int | None:
        """Return how many rows there are, where all files say so."""
        counts = [n_rows_of(file) for file in self.files]
        return None if None in counts else sum(count or 0 for count in counts)

    def chunks(self, file: Path, *, others: bool, start: int = 0) -> Iterator[Chunk]:
        """Yield the rows of a file from one on: scores, and the other columns where asked."""
        names = [*self.columns]
        if others:
            names += [name for name in (self.identifier, *self.others) if name is not None]
        reading, begin = self.reading, start
        rows = chunk_rows(len(names))
        for table in chunks_of(file, names, self.columns, reading, rows=rows, start=start):
            places = Places([file], [begin + table.num_rows], reading, begin)
            numbers, commas = self._numbers(table, places, reading, first=begin == start)
            if commas and reading.decimal is None:
                if begin > start:
                    _refuse_commas(file, self.columns[0], places)
                reading = replace(reading, decimal=",")
                say_how_read(Places([file], [], reading), commas=True, reading=self.reading)
            gaps = without_score(numbers)
            scores = pa.table(
                [column.fill_null(np.nan) if column.null_count else column for column in numbers],
                names=self._score_names(),
            )
            yield Chunk(scores, gaps, table.drop_columns(self.columns), begin)
            begin += table.num_rows

    def _numbers(
        self, table: pa.Table, places: Places, reading: Reading, *, first: bool
    ) -> tuple[list[pa.ChunkedArray], bool]:
        numbers, commas, pointed = [], False, None
        for name in self.columns:
            column, with_commas = as_numbers(
                table.column(name),
                name,
                places,
                reading,
                # Of a part nothing tells percentages from fractions; of all of it something may.
                alone=False,
                pattern=None if self.columns == [self.pattern] else self.pattern,
                doubt_ids=first and places.begin == 0,
            )
            numbers.append(column)
            commas = commas or with_commas
            if not with_commas and pa.types.is_floating(table.schema.field(name).type):
                pointed = name
        if commas and pointed is not None:
            _refuse_commas(places.files[0], pointed, places)
        check_scale(numbers, self.columns, places, scale=self.scale, choosable=self.choosable)
        if reading.percent and len(self.columns) == 1:
            self._note_percentages(table.column(self.columns[0]), numbers[0])
        return numbers, commas

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
        if len(self._first) < _MOST_NAMED:
            end = chunk.begin + len(chunk)
            where = Places([file], [end], self.reading, chunk.begin).first(rows)
            self._without.append(where)
            self._first += (number + rows[: _MOST_NAMED - len(self._first)]).tolist()
        self._n_without += count
        if self.reading.missing == "error":
            raise ValueError(
                f"{file} has rows without a score, of {chunk.begin + len(chunk):,} read so far "
                f"{count:,}, first {self._without[0]}. Add --missing refer to give them to a "
                f"person, or --missing drop to leave them out."
            )

    def remarks(self, n_rows: int) -> dict[str, Any]:
        """Say, once all scores were read, what is out of the ordinary about them."""
        if n_rows == 0:
            raise ValueError(f"{self.files[0]} has no rows.")
        high = self._highest
        if self.reading.percent and high is not None and not self._signed and high <= 0.01:
            raise ValueError(
                f"{self.files[0]}: no value of column {self.columns[0]!r} is above 1 (the highest "
                f"is {100 * high:.6g}), so it seems to hold fractions, and --percent would divide "
                f"them by 100. All tables of a command must be on one scale; percentages below 1 "
                f"are taken with a %, as 0.5%."
            )
        if not self._n_without:
            return {}
        if self._n_without == n_rows:
            raise ValueError(f"{self.files[0]} has no row with a score.")
        done = {"refer": "referred to a person", "drop": "left out"}[self.reading.missing]
        warn_user(
            f"{self._n_without:,} of {n_rows:,} rows of {self.files[0]} have no score, first "
            f"{self._without[0]}; they are {done}.",
            RepairWarning,
        )
        return {
            "without_score": {
                "rows": self._n_without,
                "done": self.reading.missing,
                "first": self._first,
            }
        }


def stream_of(
    path: Path,
    *,
    scores: str,
    identifier: str | None,
    group: str | None = None,
    reading: Reading,
    scale: str | None,
    choosable: bool,
) -> Stream:
    """Find the files and the columns of predictions that are to be streamed.

    Parameters
    ----------
    path : Path
        A file, a pattern of files, or a folder.
    scores, identifier, group : str
        The columns; as for ``read_predictions``.
    reading : Reading
        What the user said about the files.
    scale : {"probabilities", "logits"} or None
        What the scores are said to be.
    choosable : bool
        Whether the command has ``--scale``.
    """
    files = table_files(path) if path.is_dir() else found_files(path)
    # A workbook is refused before anything else is asked of it.
    file_schema(files[0], [], reading)
    names = column_names(files[0], reading)
    others = {"--id": identifier, "--group": group}
    columns = score_columns(files[0], names, scores, others, reading)
    return Stream(files, names, columns, scores, identifier, reading, scale, choosable)


def _refuse_commas(file: Path, name: str, places: Places) -> None:
    raise ValueError(
        f"{file}: column {name!r} has decimal points in some rows and decimal commas in others, "
        f"from {places.of(0)} on. Say which it is with --decimal."
    )
