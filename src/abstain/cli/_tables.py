"""Reading tables of predictions (CSV, gzipped CSV, Parquet) and writing decisions.

Columns are found by the names the user gives. Nothing is guessed: a name that is not there is
an error that proposes what it may be.
"""

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

from abstain._files import replacing
from abstain._inputs import FloatArray
from abstain.cli._columns import column_names, found_files, missing_column, read_columns
from abstain.decisions import Decisions

__all__ = [
    "Predictions",
    "named_classes",
    "read_predictions",
    "scores_for",
    "write_columns",
    "write_decisions",
]


@dataclass(frozen=True, eq=False)
class Predictions:
    """Scores read from a table, with what else was asked for.

    Attributes
    ----------
    scores : ndarray of shape (n,) or (n, n_classes)
        One dimension when a single column matched: the score of the positive class.
    classes : list of str or None
        The class names, from what ``*`` stands for in the matched columns.
    labels, ids, groups : ndarray or None
        The label, the id and the group columns.
    files : tuple of Path
        The files they came from.
    """

    scores: FloatArray
    classes: list[str] | None
    labels: NDArray[Any] | None
    ids: NDArray[Any] | None
    groups: NDArray[Any] | None = None
    files: tuple[Path, ...] = ()


def read_predictions(
    path: Path,
    *,
    scores: str,
    label: str | None = None,
    identifier: str | None = None,
    group: str | None = None,
) -> Predictions:
    """Read predictions from a CSV or Parquet file, or from many.

    Parameters
    ----------
    path : Path
        A ``.csv``, ``.csv.gz`` or ``.parquet`` file, or a pattern such as ``site-*.csv``.
    scores : str
        A column name, or a pattern with ``*`` that matches one column per class.
    label, identifier, group : str, optional
        The columns with the true label, with the row's name and with its group.
    """
    files = found_files(path)
    names = column_names(files[0])
    columns = fnmatch.filter(names, scores)
    if not columns:
        raise missing_column(files[0], scores, "--scores")
    others = {"--label": label, "--id": identifier, "--group": group}
    for option, name in others.items():
        if name is not None and name not in names:
            raise missing_column(files[0], name, option)
    asked = [name for name in others.values() if name is not None]
    texts = [name for name in (identifier, group) if name is not None]
    table = read_columns(files, list(dict.fromkeys([*columns, *asked])), as_text=texts)
    matrix = np.column_stack([_numbers(table, column, path) for column in columns])
    label_values, ids, groups = (
        None if name is None else _column(table, name, path) for name in others.values()
    )
    return Predictions(
        scores=matrix[:, 0] if len(columns) == 1 else matrix,
        classes=_class_names(columns, scores) if len(columns) > 1 else None,
        labels=label_values,
        ids=ids,
        groups=groups,
        files=tuple(files),
    )


def named_classes(labels: Any, names: list[str] | None) -> tuple[Any, Any]:
    """Compare labels with column names as text, unless they are numbers on both sides."""
    if names is None:
        return labels, None
    if labels.dtype.kind in "iu" and all(name.lstrip("-").isdigit() for name in names):
        return labels, [int(name) for name in names]
    return labels.astype(str), names


def scores_for(rows: Predictions, classes: Iterable[Any], path: Path) -> FloatArray:
    """Return the scores with their columns in the order of the classes that were fitted."""
    names = [str(label) for label in classes]
    if rows.classes is None or rows.classes == names:
        return rows.scores
    if sorted(rows.classes) != sorted(names):
        raise ValueError(
            f"{path} has score columns for {', '.join(rows.classes)}; the fitted ones are for "
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


def _column(table: pa.Table, name: str, path: Path) -> NDArray[Any]:
    column = table.column(name)
    if column.null_count:
        raise ValueError(f"{path}: column {name!r} is empty in {column.null_count} rows.")
    values: NDArray[Any] = column.to_numpy()
    return values.astype(str) if values.dtype == object else values


def _numbers(table: pa.Table, name: str, path: Path) -> FloatArray:
    values = _column(table, name, path)
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
