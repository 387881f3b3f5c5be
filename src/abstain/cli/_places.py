"""Where a row stands: the file it came from and its line there, so that it can be found."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path

from abstain.cli._columns import kind_of
from abstain.cli._excel import sheet_lines
from abstain.cli._printable import in_a_line
from abstain.cli._reading import Reading
from abstain.cli._text import line_of

_MOST_NAMED = 3


@dataclass(frozen=True)
class Places:
    """The rows of files that were read one below the other.

    Attributes
    ----------
    files : sequence of Path
        The files, in order.
    counts : sequence of int
        How many rows each has.
    reading : Reading
        How they were read.
    begin : int
        How many rows come before what was read of them.
    """

    files: Sequence[Path]
    counts: Sequence[int]
    reading: Reading
    begin: int = 0

    def of(self, row: int) -> str:
        """Return where a row stands, e.g. ``line 18 of batch.csv``; a pass over the file."""
        begins, row = [0, *accumulate(self.counts)], row + self.begin
        part = bisect_right(begins, row) - 1
        file, row = self.files[part], row - begins[part]
        kind = kind_of(file)
        if kind == "parquet":
            return f"row {row} of {file}, counted from 0"
        if kind == "workbook":
            return f"row {sheet_lines(file, self.reading.sheet)[row]} of {file}"
        return f"line {line_of(file, row, self.reading)} of {file}"

    def first(self, rows: Iterable[int], names: Sequence[object] | None = None) -> str:
        """Return where the first of some rows stand, with what each is called."""
        shown = []
        for row in islice(rows, _MOST_NAMED):
            called = "" if names is None else f" ({in_a_line(names[row])})"
            shown.append(f"{self.of(int(row))}{called}")
        return "; ".join(shown)
