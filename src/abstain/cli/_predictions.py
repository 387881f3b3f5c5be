"""Predictions in files: which columns are what, and their rows, chunk by chunk or all of them.

Columns are found by the names the user gives. Nothing is guessed: a name that is not there is
an error that proposes what it may be, and so is a number that may mean two things.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from abstain import cli
from abstain._inputs import IntArray, Mask
from abstain._logs import logger, stopwatch
from abstain.audit import Audit
from abstain.cli._header import MOST_NAMED, listed
from abstain.cli._labels import as_labels, as_text, labels_and_classes, without_gaps
from abstain.cli._reading import AS_FOUND, Columns, Missing, Reading
from abstain.cli._scores import ScoreColumns, no_percentages, remark_on_gaps, score_columns
from abstain.cli._tables import (
    Places,
    check_columns,
    chunks_of,
    column_names,
    file_schema,
    found_files,
    kind_of,
    misfit,
    n_rows_of,
    table_files,
)
from abstain.cli._terminal import say
from abstain.cli._text import text_format
from abstain.exceptions import RepairWarning, warn_user

if TYPE_CHECKING:
    from abstain import Policy

_logger = logger("cli")


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

    def slice(self, begin: int, length: int) -> Chunk:
        """Return some of the rows."""
        if length == len(self):
            return self
        gaps = None if self.gaps is None else self.gaps[begin : begin + length]
        scores, table = (part.slice(begin, length) for part in (self.scores, self.table))
        return Chunk(scores, gaps, table, self.begin + begin)


@dataclass(eq=False)
class PredictionFiles:
    """Files of predictions, and which columns of theirs are what.

    Attributes
    ----------
    path : Path
        What names them.
    files : list of Path
        The files, in order.
    names : list of str
        The columns of the first one, which all have.
    scores : ScoreColumns
        Those that hold scores.
    columns : Columns
        What the others are.
    reading : Reading
        What the user said about the files.
    """

    path: Path
    files: list[Path]
    names: list[str]
    scores: ScoreColumns
    columns: Columns
    reading: Reading
    # Across chunks: which rows have no score, and the highest of what may be percentages.
    _without: str = ""
    _first: list[int] = field(default_factory=list)
    _n_without: int = 0
    _highest: float | None = None
    _signed: bool = False
    _commas: bool = False

    @property
    def others(self) -> list[str]:
        """The columns that are neither scores nor the id."""
        own = {*self.scores.columns, self.columns.identifier}
        return [name for name in self.names if name not in own]

    def schema(self) -> pa.Schema:
        """Return the types that the id and the other columns have in all files together."""
        identifier = self.columns.identifier
        names = [*([] if identifier is None else [identifier]), *self.others]
        check_columns(self.files, names, self.reading)
        schemas = [file_schema(file, names, self.reading) for file in self.files]
        try:
            return pa.unify_schemas(schemas, promote_options="permissive").remove_metadata()
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise misfit(self.files, error) from error

    def check_stream(self) -> None:
        """Refuse, before anything is read, files that cannot be streamed together."""
        check_columns(self.files, self.scores.columns, self.reading)
        self.say_how_read(self.files)

    def n_rows(self) -> int | None:
        """Return how many rows there are, where all files say so."""
        counts = [n_rows_of(file) for file in self.files]
        return None if None in counts else sum(count or 0 for count in counts)

    def say_how_read(self, files: Iterable[Path], *, commas: bool = False) -> None:
        """Say on stderr what of files is not as usual, unless the user said it."""
        said: dict[str, list[str]] = {}
        for file in files:
            if kind_of(file) != "text":
                continue
            unusual = [*text_format(file, self.reading).unusual]
            if commas and self.reading.decimal is None:
                unusual.append("with decimal commas")
            if unusual:
                said.setdefault(", ".join(unusual), []).append(str(file))
        for how, found in said.items():
            say(f"Read {listed(found, most=3)} as {how}.")

    def chunks(
        self, file: Path, others: Iterable[str], *, start: int = 0, says: bool = True
    ) -> Iterator[Chunk]:
        """Yield the rows of a file from one on: scores, and other columns.

        ``says``: whether to say at once what of the file is not as usual.
        """
        columns = self.scores.columns
        names = [*dict.fromkeys([*columns, *others])]
        reading, begin = self.reading, start
        for table in chunks_of(file, names, columns, reading, start=start):
            places = Places([file], [begin + table.num_rows], reading, begin)
            found = self.scores.numbers(table, places, reading, doubt_ids=begin == 0)
            scores, gaps = self.scores.table(found.columns, places)
            if reading.percent and len(columns) == 1:
                # Of a part nothing tells percentages from fractions; of all of it something may.
                self._signed = self._signed or found.signed
                self._highest = max(pc.max(found.columns[0]).as_py() or 0.0, self._highest or 0.0)
            if found.commas and reading.decimal is None:
                if begin > start:
                    raise ValueError(
                        f"{file}: column {columns[0]!r} has decimal points in some rows and "
                        f"decimal commas in others, from {places.of(0)} on. Say which it is with "
                        f"--decimal."
                    )
                reading, self._commas = replace(reading, decimal=","), True
                if says:
                    self.say_how_read([file], commas=True)
            yield Chunk(scores, gaps, table.select([*others]), begin)
            begin += table.num_rows

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

    def check_scores(self, n_rows: int) -> None:
        """Refuse, once all scores were read, what only all of them tell."""
        if n_rows == 0:
            raise ValueError(f"{self.files[0]} has no rows.")
        high = self._highest
        if high is not None and not self._signed and high <= 0.01:
            raise no_percentages(self.files[0], self.scores.columns[0], 100 * high)

    def remarks(self, n_rows: int) -> dict[str, Any]:
        """Say, once all scores were read, what is out of the ordinary about them."""
        self.check_scores(n_rows)
        if not self._n_without:
            return {}
        if self._n_without == n_rows:
            raise ValueError(f"{self.files[0]} has no row with a score.")
        what = f"{self._n_without:,} of {n_rows:,} rows of {self.files[0]} have no score"
        where = f"{what}, first {self._without}"
        return remark_on_gaps(where, self._n_without, self._first, self.reading)

    def read(self, *, others: bool = False) -> Predictions:
        """Return all rows; with the other columns only where that is asked for."""
        asked = [*self.columns.by_option().values()]
        wanted = [*dict.fromkeys([*asked, *(self.others if others else ())])]
        check_columns(self.files, [*self.scores.columns, *asked], self.reading)
        lap, chunks, counts = stopwatch(), list[Chunk](), list[int]()
        for file in self.files:
            own = [*self.chunks(file, wanted, says=False)]
            counts.append(sum(map(len, own)))
            chunks += own
        self.check_scores(sum(counts))
        try:
            table = pa.concat_tables(
                [chunk.table for chunk in chunks], promote_options="permissive"
            )
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise misfit(self.files, error) from error
        _logger.info(
            "read %d rows of %s in %.2f s; scores: %s",
            sum(counts), self.path, lap(), ", ".join(self.scores.columns),
        )  # fmt: skip
        self.say_how_read(self.files, commas=self._commas)
        scores = pa.concat_tables([chunk.scores for chunk in chunks])
        whole = Predictions(self, Places(self.files, counts, self.reading), table, scores)
        found = whole
        if any(chunk.gaps is not None for chunk in chunks):
            gaps = np.concatenate(
                [np.zeros(len(one), bool) if one.gaps is None else one.gaps for one in chunks]
            )
            found = whole.without(gaps)
        found.remarks.update(_id_remarks(found.ids, self.columns.identifier, self.files[0]))
        return found


@dataclass(frozen=True, eq=False)
class Predictions:
    """All rows of files, with what else was asked for.

    Attributes
    ----------
    of : PredictionFiles
        The files they came from, and the columns.
    places : Places
        Where each row stands, and how many rows each file has.
    table : pyarrow.Table
        The columns that were asked for, as they are in the files.
    scores : pyarrow.Table
        A column per class, named by it; or one column, the score of the positive class. NaN
        where a row has no score.
    rows : ndarray of int or None
        The positions of these rows in the files; None where none was dropped.
    remarks : dict
        What was out of the ordinary: rows without a score, ids that come twice.
    """

    of: PredictionFiles
    places: Places
    table: pa.Table
    scores: pa.Table
    rows: IntArray | None = None
    remarks: dict[str, Any] = field(default_factory=dict)

    def without(self, gaps: Mask) -> Predictions:
        """Refuse rows without a score, leave them out, or say that they are referred."""
        known, ids = self.of.columns.known_labels, self.ids
        if known is not None:
            gaps = gaps & without_gaps(self._plain(known)).is_null().to_numpy()
        count, without = int(gaps.sum()), np.flatnonzero(gaps)
        if not count:
            return self
        what = (
            f"{count:,} of {len(gaps):,} rows of {self.of.files[0]} have no score, first "
            f"{self.places.first(without, ids)}"
        )
        first = without[:MOST_NAMED].tolist()
        named = first if ids is None else [ids[row].as_py() for row in first]
        remarks = remark_on_gaps(what, count, named, self.of.reading)
        if self.of.reading.missing != "drop":
            return replace(self, remarks=remarks)
        rows = np.flatnonzero(~gaps)
        if not len(rows):
            raise ValueError(f"{self.of.path} has no row with a score.")
        table, scores = self.table.take(rows), self.scores.take(rows)
        return replace(self, table=table, scores=scores, rows=rows, remarks=remarks)

    @cached_property
    def ids(self) -> pa.ChunkedArray | None:
        """The id column as it came."""
        return self._column(self.of.columns.identifier, "")

    @cached_property
    def groups(self) -> NDArray[Any] | None:
        """The group of each row."""
        groups = self._column(self.of.columns.group, "(empty)")
        return None if groups is None else as_text(groups.to_numpy())

    @cached_property
    def known(self) -> NDArray[Any] | None:
        """The labels where they are known."""
        name = self.of.columns.known_labels
        return None if name is None else self._as_labels(without_gaps(self._plain(name)))

    @cached_property
    def predictions(self) -> NDArray[Any] | None:
        """The predicted labels."""
        return self._labels(self.of.columns.prediction)

    @property
    def times(self) -> NDArray[Any] | None:
        """When each row was, as the library takes times."""
        if self.of.columns.time is None:
            return None
        column = self._plain(self.of.columns.time)
        # Text of numbers is what CSV has of them.
        with suppress(pa.ArrowInvalid):
            column = column.cast(pa.float64()) if pa.types.is_string(column.type) else column
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            return np.asarray(column.to_numpy())
        if pa.types.is_date(column.type):
            column = column.cast(pa.timestamp("us"))
        return np.array(column.to_pylist(), dtype=object)

    @property
    def labels(self) -> Any:
        """The true labels."""
        return self._labelled[0]

    @property
    def classes(self) -> list[Any] | None:
        """The classes, from what ``*`` stands for in the matched columns; None for one column.

        Numbers where the labels are numbers too.
        """
        return self._labelled[1]

    @property
    def others(self) -> pa.Table:
        """The columns that are neither scores nor the id; only those that were asked for."""
        return self.table.select(
            [name for name in self.of.others if name in self.table.schema.names]
        )

    @cached_property
    def _labelled(self) -> tuple[Any, list[Any] | None]:
        return labels_and_classes(self._labels(self.of.columns.label), self.of.scores.class_names)

    def _as_labels(self, column: pa.ChunkedArray) -> NDArray[Any]:
        from_text = any(kind_of(file) != "parquet" for file in self.of.files)
        return as_labels(column, from_text=from_text, names=self.of.scores.class_names)

    def _plain(self, name: str) -> pa.ChunkedArray:
        """Return a column; of categories what CSV has, which knows none."""
        column = self.table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return column

    def _labels(self, name: str | None) -> NDArray[Any] | None:
        """Return a column of labels, which must have one in every row."""
        if name is None:
            return None
        column = without_gaps(self._plain(name))
        if column.null_count:
            empty = np.flatnonzero(column.is_null().to_numpy())
            empty = empty if self.rows is None else self.rows[empty]
            raise ValueError(
                f"{self.of.files[0]}: column {name!r} is empty in {column.null_count:,} rows, "
                f"first {self.places.first(empty)}."
            )
        return self._as_labels(column)

    def _column(self, name: str | None, empty: str) -> Any:
        """Return a column as it came, with a word for what is empty; None for no column."""
        if name is None:
            return None
        column = self._plain(name)
        if column.null_count:
            column = column.cast(pa.string()).fill_null(empty)
        if empty and pa.types.is_string(column.type):
            column = pc.if_else(pc.equal(column, ""), empty, column)
        return column

    @property
    def files(self) -> tuple[Path, ...]:
        """The files they came from."""
        return tuple(self.of.files)

    @property
    def id_name(self) -> str:
        """What names a row."""
        return self.of.columns.identifier or "row"

    @property
    def group_name(self) -> str:
        """What rows are compared by."""
        return self.of.columns.group or "group"

    def unscored_and_known(self, classes: Iterable[Any]) -> dict[str, Any]:
        """Return what the library is to be told of rows without a score and of known labels."""
        told: dict[str, Any] = {}
        if "without_score" in self.remarks and self.of.reading.missing == "refer":
            told["missing"] = "refer"
        if self.known is not None:
            # Labels are compared as text: a column with gaps may have been read as another kind.
            spelled = {str(label).lower(): label for label in classes}
            told["y_target"] = np.array(
                [spelled.get(str(one).lower(), one) for one in self.known], dtype=object
            )
        return told

    def audited(self, share: float | None, key: bytes | None) -> dict[str, Any]:
        """Return what the library is to be told of an audit, where one is asked for."""
        if share is None:
            return {}
        names: Any = self.ids
        if names is None:
            say("Rows are drawn for the audit by their number; --id names a column that lasts.")
            names = range(self.scores.num_rows) if self.rows is None else self.rows
        listed_names = names.to_pylist() if hasattr(names, "to_pylist") else [*names]
        texts = [None if one is None else str(one).strip() for one in listed_names]
        return {"audit": Audit(share, texts, key)}

    def scores_for(self, classes: Iterable[Any]) -> pa.Table:
        """Return the scores with their columns in the order of the classes that were fitted."""
        return self.scores.select(self.of.scores.names_for(classes))


def prediction_files(
    path: Path,
    columns: Columns,
    reading: Reading = AS_FOUND,
    *,
    scale: str | None = None,
    rule: Policy | None = None,
    stream: bool = False,
) -> PredictionFiles:
    """Find the files and the columns of predictions.

    Parameters
    ----------
    path : Path
        A text file (also ``.gz``), a workbook or a ``.parquet`` file, a pattern such as
        ``site-*.csv``, or, to be streamed, a folder.
    columns : Columns
        Which columns to read, as what.
    reading : Reading
        What the user said about the files.
    scale : {"probabilities", "logits"}, optional
        What the scores are said to be; those that cannot be that are refused.
    rule : Policy, optional
        The rule that is to be applied; its scale is the scores'.
    stream : bool
        Whether they are to be read in parts.
    """
    _pass_over_pandas()
    files = table_files(path) if stream and path.is_dir() else found_files(path)
    if stream and kind_of(files[0]) == "workbook":
        raise ValueError(
            f"{files[0]} is a workbook, which is read whole or not at all. Save it as CSV or "
            f"Parquet."
        )
    names = column_names(files[0], reading)
    columns = columns.as_made(rule, names)
    scores = score_columns(files[0], names, columns, reading, scale=scale, rule=rule)
    return PredictionFiles(path, files, names, scores, columns, reading)


class _Unseen:
    """What stands before the finders of modules and finds no pandas."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        """Leave all other modules to the finders behind."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _pass_over_pandas() -> None:
    """Keep PyArrow from importing pandas, which takes longer than all else of a small file.

    It looks once whether pandas is there, to know what it may be given: here nothing is of it.
    Where a frame of pandas is asked for it looks again.
    """
    if cli.own_process and "pandas" not in sys.modules:
        sys.meta_path.insert(0, _Unseen)
        try:
            pa.array([])
        finally:
            sys.meta_path.remove(_Unseen)


