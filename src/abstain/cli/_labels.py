"""Label columns: numbers where they are written as numbers, and text as it stands.

``001`` is no number to who wrote it, and ``true`` is a name where a score column is called so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from abstain.cli._scores import GAPS

_EMPTY = [text for text in GAPS if text != "None"]
_WHOLE = r"^(0|-?[1-9]\d{0,17})$"
_NUMBER = r"^-?(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d+)?$"


def without_gaps(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with nulls where there is nothing, and no spaces around its texts."""
    column = without_categories(column)
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return column
    texts = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.is_in(texts, pa.array(_EMPTY)), pa.scalar(None, texts.type), texts)


def without_categories(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as CSV would have it, which has no categories."""
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


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
    values = column.to_pylist() if column.null_count else column.to_numpy()
    if not from_text:
        return _objects(values) if column.null_count else as_text(values)
    distinct = column.unique().drop_null()
    if pc.all(pc.match_substring_regex(distinct, _WHOLE)).as_py():
        return _converted(column, pa.int64())
    # As names they are compared as text: p_1e5 is the column of 1e5.
    called = set(distinct.to_pylist()) <= set(names)
    if not called and pc.all(pc.match_substring_regex(distinct, _NUMBER)).as_py():
        return _converted(column, pa.float64())
    truths = pc.is_in(pc.utf8_lower(distinct), pa.array(["true", "false"]))
    if not names and pc.all(truths).as_py():
        return _converted(pc.utf8_lower(column), pa.bool_())
    return _objects(values) if column.null_count else as_text(values)


def _converted(column: pa.ChunkedArray, kind: Any) -> NDArray[Any]:
    typed = column.cast(kind)
    if typed.null_count:
        return _objects(typed.to_pylist())
    values: NDArray[Any] = typed.to_numpy()
    return values


def as_text(values: NDArray[Any]) -> NDArray[Any]:
    """Return objects as text, and what has a type as it is."""
    return values.astype(str) if values.dtype == object else values


def _objects(values: list[Any]) -> NDArray[Any]:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
