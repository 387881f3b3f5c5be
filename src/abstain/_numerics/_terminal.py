"""What terminals show: text in columns, and a line on stderr of how far a long run has come."""

from __future__ import annotations

import sys
import time
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

WIDTH = 24
# Redrawn no more often than this many seconds: drawing must not slow down what it shows.
INTERVAL = 0.05
# A rate is shown only of what takes longer than this many seconds, and redrawn less often.
PATIENCE = 2.0
RATE_INTERVAL = 0.25


def progress(steps: Collection[T], label: str, *, show: bool | None = None) -> Iterator[T]:
    """Yield the steps, and show on stderr how many are done.

    Parameters
    ----------
    steps : collection
        What to do, one after the other.
    label : str
        What is being done.
    show : bool, optional
        Whether to show anything; when not given, only if stderr is a terminal.
    """
    with progress_bar(len(steps), label, show=show) as advance:
        for step in steps:
            yield step
            advance()


@contextmanager
def progress_bar(
    total: int, label: str, *, show: bool | None = None
) -> Iterator[Callable[[], None]]:
    """Show a bar while the block runs; the block calls what it is given after each step."""

    def drawn(done: int, _: float) -> str:
        return f"{label} {_bar(done, total)} {done}/{total}"

    # Of few steps each moves the bar.
    interval = INTERVAL if total > WIDTH else 0.0
    with _redrawn(drawn, interval, first=True, show=show) as advance:
        yield lambda: advance(1)


@contextmanager
def rate_bar(
    label: str, total: int | None = None, *, show: bool | None = None
) -> Iterator[Callable[[int], None]]:
    """Show rows and rows per second while a long block runs, once it has taken two seconds.

    Parameters
    ----------
    label : str
        What is being done.
    total : int, optional
        How many rows there are, where that is known.
    show : bool, optional
        Whether to show anything; when not given, only if stderr is a terminal.

    Yields
    ------
    callable
        To be called with the number of rows of each step that is done.
    """

    def drawn(done: int, seconds: float) -> str:
        if seconds < PATIENCE:
            return ""
        bar = "" if total is None else f"{_bar(done, total)} "
        return f"{label} {bar}{done:,} rows, {done / max(seconds, 1e-9):,.0f} rows/s"

    with _redrawn(drawn, RATE_INTERVAL, show=show) as advance:
        yield advance


@contextmanager
def _redrawn(
    text: Callable[[int, float], str],
    interval: float,
    *,
    first: bool = False,
    show: bool | None = None,
) -> Iterator[Callable[[int], None]]:
    """Show on stderr what is to be said of so much done in so many seconds; nothing if empty."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda done: None
        return
    start, done, drawn, shown = time.monotonic(), 0, 0.0, ""

    def advance(more: int) -> None:
        nonlocal done, drawn, shown
        done += more
        now = time.monotonic()
        if now - drawn >= interval and (said := text(done, now - start)):
            drawn, shown = now, said
            _write(f"\r\x1b[K{said}")

    try:
        if first:
            advance(0)
        yield advance
    finally:
        # Wipe the line, so that results and messages stand alone.
        if shown:
            _write("\r\x1b[K")


def _bar(done: int, total: int) -> str:
    filled = WIDTH * min(done, total) // max(total, 1)
    return f"[{'#' * filled}{'.' * (WIDTH - filled)}]"


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


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
