"""The table of class proportions: of many classes those that moved most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from abstain._numerics import aligned
from abstain.cli._printable import in_a_line

# Of more classes than this those are shown whose proportion moved most.
_MANY_CLASSES = 10
_SHOWN_CLASSES = 8


def proportion_lines(
    title: str,
    classes: Sequence[Any],
    columns: Mapping[str, Sequence[str]],
    *,
    then: Sequence[float],
    now: Sequence[float],
) -> list[str]:
    """Return a title and a row for each class, or for the classes that moved most from then.

    Parameters
    ----------
    title : str
    classes : sequence
        The label of each class.
    columns : mapping of str to sequence of str
        What to show of each class, by the heading.
    then, now : sequence of float
        The proportions that tell which classes moved.
    """
    head = ["class", *columns]
    rows = [
        [in_a_line(name), *cells] for name, *cells in zip(classes, *columns.values(), strict=True)
    ]
    shown = [*range(len(rows))]
    if len(rows) > _MANY_CLASSES:
        moved = np.abs(np.asarray(now, dtype=np.float64) - np.asarray(then, dtype=np.float64))
        shown = np.argsort(-moved, kind="stable")[:_SHOWN_CLASSES].tolist()
        title += ", those that moved most"
    # All but the last are plain numbers.
    table = aligned([head, *(rows[k] for k in shown)], right={*range(1, len(columns))})
    lines = [title, *(f"  {line}" for line in table)]
    more = len(rows) - len(shown)
    return lines if not more else [*lines, f"  ... and {more} more (--json has all)"]
