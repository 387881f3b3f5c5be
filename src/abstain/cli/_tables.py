"""Reading predictions (CSV and its kin, Excel, Parquet) as Arrow tables.

Columns are found by the names the user gives. Nothing is guessed: a name that is not there is
an error that proposes what it may be, and so is a number that may mean two things.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from abstain._inputs import IntArray, Mask
from abstain._logs import logger, stopwatch
from abstain.cli._columns import column_names, found_files, kind_of, read_columns
from abstain.cli._header import listed
from abstain.cli._labels import as_labels, as_text, without_gaps
from abstain.cli._places import Places
from abstain.cli._printable import say
from abstain.cli._reading import AS_FOUND, Columns, Missing, Reading
from abstain.cli._scores import ScoreColumns, remark_on_gaps, score_columns
from abstain.cli._text import text_format
from abstain.exceptions import RepairWarning, warn_user

if TYPE_CHECKING:
    from abstain import Policy

#: So many rows are named where there are more.
MOST_NAMED = 5
_WHOLE = re.compile("0|-?[1-9][0-9]*")

_logger = logger("cli")


@dataclass(frozen=True, eq=False)
class Predictions:
    """Scores read from a table, with what else was asked for.

    Attributes
    ----------
    scores : pyarrow.Table
        A column per class, named by it; or one column, the score of the positive class. NaN
        where a row has no score.
    score_columns : ScoreColumns
        The columns they were read from.
    classes : list or None
        The classes, from what ``*`` stands for in the matched columns; numbers where the labels
        are numbers too. None for one column.
    labels, groups, predictions, known : ndarray or None
        The label, the group and the prediction columns, and the labels where they are known.
    ids : pyarrow.ChunkedArray or None
        The id column as it came.
    id_name, group_name : str
        What these columns are called.
    files : tuple of Path
        The files they came from.
    counts : tuple of int
        How many rows each file has.
    rows : ndarray of int or None
        The positions of these rows in the files; None where none was dropped.
    remarks : dict
        What was out of the ordinary: rows without a score, ids that come twice.
    """

    scores: pa.Table
    score_columns: ScoreColumns
    classes: list[Any] | None
    labels: Any
    ids: pa.ChunkedArray | None
    groups: NDArray[Any] | None
    predictions: NDArray[Any] | None
    id_name: str
    group_name: str
    files: tuple[Path, ...]
    counts: tuple[int, ...] = ()
    known: NDArray[Any] | None = None
    rows: IntArray | None = None
    remarks: dict[str, Any] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    reading: Reading = AS_FOUND

    def unscored_and_known(self, classes: Iterable[Any]) -> dict[str, Any]:
        """Return what the library is to be told of rows without a score and of known labels."""
        told: dict[str, Any] = {}
        if "without_score" in self.remarks and self.reading.missing == "refer":
            told["missing"] = "refer"
        if self.known is not None:
            # Labels are compared as text: a column with gaps may have been read as another kind.
            spelled = {str(label).lower(): label for label in classes}
            told["y_target"] = np.array(
                [spelled.get(str(one).lower(), one) for one in self.known], dtype=object
            )
        return told

    def others(self) -> pa.Table:
        """Read the columns that are neither scores nor the id, as they are in the files."""
        table, _ = read_columns(self.files, self.unread, as_text=self.unread, reading=self.reading)
        return table if self.rows is None else table.take(self.rows)

    def scores_for(self, classes: Iterable[Any]) -> pa.Table:
        """Return the scores with their columns in the order of the classes that were fitted."""
        return self.scores.select(self.score_columns.names_for(classes))


def read_validation(
    path: Path,
    columns: Columns,
    reading: Reading,
    *,
    scale: str | None = None,
    rule: Policy | None = None,
) -> Predictions:
    """Read labelled predictions; as :func:`read_predictions` does what is of VALIDATION."""
    # Its rows need no names, and none without a score can be of use.
    columns = replace(columns, identifier=None, group=None, known_labels=None)
    missing: Missing = "error" if reading.missing == "error" else "drop"
    reading = replace(reading, sheets=reading.sheets[:1], missing=missing)
    return read_predictions(path, columns, reading, scale=scale, rule=rule)


def read_predictions(
    path: Path,
    columns: Columns,
    reading: Reading = AS_FOUND,
    *,
    scale: str | None = None,
    rule: Policy | None = None,
) -> Predictions:
    """Read predictions from a file, or from many.

    Parameters
    ----------
    path : Path
        A text file (also ``.gz``), a workbook or a ``.parquet`` file, or a pattern such as
        ``site-*.csv``.
    columns : Columns
        Which columns to read, as what.
    reading : Reading
        What the user said about the files.
    scale : {"probabilities", "logits"}, optional
        What the scores are said to be; those that cannot be that are refused.
    rule : Policy, optional
        The rule that is to be applied; its scale is the scores'.
    """
    files = found_files(path)
    names = column_names(files[0], reading)
    scores = score_columns(files[0], names, columns, reading, scale=scale, rule=rule)
    table, found, gaps, places = _read(path, files, scores, columns, reading)
    identifier, ids = columns.identifier, _column_without_nulls(table, columns.identifier, "")
    known, rows, remarks = None, None, dict[str, Any]()
    if columns.known_labels is not None:
        known = without_gaps(table.column(columns.known_labels))
        gaps = None if gaps is None else gaps & known.is_null().to_numpy()
    if gaps is not None and gaps.any():
        remarks = _gap_remarks(gaps, places, ids, reading)
        if reading.missing == "drop":
            rows = np.flatnonzero(~gaps)
            if not len(rows):
                raise ValueError(f"{path} has no row with a score.")
            table, found = table.take(rows), found.take(rows)
            ids, known = (None if part is None else part.take(rows) for part in (ids, known))
    remarks |= _id_remarks(ids, identifier, files[0])
    from_text = any(kind_of(file) != "parquet" for file in files)
    labels_in = partial(as_labels, from_text=from_text, names=scores.class_names)
    labels, predictions = (
        None if name is None else labels_in(_column_of_all(table, name, places, rows))
        for name in (columns.label, columns.prediction)
    )
    labels, classes = _labels_and_classes(labels, scores.class_names)
    groups = _column_without_nulls(table, columns.group, "(empty)")
    return Predictions(
        scores=found,
        score_columns=scores,
        classes=classes,
        labels=labels,
        ids=ids,
        groups=None if groups is None else as_text(groups.to_numpy()),
        predictions=predictions,
        id_name=identifier or "row",
        group_name=columns.group or "group",
        files=tuple(files),
        counts=tuple(places.counts),
        known=None if known is None else labels_in(known),
        rows=rows,
        remarks=remarks,
        unread=tuple(name for name in names if name not in {*scores.columns, identifier}),
        reading=reading,
    )


def _read(
    path: Path, files: list[Path], scores: ScoreColumns, columns: Columns, reading: Reading
) -> tuple[pa.Table, pa.Table, Mask | None, Places]:
    """Read the columns that were asked for; also scores as numbers, which lack, where rows stand.

    How the files were read is said on stderr.
    """
    wanted = list(dict.fromkeys([*scores.columns, *columns.by_option().values()]))
    # Where points separate thousands, what looks like a number is none.
    texts = [name for name in wanted if name not in scores.columns or reading.decimal == ","]
    lap = stopwatch()
    table, counts = read_columns(files, wanted, as_text=texts, reading=reading)
    listed_scores = ", ".join(scores.columns)
    _logger.info(
        "read %d rows of %s in %.2f s; scores: %s", table.num_rows, path, lap(), listed_scores
    )
    places, alone = Places(files, counts, reading), len(scores.columns) == 1
    found = scores.numbers(table, places, reading, alone=alone, doubt_ids=True)
    if found.commas and found.points:
        raise ValueError(
            f"{files[0]}: column {found.commas[0]!r} has decimal commas, column "
            f"{found.points[0]!r} has decimal points. Say which it is with --decimal."
        )
    numbers, gaps = scores.table(found.columns, places)
    say_how_read(places, commas=bool(found.commas), reading=reading)
    for place, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            # As CSV would have it, which has no categories.
            plain = column.cast(column.type.value_type)
            table = table.set_column(place, table.column_names[place], plain)
    return table, numbers, gaps, places


def say_how_read(places: Places, *, commas: bool, reading: Reading) -> None:
    """Say on stderr what of the files is not as usual, unless the user said it."""
    said: dict[str, list[str]] = {}
    for file in places.files:
        if kind_of(file) != "text":
            continue
        unusual = [*text_format(file, reading).unusual]
        if commas and reading.decimal is None:
            unusual.append("with decimal commas")
        if unusual:
            said.setdefault(", ".join(unusual), []).append(str(file))
    for how, files in said.items():
        say(f"Read {listed(files, most=3)} as {how}.")


def _gap_remarks(
    gaps: Mask, places: Places, ids: pa.ChunkedArray | None, reading: Reading
) -> dict[str, Any]:
    """Refuse rows without a score, or say what becomes of them."""
    count, rows = int(gaps.sum()), np.flatnonzero(gaps)
    where = places.first(rows, ids)
    what = f"{count:,} of {len(gaps):,} rows of {places.files[0]} have no score, first {where}"
    first = rows[:MOST_NAMED].tolist()
    named = first if ids is None else [ids[row].as_py() for row in first]
    return remark_on_gaps(what, count, named, reading)


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


def _column_of_all(
    table: pa.Table, name: str, places: Places, rows: IntArray | None
) -> pa.ChunkedArray:
    """Return a column that must have a value in every row."""
    column = without_gaps(table.column(name))
    if column.null_count:
        empty = np.flatnonzero(column.is_null().to_numpy())
        empty = empty if rows is None else rows[empty]
        raise ValueError(
            f"{places.files[0]}: column {name!r} is empty in {column.null_count:,} rows, first "
            f"{places.first(empty)}."
        )
    return column


def _column_without_nulls(table: pa.Table, name: str | None, empty: str) -> Any:
    """Return a column as it came, with a word for what is empty; None for no column."""
    if name is None:
        return None
    column = table.column(name)
    if column.null_count:
        column = column.cast(pa.string()).fill_null(empty)
    if empty and pa.types.is_string(column.type):
        column = pc.if_else(pc.equal(column, ""), empty, column)
    return column


def _labels_and_classes(labels: Any, names: list[str]) -> tuple[Any, list[Any] | None]:
    """Compare labels with column names as text, unless they are numbers on both sides."""
    if labels is None or not names:
        return labels, names or None
    whole = all(_WHOLE.fullmatch(name) for name in names)
    if whole and labels.dtype.kind == "f" and not (labels % 1).any():
        # As programs write whole numbers that had gaps among them: 1.0.
        labels = labels.astype(np.int64)
    if whole and labels.dtype.kind in "iu":
        return labels, [int(name) for name in names]
    if labels.dtype.kind == "b":
        # As the columns spell it: p_true or p_True.
        spelled = {name.lower(): name for name in names}
        return np.array([spelled.get(str(one).lower(), str(one)) for one in labels]), names
    return labels.astype(str), names
