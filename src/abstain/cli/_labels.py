"""Label columns: numbers where they are written as numbers, and text as it stands.

``001`` is no number to who wrote it, and ``true`` is a name where a score column is called so.
Which of two classes is the positive one is given, named by the score column, or asked for. Labels
that came later stand beside the scores, or in a file of their own, and are joined by id.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from abstain._inputs import IntArray, told_positive
from abstain.cli._header import MOST_NAMED, listed, quoted
from abstain.cli._reading import Columns, Reading
from abstain.cli._scores import GAPS, PREFIX
from abstain.cli._tables import check_columns, chunks_of, column_names, found_files, missing_column
from abstain.cli._terminal import in_a_line

if TYPE_CHECKING:
    from abstain import Policy
    from abstain.cli._predictions import Predictions

_EMPTY = [text for text in GAPS if text != "None"]
_NO_LABEL = {"", "na", "n/a", "nan", "null", "none", "<na>"}
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
        place = _column_of(given, labels)
        if place is not None:
            return Classes(None, labels[place])
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


def _proposed(labels: list[Any]) -> str:
    first, second = (quoted(str(label)) for label in labels)
    return f"Add --positive {first} or --positive {second}."


@dataclass(frozen=True, eq=False)
class TrueLabels:
    """Which rows have a label, and which.

    Attributes
    ----------
    labels : ndarray
        The labels of the rows that have one, as the classes are spelled.
    rows : ndarray of bool, shape (n,)
        Which rows have one.
    without_row : int
        How many labels of another file belong to none of the rows.
    """

    labels: NDArray[Any]
    rows: NDArray[np.bool_]
    without_row: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """How many rows there are, how many have a label, and how many labels have no row."""
        n, labelled = len(self.rows), int(self.rows.sum())
        return {
            "rows": n,
            "labelled": labelled,
            "without_label": n - labelled,
            "labels_without_row": self.without_row,
        }

    def spread(self) -> NDArray[Any]:
        """Return an entry for every row, None where it has no label."""
        entries = np.full(len(self.rows), None, dtype=object)
        entries[self.rows] = self.labels.tolist()
        return entries

    def line(self) -> str:
        """Return the counts as a line for people; nothing where every row has its label."""
        found = self.counts
        if not found["without_label"] and not self.without_row:
            return ""
        said = f"Judged {found['labelled']:,} of {found['rows']:,} rows"
        parts = []
        if found["without_label"]:
            many = found["without_label"] > 1
            parts.append(f"{found['without_label']:,} {'have' if many else 'has'} no label")
        if self.without_row:
            many = self.without_row > 1
            parts.append(
                f"{self.without_row:,} {'labels belong' if many else 'label belongs'} to no row"
            )
        return f"{said}: {', '.join(parts)}"


def true_labels(
    file: Path, columns: Columns, reading: Reading, rows: IntArray | None, rule: Policy
) -> TrueLabels:
    """Return the labels of rows, from their own table or joined from another file by id.

    Parameters
    ----------
    file : Path
        Where the rows came from.
    columns : Columns
        Those with the label, and with the row's name in both files; and the other file.
    reading : Reading
        What the user said about the files.
    rows : ndarray of int or None
        The positions of the rows, where those are not all.
    rule : Policy
        The rule, for its classes, and for the column that it had the labels from.
    """
    classes, labels = rule.classes.tolist(), columns.labels
    where, without_row = file if labels is None else labels, 0
    columns = columns.as_made(rule, column_names(found_files(where)[0], reading))
    label, identifier = str(columns.label), columns.identifier
    if labels is None or identifier is None:
        found = text_columns(file, {"--label": label}, reading, rows)[label]
    else:
        ids = text_columns(file, {"--id": identifier}, reading, rows)[identifier]
        _check_once(ids, identifier, file)
        _check_id(labels, identifier, reading)
        joined = text_columns(labels, {"--id": identifier, "--label": label}, reading)
        _check_once(joined[identifier], identifier, labels)
        known = dict(zip(joined[identifier], joined[label], strict=True))
        found = [known.get(one, "") for one in ids]
        present = {*ids}
        without_row = sum(
            one not in present and not _is_empty(text, classes) for one, text in known.items()
        )
    codes = _columns_of(found, classes, label, where)
    labelled = codes >= 0
    if not labelled.any():
        raise ValueError(
            f"No row of {file} has a label in {where}, column {label!r}."
            + ("" if labels is None else f" Are the ids in {identifier!r} the same in both files?")
        )
    return TrueLabels(np.asarray(classes)[codes[labelled]], labelled, without_row)


def opinions_in(
    file: Path,
    names: Sequence[str],
    option: str,
    reading: Reading,
    rows: IntArray | None,
    classes: Sequence[Any],
) -> dict[str, NDArray[Any]] | None:
    """Return what readers answered about some rows, None where nothing; None without readers."""
    found = {}
    for name in names:
        texts = text_columns(file, {option: name}, reading, rows)[name]
        codes = _columns_of(texts, classes, name, file, option)
        labels = np.array([*classes, None], dtype=object)
        found[name] = labels[codes]
    return found or None


def label_codes(column: pa.ChunkedArray, name: str, file: Path, rule: Policy) -> IntArray:
    """Return the column of each label of some rows, -1 where there is none."""
    found = column.cast(pa.string()).combine_chunks().dictionary_encode()
    texts = [str(text).strip() for text in found.dictionary.to_pylist()]
    codes: IntArray = _columns_of([*texts, ""], rule.classes.tolist(), name, file)
    rows = found.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    return np.asarray(codes[rows], dtype=np.intp)


def text_columns(
    path: Path, wanted: dict[str, str], reading: Reading, rows: IntArray | None = None
) -> dict[str, list[str]]:
    """Read columns as text, each named by the option that asks for it; empty where nothing is.

    ``rows`` are the positions of those that are wanted, where that is not all.
    """
    files = found_files(path)
    names = column_names(files[0], reading)
    for option, name in wanted.items():
        if name not in names:
            raise missing_column(files[0], name, option, reading)
    asked = [*dict.fromkeys(wanted.values())]
    check_columns(files, asked, reading)
    found = [table for file in files for table in chunks_of(file, asked, (), reading)]
    table = pa.concat_tables(found, promote_options="permissive")
    if rows is not None:
        table = table.take(rows)
    return {
        name: ["" if value is None else str(value).strip() for value in table[name].to_pylist()]
        for name in asked
    }


def _check_id(path: Path, identifier: str, reading: Reading) -> None:
    names = column_names(found_files(path)[0], reading)
    if identifier not in names:
        raise ValueError(
            f"{path} has no column {identifier!r} to join by: it must be called the same in both "
            f"files. Its columns: {', '.join(map(in_a_line, names))}. Rename one of them."
        )


def _check_once(ids: Iterable[str], name: str, path: Path) -> None:
    twice = [one for one, count in Counter(ids).items() if count > 1]
    if twice:
        more = len(twice) - MOST_NAMED
        listed = ", ".join(in_a_line(one) or "(empty)" for one in twice[:MOST_NAMED])
        raise ValueError(
            f"{path}: {len(twice):,} ids in column {name!r} come more than once: {listed}"
            f"{f', and {more:,} more' if more > 0 else ''}. Labels can be joined only where an id "
            f"is one row; keep one row of each, or name another column with --id."
        )


def _is_empty(text: str, classes: Sequence[Any]) -> bool:
    return text.lower() in _NO_LABEL and text not in {str(label) for label in classes}


def _columns_of(
    texts: Sequence[str], classes: Sequence[Any], label: str, path: Path, option: str = "--label"
) -> NDArray[np.intp]:
    """Return the column of each label, compared as text; -1 where there is none."""
    columns = {text: _column_of(text, classes) for text in {*texts}}
    unknown = [
        text for text, column in columns.items() if column is None and not _is_empty(text, classes)
    ]
    if unknown:
        count = sum(text in {*unknown} for text in texts)
        raise ValueError(
            f"{path}: {count:,} labels in column {label!r} are none of the rule's classes "
            f"({', '.join(in_a_line(one) for one in classes[:MOST_NAMED])}"
            f"{', ...' if len(classes) > MOST_NAMED else ''}), first "
            f"{quoted(sorted(unknown)[0])}. Name the right column with {option}, or leave unknown "
            f"labels empty."
        )
    return np.array([-1 if (k := columns[text]) is None else k for text in texts], dtype=np.intp)


def _column_of(text: str, classes: Sequence[Any]) -> int | None:
    for k, label in enumerate(classes):
        if str(label) == text or (isinstance(label, bool) and str(label).lower() == text.lower()):
            return k
    try:
        number = float(text)
    except ValueError:
        return None
    # Numbers with gaps among them may be written 1.0.
    for k, label in enumerate(classes):
        if isinstance(label, int | float) and float(label) == number:
            return k
    return None
