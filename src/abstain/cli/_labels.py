"""Label columns: numbers where they are written as numbers, and text as it stands.

``001`` is no number to who wrote it, and ``true`` is a name where a score column is called so.
Which of two classes is the positive one is given, named by the score column, or asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from abstain._inputs import told_positive
from abstain.cli._header import listed, quoted
from abstain.cli._scores import GAPS, PREFIX
from abstain.cli._terminal import in_a_line

if TYPE_CHECKING:
    from abstain.cli._predictions import Predictions

_EMPTY = [text for text in GAPS if text != "None"]
_WHOLE = r"^(0|-?[1-9]\d{0,17})$"
_WHOLE_NAME = re.compile("0|-?[1-9][0-9]*")
# Whole numbers that are no number of the machine: names, to the last digit.
_LONG = r"^-?[1-9]\d{18,}$"
_NUMBER = r"^-?(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d+)?$"


def without_gaps(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with nulls where there is nothing, and no spaces around its texts."""
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return column
    texts = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.is_in(texts, pa.array(_EMPTY)), pa.scalar(None, texts.type), texts)


def as_labels(column: pa.ChunkedArray, *, from_text: bool, names: Sequence[str]) -> NDArray[Any]:
    """Return labels as an array; with gaps, as one of objects with None in them.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        As ``without_gaps`` gives it.
    from_text : bool
        Whether the column was read as text, so that it may hold numbers.
    names : sequence of str
        What labels are to be compared with: the names of several score columns, if there are.
    """
    kind = None
    if from_text:
        distinct = column.unique().drop_null()
        # As names they are compared as text: p_1e5 is the column of 1e5.
        called = set(distinct.to_pylist()) <= set(names)
        if pc.all(pc.match_substring_regex(distinct, _WHOLE)).as_py():
            kind = pa.int64()
        elif pc.any(pc.match_substring_regex(distinct, _LONG)).as_py():
            kind = None
        elif not called and pc.all(pc.match_substring_regex(distinct, _NUMBER)).as_py():
            kind = pa.float64()
        elif not names and not {*pc.utf8_lower(distinct).to_pylist()} - {"true", "false"}:
            column, kind = pc.utf8_lower(column), pa.bool_()
    if kind is not None:
        column = column.cast(kind)
    if not column.null_count:
        return as_text(column.to_numpy())
    labels = np.empty(len(column), dtype=object)
    labels[:] = column.to_pylist()
    return labels


def as_text(values: NDArray[Any]) -> NDArray[Any]:
    """Return objects as text, and what has a type as it is."""
    return values.astype(str) if values.dtype == object else values


def labels_and_classes(labels: Any, names: list[str]) -> tuple[Any, list[Any] | None]:
    """Compare labels with column names as text, unless they are numbers on both sides."""
    if labels is None or not names:
        return labels, names or None
    whole = all(_WHOLE_NAME.fullmatch(name) for name in names)
    exact = labels.dtype.kind == "f" and bool((np.abs(labels) < 2.0**53).all())
    if whole and exact and not (labels % 1).any():
        # As programs write whole numbers that had gaps among them: 1.0.
        labels = labels.astype(np.int64)
    if whole and labels.dtype.kind in "iu":
        return labels, [int(name) for name in names]
    if labels.dtype.kind == "b":
        # As the columns spell it: p_true or p_True.
        spelled = {name.lower(): name for name in names}
        return np.array([spelled.get(str(one).lower(), str(one)) for one in labels]), names
    return labels.astype(str), names


@dataclass(frozen=True)
class Classes:
    """What is known of the classes of labelled predictions.

    Attributes
    ----------
    columns : list or None
        The label of each score column, to be given to ``fit``; None where the labels and the
        names of the columns tell.
    positive : object or None
        The label of the positive class of two, where that is known.
    """

    columns: list[Any] | None
    positive: Any


def classes_of(source: Predictions, given: str | None, *, needing: Iterable[str] = ()) -> Classes:
    """Return which class is positive, or raise where it is needed and nothing tells.

    Parameters
    ----------
    source : Predictions
        Read with their labels.
    given : str or None
        What ``--positive`` says; compared as text.
    needing : iterable of str
        What was asked for that depends on the positive class, as it was typed.
    """
    labels = np.unique(source.labels).tolist() if source.classes is None else source.classes
    if len(labels) != 2:
        if given is not None:
            raise ValueError(
                f"--positive is for two classes; {source.files[0]} has {len(labels)}. Leave it "
                f"out; metrics of many classes take an average, such as f1:macro."
            )
        return Classes(source.classes, None)
    if given is not None:
        for label in labels:
            if str(label) == given or _same_number(label, given):
                return Classes(None, label)
        raise ValueError(
            f"--positive {quoted(given)} is none of the labels of {source.files[0]}: "
            f"{listed(labels)}. {_proposed(labels)}"
        )
    names = source.scores.column_names
    named = " and ".join(in_a_line(label) for label in labels)
    if len(names) == 1:
        for label in labels:
            if names[0].removeprefix(PREFIX) == str(label):
                return Classes(None, label)
    told = told_positive(np.asarray(labels))
    if told is not None:
        return Classes(None, told)
    if len(names) == 1:
        raise ValueError(
            f"{source.files[0]} has the labels {named} and one score column, "
            f"{in_a_line(names[0])}: nothing says of which of the two it is the score. "
            f"{_proposed(labels)}"
        )
    for what in needing:
        raise ValueError(
            f"{what} is of the positive class, and nothing says which of {named} that "
            f"is. {_proposed(labels)}"
        )
    return Classes(None, None)


def _same_number(label: Any, given: str) -> bool:
    """Tell whether a label that is a number or a truth is the one that was typed: 1.0 is 1."""
    if isinstance(label, bool):
        return str(label).lower() == given.lower()
    try:
        return not isinstance(label, str) and float(label) == float(given)
    except ValueError:
        return False


def _proposed(labels: list[Any]) -> str:
    first, second = (quoted(str(label)) for label in labels)
    return f"Add --positive {first} or --positive {second}."
