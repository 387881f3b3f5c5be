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
