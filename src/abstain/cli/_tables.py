"""Reading predictions (CSV, gzipped CSV, Parquet) as Arrow tables, and writing decisions.

Columns are found by the names the user gives. Nothing is guessed: a name that is not there is
an error that proposes what it may be.
"""

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

from abstain._files import replacing
from abstain._inputs import FloatArray, read_scores
from abstain.cli._columns import column_names, found_files, missing_column, read_columns
from abstain.decisions import Decisions

__all__ = ["Predictions", "read_predictions", "write_columns", "write_decisions"]

PREFIX = "p_"


@dataclass(frozen=True, eq=False)
class Predictions:
    """Scores read from a table, with what else was asked for.

    Attributes
    ----------
    scores : pyarrow.Table
        A column per class, named by it; or one column, the score of the positive class.
    classes : list or None
        The classes, from what ``*`` stands for in the matched columns; numbers where the labels
        are numbers too. None for one column.
    labels, groups, predictions : ndarray or None
        The label, the group and the prediction columns.
    ids : pyarrow.ChunkedArray or None
        The id column as it came.
    id_name, group_name : str
        What these columns are called.
    files : tuple of Path
        The files they came from.
    """

    scores: pa.Table
    classes: list[Any] | None
    labels: Any
    ids: pa.ChunkedArray | None
    groups: NDArray[Any] | None
    predictions: NDArray[Any] | None
    id_name: str
    group_name: str
    files: tuple[Path, ...]

    def scores_for(self, classes: Iterable[Any]) -> pa.Table:
        """Return the scores with their columns in the order of the classes that were fitted."""
        if self.classes is None:
            return self.scores
        own, fitted = ([str(label) for label in labels] for labels in (self.classes, classes))
        if sorted(own) != sorted(fitted):
            raise ValueError(
                f"{self.files[0]} has score columns for {', '.join(own)}; the fitted ones are "
                f"for {', '.join(fitted)}. Name the columns with --scores."
            )
        return self.scores.select([f"{PREFIX}{name}" for name in fitted])

    def array_for(self, classes: Iterable[Any]) -> FloatArray:
        """Return the same as an array."""
        values: FloatArray = read_scores(self.scores_for(classes)).values
        return values


def read_predictions(
    path: Path,
    *,
    scores: str,
    label: str | None = None,
    identifier: str | None = None,
    group: str | None = None,
    prediction: str | None = None,
) -> Predictions:
    """Read predictions from a CSV or Parquet file, or from many.

    Parameters
    ----------
    path : Path
        A ``.csv``, ``.csv.gz`` or ``.parquet`` file, or a pattern such as ``site-*.csv``.
    scores : str
        A column name, or a pattern with ``*`` that matches one column per class.
    label, identifier, group, prediction : str, optional
        The columns with the true label, with the row's name, with its group and with the
        predicted label.
    """
    files = found_files(path)
    names = column_names(files[0])
    columns = fnmatch.filter(names, scores)
    if not columns:
        raise missing_column(files[0], scores, "--scores")
    others = {
        "--label": label,
        "--id": identifier,
        "--group": group,
        "--prediction": prediction,
    }
    for option, name in others.items():
        if name is not None and name not in names:
            raise missing_column(files[0], name, option)
    asked = [name for name in others.values() if name is not None]
    texts = [name for name in (identifier, group) if name is not None]
    table = read_columns(files, list(dict.fromkeys([*columns, *asked])), as_text=texts)
    numbers = [_numbers(table, column, path) for column in columns]
    # A single column keeps its name: it may be that of the score, or of the positive class.
    names = [] if len(columns) == 1 else _class_names(columns, scores)
    labels, classes = _named(_array(table, label, path), names)
    return Predictions(
        scores=pa.table(numbers, names=[f"{PREFIX}{name}" for name in names] or columns),
        classes=classes,
        labels=labels,
        ids=None if identifier is None else _column(table, identifier, path),
        groups=_array(table, group, path),
        predictions=_array(table, prediction, path),
        id_name=identifier or "row",
        group_name=group or "group",
        files=tuple(files),
    )


def write_decisions(
    path: Path, decisions: Decisions[Any], ids: pa.ChunkedArray | None, id_name: str
) -> None:
    """Write one row per decision, whole or not at all: its name, then what the library says."""
    names = pa.array(np.arange(len(decisions))) if ids is None else ids
    _write(path, decisions.to_frame().add_column(0, id_name, names))


def write_columns(path: Path, columns: Mapping[str, Any]) -> None:
    """Write named columns, whole or not at all."""
    _write(path, pa.table(dict(columns)))


def _write(path: Path, table: pa.Table) -> None:
    """Write a table as CSV, or Parquet by the file's ending."""
    with replacing(path) as temporary:
        if path.suffix == ".parquet":
            parquet.write_table(table, temporary)
        else:
            csv.write_csv(table, temporary)


def _named(labels: Any, names: list[str]) -> tuple[Any, list[Any] | None]:
    """Compare labels with column names as text, unless they are numbers on both sides."""
    if labels is None or not names:
        return labels, names or None
    if labels.dtype.kind in "iu" and all(name.lstrip("-").isdigit() for name in names):
        return labels, [int(name) for name in names]
    return labels.astype(str), names


def _column(table: pa.Table, name: str, path: Path) -> pa.ChunkedArray:
    column = table.column(name)
    if column.null_count:
        raise ValueError(f"{path}: column {name!r} is empty in {column.null_count} rows.")
    # CSV has no categories.
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _array(table: pa.Table, name: str | None, path: Path) -> NDArray[Any] | None:
    if name is None:
        return None
    values: NDArray[Any] = _column(table, name, path).to_numpy()
    return values.astype(str) if values.dtype == object else values


def _numbers(table: pa.Table, name: str, path: Path) -> pa.ChunkedArray:
    column = _column(table, name, path)
    if pa.types.is_floating(column.type):
        return column
    try:
        return column.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"{path}: column {name!r} must be numbers; {error}.") from error


def _class_names(columns: list[str], pattern: str) -> list[str]:
    """Return what ``*`` stands for in each column name, or the whole names."""
    before, star, after = pattern.partition("*")
    if not star or "*" in after:
        return columns
    return [column[len(before) : len(column) - len(after)] for column in columns]