def read_predictions(
    path: Path,
    columns: Columns,
    reading: Reading = AS_FOUND,
    *,
    others: bool = False,
    **known: Any,
) -> Predictions:
    """Read all rows of predictions; as :func:`prediction_files` finds them."""
    return prediction_files(path, columns, reading, **known).read(others=others)


def read_validation(path: Path, columns: Columns, reading: Reading, **known: Any) -> Predictions:
    """Read labelled predictions; as :func:`read_predictions` does what is of VALIDATION."""
    # Its rows need no names, and none without a score can be of use.
    columns = replace(columns, identifier=None, group=columns.by, by=None, known_labels=None)
    missing: Missing = "error" if reading.missing == "error" else "drop"
    reading = replace(reading, sheets=reading.sheets[:1], missing=missing)
    return read_predictions(path, columns, reading, **known)


def _id_remarks(ids: pa.ChunkedArray | None, name: str | None, file: Path) -> dict[str, Any]:
    """Say which ids come more than once."""
    if ids is None:
        return {}
    counted = ids.value_counts()
    counts = pc.struct_field(counted, "counts")
    twice = pc.struct_field(counted, "values").filter(pc.greater(counts, 1)).to_pylist()
    if not twice:
        return {}
    rows = int(pc.sum(counts.filter(pc.greater(counts, 1))).as_py())
    first = twice[:MOST_NAMED]
    warn_user(
        f"{len(twice):,} values of {name!r} in {file} come more than once, in {rows:,} rows: "
        f"{listed(twice, most=MOST_NAMED)}. Each row is decided about by itself.",
        RepairWarning,
    )
    return {"duplicate_ids": {"count": len(twice), "rows": rows, "first": first}}
