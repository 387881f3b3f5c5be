"""Text in columns that line up, also where letters are twice as wide."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence

__all__ = ["aligned"]


def aligned(
    rows: Sequence[Sequence[str]], *, right: Collection[int] = (), gap: str = "  "
) -> list[str]:
    """Return rows of cells as lines; the cells of a column begin, or end, below each other.

    Parameters
    ----------
    rows : sequence of sequence of str
        As many cells in each; a head is a row like the others.
    right : collection of int
        The columns that end below each other, such as those of numbers.
    gap : str
        What stands between columns.

    Examples
    --------
    >>> for line in aligned([["", "n"], ["north", "5"], ["\u65e5\u672c", "12"]], right={1}):
    ...     print(line)
            n
    north   5
    \u65e5\u672c   12
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for k, (cell, width) in enumerate(zip(row, widths, strict=True)):
            blank = " " * (width - _width(cell))
            cells.append(blank + cell if k in right else cell + blank)
        lines.append(gap.join(cells).rstrip())
    return lines


def _width(text: str) -> int:
    """Return how many places a terminal gives to a text."""
    return sum(
        2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
        if not unicodedata.combining(letter)
    )
