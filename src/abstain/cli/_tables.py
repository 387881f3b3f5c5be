"""Reading tables of predictions (CSV, gzipped CSV, Parquet) and writing decisions.

Columns are found by the names the user gives. Nothing is guessed: a name that is not there is
an error that lists what is.
"""

import fnmatch
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

from abstain._files import replacing
from abstain._validation import FloatArray
from abstain.decisions import Decisions

__all__ = ["Predictions", "read_predictions", "scores_for", "write_columns", "write_decisions"]


@dataclass(frozen=True, eq=False)
class Predictions:
    """Scores read from a table, with what else was asked for.

    Attributes
    ----------
    scores : ndarray of shape (n,) or (n, n_classes)
        One dimension when a single column matched: the score of the positive class.
    classes : list of str or None
        The class names, from what ``*`` stands for in the matched columns.
    labels, ids : ndarray or None
        The label and the id columns.
    """

    scores: FloatArray
    classes: list[str] | None
    labels: NDArray[Any] | None
    ids: NDArray[Any] | None


def read_predictions(
    path: Path, *, scores: str, label: str | None = None, identifier: str | None = None
) -> Predictions:
    """Read predictions from a CSV or Parquet file.

    Parameters
    ----------
    path : Path
        A ``.csv``, ``.csv.gz`` or ``.parquet`` file.
    scores : str
        A column name, or a pattern with ``*`` that matches one column per class.
    label, identifier : str, optional
        The columns with the true label and with the row's name.
    """
    table = _read(path, as_text=identifier)
    columns = fnmatch.filter(table.column_names, scores)
    if not columns:
        raise ValueError(
            f"{path} has no score column {scores!r}. Its columns: "
            f"{', '.join(table.column_names)}. Name them with --scores, e.g. --scores 'p_*'."
        )
    matrix = np.column_stack([_numbers(table, column, path) for column in columns])
    return Predictions(
        scores=matrix[:, 0] if len(columns) == 1 else matrix,
        classes=_class_names(columns, scores) if len(columns) > 1 else None,
        labels=None if label is None else _column(table, label, path, "--label"),
        ids=None if identifier is None else _column(table, identifier, path, "--id"),
    )


def scores_for(rows: Predictions, classes: NDArray[Any], path: Path) -> FloatArray:
    """Return the scores with their columns in the order of a policy's classes."""
    names = [str(label) for label in classes.tolist()]
    if rows.classes is None or rows.classes == names:
        return rows.scores
    if sorted(rows.classes) != sorted(names):
        raise ValueError(
            f"{path} has score columns for {', '.join(rows.classes)}; the policy is for "
            f"{', '.join(names)}. Name the columns with --scores."
        )
    return rows.scores[:, [rows.classes.index(name) for name in names]]


def write_decisions(
    path: Path, decisions: Decisions, ids: NDArray[Any] | None, id_name: str
) -> None:
    """Write one row per decision, whole or not at all."""
    columns: dict[str, Any] = {id_name: np.arange(len(decisions)) if ids is None else ids}
    columns["abstain"] = decisions.abstain
    columns["prediction"] = decisions.prediction
    for name, values in zip(decisions.classes.tolist(), decisions.proba.T, strict=True):
        columns[f"p_{name}"] = values
    write_columns(path, columns)


def write_columns(path: Path, columns: dict[str, Any]) -> None:
    """Write named columns as CSV, or Parquet by the file's ending, whole or not at all."""
    table = pa.table(columns)
    with replacing(path) as temporary:
        if path.suffix == ".parquet":
            parquet.write_table(table, temporary)
        else:
            csv.write_csv(table, temporary)


def _read(path: Path, *, as_text: str | None) -> pa.Table:
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        if path.suffix == ".parquet":
            table = parquet.read_table(path)
        else:
            # An id like 00123 is a name, not a number.
            types = {} if as_text is None else {as_text: pa.string()}
            options = csv.ConvertOptions(column_types=types)
            table = csv.read_csv(path, convert_options=options)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} cannot be read as a table: {error}") from error
    if table.num_rows == 0:
        raise ValueError(f"{path} has no rows.")
    return table


def _column(table: pa.Table, name: str, path: Path, option: str) -> NDArray[Any]:
    if name not in table.column_names:
        raise ValueError(
            f"{path} has no column {name!r}. Its columns: {', '.join(table.column_names)}. "
            f"Name the right one with {option}."
        )
    column = table.column(name)
    if column.null_count:
        raise ValueError(f"{path}: column {name!r} is empty in {column.null_count} rows.")
    values: NDArray[Any] = column.to_numpy()
    return values.astype(str) if values.dtype == object else values


def _numbers(table: pa.Table, name: str, path: Path) -> FloatArray:
    values = _column(table, name, path, "--scores")
    try:
        return values.astype(np.float64)
    except ValueError as error:
        raise ValueError(f"{path}: column {name!r} must be numbers; {error}.") from error


def _class_names(columns: list[str], pattern: str) -> list[str]:
    """Return what ``*`` stands for in each column name, or the whole names."""
    before, star, after = pattern.partition("*")
    if not star or "*" in after:
        return columns
    return [column[len(before) : len(column) - len(after)] for column in columns]
