"""Labels at the door: every one kept apart from every other, and none made out of nothing.

A label is text, a whole number, a fraction or a boolean. What NumPy makes of a list is not taken
for granted: it would make text of 1 beside "a", one number of 2**53 beside 2**53 + 1, and a class
of a gap.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs._checks import IntArray, Mask, check_finite, count_and_first
from abstain._inputs._frames import as_array, in_full, is_empty
from abstain.exceptions import ArgumentError, Way

# Whole numbers up to here are the same as fractions.
_EXACT = 2**53
# Text of this length or more is kept apart from the array: it would be as wide in every row.
_WIDE = 256
_TEXT = frozenset({str})
_NUMBERS = frozenset({int, float})
# A whole number as it is written, so that no two of them are the same.
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
# What arrays drop from the end of text, and what UTF-8 does not have.
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")
_KINDS = "text, whole numbers, fractions or booleans"


def label_array(labels: Any, name: str) -> NDArray[Any]:
    """Return labels in one dimension, all of them there, as they are told apart by.

    Text stays text, whole numbers whole numbers (also where they came as 0.0 and 1.0), and
    labels of several types come as objects.
    """
    array = raw_labels(labels, name)
    gaps = gaps_in(array)
    if gaps is not None:
        first = array[np.argmax(gaps)]
        raise ArgumentError(
            f"`{name}` has no label (None, NaN, NaT, NA, masked or empty text) in "
            f"{count_and_first(gaps)} ({first!r}). Label or drop these rows.",
            name,
        )
    if array.dtype.kind == "O":
        array = _of_objects(array, name)
    if array.dtype.kind == "f":
        array = _of_fractions(array, name)
    return array


def raw_labels(labels: Any, name: str) -> NDArray[Any]:
    """Return labels as an array of one dimension in which none has become another.

    Gaps are still in it; masked ones are None.
    """
    given = in_full(as_array(labels))
    if isinstance(given, list | tuple):
        given = _of_list(given)
    masked = np.ma.getmaskarray(given) if np.ma.isMaskedArray(given) else None
    array = np.asarray(given)
    if array.ndim != 1:
        raise ArgumentError(f"`{name}` must be one-dimensional; got shape {array.shape}.", name)
    if array.dtype.kind in "cmMSV":
        kind = "bytes" if array.dtype.kind == "S" else str(array.dtype)
        more = "; decode them first" if kind == "bytes" else ""
        raise TypeError(f"`{name}` must be {_KINDS}; got {kind}{more}.")
    if array.dtype.kind == "T" or (masked is not None and masked.any()):
        array = array.astype(object)
    if masked is not None and masked.any():
        array[masked] = None
    return array


def gaps_in(array: NDArray[Any]) -> Mask | None:
    """Return where labels stand for nothing; None for nowhere."""
    kind = array.dtype.kind
    gaps: Mask
    if kind == "O":
        gaps = np.fromiter(
            (is_empty(one) or (isinstance(one, str) and one == "") for one in array.tolist()),
            dtype=np.bool_,
            count=len(array),
        )
    elif kind == "U":
        gaps = array == ""
    elif kind == "f":
        gaps = np.isnan(array)
    else:
        return None
    return gaps if gaps.any() else None


def _of_list(labels: list[Any] | tuple[Any, ...]) -> NDArray[Any]:
    """Return a list as objects where an array would not keep its labels apart."""
    types = {*map(type, labels)}
    if types == _TEXT:
        if max(map(len, labels)) < _WIDE and not any(one.endswith("\0") for one in {*labels}):
            return np.array(labels)
    elif len(types) == 1 and types <= {int, float, bool, np.bool_, np.int64, np.float64}:
        found = np.array(labels)
        # Whole numbers of 64 bits, with a sign and without, would become fractions.
        if found.dtype.kind != "f" or types != {int}:
            return found
    array = np.empty(len(labels), dtype=object)
    for row, label in enumerate(labels):
        array[row] = label
    return array


def _of_objects(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return objects as what they are: of one type where they are, else in Python's own."""
    values = array.tolist()
    if {*map(type, values)} != _TEXT:
        values = [_plain(label, name, row) for row, label in enumerate(values)]
    types = {*map(type, values)}
    if bool in types and types & _NUMBERS:
        raise TypeError(
            f"`{name}` must not have both booleans and numbers, as True is 1 and False is 0; "
            f"use one kind of label."
        )
    if types <= {bool} or types <= _NUMBERS:
        found = np.array(values)
        # As numbers of one width, unless that would make one of two.
        if found.dtype.kind != "f" or found.tolist() == values:
            return found
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _plain(label: Any, name: str, row: int) -> Any:
    """Return a label as Python's own text or number."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return int(value)
    if isinstance(value, float) and np.isfinite(value):
        return float(value)
    raise TypeError(
        f"`{name}` must be {_KINDS}; row {row} is {str(label)[:50]!r}, a {type(label).__name__}."
    )


def _of_fractions(array: NDArray[Any], name: str) -> NDArray[Any]:
    check_finite(array, name)
    if array.dtype.itemsize > 8:
        wide, array = array, array.astype(np.float64)
        if (array != wide).any():
            raise ArgumentError(
                f"`{name}` has labels that need more digits than 64 bits have.", name
            )
    if len(array) and (array == np.floor(array)).all() and np.abs(array).max() < _EXACT:
        # Labels read from a file with a gap come as 0.0 and 1.0.
        return array.astype(np.int64)
    return array


def check_classes(
    labels: NDArray[Any],
    n_columns: int,
    classes: Sequence[Any] | NDArray[Any] | None,
    name: str,
    of_one_column: str | None = None,
) -> NDArray[Any]:
    """Return the class label of each score column, by labels that were read by ``label_array``.

    Given ``classes`` are taken as they are. Otherwise the sorted distinct labels are, if there
    is one for each column, or ``0 .. n_columns - 1`` if the labels are such numbers. Where the
    scores came in one dimension, as the argument ``of_one_column``, the labels must say which of
    them is positive.
    """
    if classes is not None:
        return column_labels(classes, n_columns)
    distinct = _sorted_distinct(labels)
    _check_names(distinct, name)
    if len(distinct) == 1:
        raise ArgumentError(
            f"`{name}` must have at least two classes; all {len(labels)} labels are "
            f"{listed(distinct)}. Add examples of the others.",
            name,
        )
    if len(distinct) == n_columns:
        if of_one_column is not None and told_positive(distinct) is None:
            first, second = (repr(label) for label in distinct.tolist())
            ordered = (
                f"classes=[{first}, {second}], the positive class last, or "
                f"classes=[{second}, {first}]"
            )
            raise ArgumentError(
                f"`{of_one_column}` has one dimension: it is of the positive class, and nothing "
                f"says which of {first} and {second} that is. Pass {ordered}.",
                of_one_column,
                ways=[Way("classes", python=f"pass {ordered}")],
            )
        return distinct
    if labels.dtype.kind in "iub" and distinct.min() >= 0 and distinct.max() < n_columns:
        return np.arange(n_columns)
    way = Way("classes", python="pass classes=[...] with the label of each column, in order")
    raise ArgumentError(
        f"The scores have {n_columns} columns but `{name}` has {len(distinct)} distinct labels "
        f"({listed(distinct)}). Pass{str(way)[4:]}.",
        name,
        ways=[way],
    )


def column_labels(classes: Sequence[Any] | NDArray[Any] | None, n_columns: int) -> NDArray[Any]:
    """Return the label of each column as it is given, or its number."""
    if classes is None:
        return np.arange(n_columns)
    given = label_array(classes, "classes")
    if len(set(given.tolist())) != len(given):
        raise ArgumentError(f"`classes` must be distinct; got {listed(given)}.", "classes")
    _check_names(given, "classes")
    if len(given) != n_columns:
        raise ArgumentError(
            f"`classes` must name each of the {n_columns} score columns; got {len(given)}.",
            "classes",
        )
    return given


def told_positive(classes: NDArray[Any]) -> Any:
    """Return the label of two that is positive by itself; None where neither is.

    As scikit-learn's ``pos_label`` has it: 1 beside 0 or -1, and true beside false.
    """
    labels = classes.tolist()
    if len(labels) != 2 or any(isinstance(label, str) for label in labels):
        return None
    return max(labels) if {*labels} in ({0, 1}, {-1, 1}) else None


def check_labels(
    y: ArrayLike,
    *,
    classes: Sequence[Any] | NDArray[Any] | None = None,
    n_classes: int | None = None,
    n_rows: int | None = None,
    name: str = "y",
) -> IntArray:
    """Return labels as column numbers.

    ``classes`` gives the label of each column; without it the labels must be the column
    numbers ``0 .. n_classes - 1`` themselves.
    """
    labels = label_array(y, name)
    if classes is None:
        if n_classes is None:
            raise TypeError("check_labels() needs `classes` or `n_classes`.")
        classes = np.arange(n_classes)
    return codes_of(labels, label_array(classes, "classes"), n_rows, name)


def codes_of(
    labels: NDArray[Any], classes: NDArray[Any], n_rows: int | None, name: str
) -> IntArray:
    """Return labels that were read already as column numbers."""
    if n_rows is not None and len(labels) != n_rows:
        raise ArgumentError(
            f"`{name}` must have one label per row; {n_rows} rows, {len(labels)} labels.", name
        )
    codes = _codes(labels, classes)
    unknown = codes < 0
    if unknown.any():
        first = int(np.argmax(unknown))
        raise ArgumentError(
            f"`{name}` has labels that no score column stands for: "
            f"{listed(_sorted_distinct(labels[unknown]))}, first at row {first}. "
            f"The columns are for {listed(classes)}; pass classes=[...] if that is wrong"
            f"{', the positive class last' if len(classes) == 2 else ''}.",
            name,
            ways=[Way("classes", python="pass classes=[...]")],
        )
    return codes


def distinct_labels(labels: Any, name: str) -> NDArray[Any]:
    """Return the sorted distinct labels."""
    return _sorted_distinct(label_array(labels, name))


def _sorted_distinct(labels: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.unique(labels)
    except TypeError:
        # Labels of mixed types have no order of their own; any fixed one will do.
        distinct = sorted(
            set(labels.tolist()), key=lambda label: (type(label).__name__, str(label))
        )
        result = np.empty(len(distinct), dtype=object)
        result[:] = distinct
        return result


def _codes(labels: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    """Position of each label among the classes, -1 where it is not there."""
    position = {label: column for column, label in enumerate(classes.tolist())}
    if labels.dtype.kind in "iub" and classes.dtype.kind in "iub":
        distinct, inverse = np.unique(labels, return_inverse=True)
        found = np.array([position.get(label, -1) for label in distinct.tolist()], dtype=np.intp)
        return found[inverse]
    return np.array([position.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def listed(values: NDArray[Any], most: int = 6) -> str:
    """Return some labels, as Python writes them; long ones are cut."""
    shown = ", ".join(_cut(repr(value)) for value in values[:most].tolist())
    return shown + (", ..." if len(values) > most else "")


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def _check_names(classes: NDArray[Any], name: str) -> None:
    """Raise for classes that columns, files and pages could not name, or tell apart by it."""
    if classes.dtype.kind not in "UO":
        return
    first: dict[str, Any] = {}
    for label in classes.tolist():
        if isinstance(label, str) and _UNWRITABLE.search(label):
            raise ArgumentError(
                f"`{name}` must be text that can be written; {_cut(repr(label))} has the "
                f"character NUL or half a character (a surrogate) in it.",
                name,
            )
        other = first.setdefault(str(label), label)
        if other is not label:
            raise ArgumentError(
                f"`{name}` must not have labels that read the same; got {other!r}, of type "
                f"{type(other).__name__}, and {label!r}, of type {type(label).__name__}.",
                name,
            )


def classes_by_name(names: list[str] | None, labels: NDArray[Any]) -> list[Any] | None:
    """Return the label that each score column is named by; None when names are no labels."""
    if names is None:
        return None
    by_name = {str(label): label for label in dict.fromkeys(labels.tolist())}
    if not set(by_name) <= set(names):
        return None
    whole = all(type(label) is int for label in by_name.values())
    if whole and all(_WHOLE.fullmatch(name) for name in names):
        return [int(name) for name in names]
    return [by_name.get(name, name) for name in names]
