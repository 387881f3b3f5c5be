"""One progress bar: a line on stderr that says how far a long run has come."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Protocol, TypeVar

__all__ = ["progress", "progress_bar", "rate_bar"]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

WIDTH = 24
# Redrawn no more often than this many seconds: drawing must not slow down what it shows.
INTERVAL = 0.05
# A rate is shown only of what takes longer than this many seconds, and redrawn less often.
PATIENCE = 2.0
RATE_INTERVAL = 0.25


class _SizedIterable(Sized, Iterable[T_co], Protocol[T_co]):
    """What has a length and can be iterated over."""


def progress(steps: _SizedIterable[T], label: str, *, show: bool | None = None) -> Iterator[T]:
    """Yield the steps, and show on stderr how many are done.

    Parameters
    ----------
    steps : sized iterable
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
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda: None
        return
    done, drawn = 0, time.monotonic()
    _draw(label, 0, total)

    def advance() -> None:
        nonlocal done, drawn
        done += 1
        now = time.monotonic()
        moved = WIDTH * done // max(total, 1) != WIDTH * (done - 1) // max(total, 1)
        if moved or now - drawn >= INTERVAL:
            _draw(label, done, total)
            drawn = now

    try:
        yield advance
    finally:
        # Wipe the line, so that results and messages stand alone.
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


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
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda rows: None
        return
    start, done, drawn = time.monotonic(), 0, 0.0

    def advance(rows: int) -> None:
        nonlocal done, drawn
        done += rows
        now = time.monotonic()
        if now - start < PATIENCE or now - drawn < RATE_INTERVAL:
            return
        drawn = now
        rate = f"{done:,} rows, {done / (now - start):,.0f} rows/s"
        if total is not None:
            filled = WIDTH * min(done, total) // max(total, 1)
            rate = f"[{'#' * filled}{'.' * (WIDTH - filled)}] {rate}"
        sys.stderr.write(f"\r\x1b[K{label} {rate}")
        sys.stderr.flush()

    try:
        yield advance
    finally:
        if drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _draw(label: str, done: int, total: int) -> None:
    filled = WIDTH * min(done, total) // max(total, 1)
    bar = "#" * filled + "." * (WIDTH - filled)
    sys.stderr.write(f"\r{label} [{bar}] {done}/{total}")
    sys.stderr.flush()
