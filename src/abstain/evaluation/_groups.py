"""Groups of rows, by one column or by several, and where there are too few rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import Mask, group_codes
from abstain.exceptions import AssumptionWarning, warn_user

# Figures of fewer rows, or of fewer rows of a class, are guesses.
_FEW_ROWS = 30
_FEW_OF_A_CLASS = 5
_MOST_NAMED = 5
#: How many groups there may be; each is judged by itself, with an interval.
MOST_GROUPS = 5_000


def group_rows(groups: Any, n: int) -> list[tuple[Any, Mask]]:
    """Return the rows of each group; of several groupings the name comes before the label."""
    if groups is None:
        return []
    names = getattr(groups, "column_names", getattr(groups, "columns", None))
    if isinstance(groups, Mapping):
        names = [*groups]
    if names is None:
        return _rows_by_label(groups, n, "groups")
    given = [*names]
    if len({*map(str, given)}) != len(given):
        raise ValueError(
            f"`groups` must have different names; got {', '.join(map(repr, given))[:200]}."
        )
    return [
        ((str(name), label), rows)
        for name in given
        for label, rows in _rows_by_label(groups[name], n, f"groups[{name!r}]")
    ]


def _rows_by_label(groups: Any, n: int, name: str) -> list[tuple[Any, Mask]]:
    labels, codes = group_codes(groups, n_rows=n, name=name, most=MOST_GROUPS)
    return [(label, codes == number) for number, label in enumerate(labels)]


def sparse_parts(
    parts: list[tuple[Any, Mask]], codes: NDArray[np.intp], classes: NDArray[Any]
) -> tuple[str, ...]:
    """Say, and warn, of which parts there are too few rows, or too few of a class."""
    found = []
    for label, rows in parts:
        where = (
            "all rows" if label is None else f"{grouping(label) or 'group'} {label_text(label)}"
        )
        n = int(rows.sum())
        counts = np.bincount(codes[rows], minlength=len(classes))
        few = [f"{counts[k]} of {classes[k]}" for k in np.flatnonzero(counts < _FEW_OF_A_CLASS)]
        if len(classes) > 2 and len(few) > 1:
            few = [f"fewer than {_FEW_OF_A_CLASS} of {len(few)} of {len(classes)} classes"]
        if n < _FEW_ROWS or few:
            found.append(f"{where} ({', '.join([f'{n:,} rows', *few])})")
    if found:
        more = len(found) - _MOST_NAMED
        rest = f", and {more} more" if more > 0 else ""
        warn_user(
            f"Too few rows to say much: {', '.join(found[:_MOST_NAMED])}{rest}. Read the "
            f"intervals, or label more rows.",
            AssumptionWarning,
        )
    return tuple(found)


def grouping(label: Any) -> str:
    """Return the name of the grouping that a key of groups belongs to; nothing for the one."""
    return label[0] if isinstance(label, tuple) else ""


def label_of(label: Any) -> Any:
    """Return the label of a key of groups."""
    return label[1] if isinstance(label, tuple) else label


def label_text(label: Any) -> str:
    """Return the label of a key of groups as text."""
    return str(label_of(label))
