"""A line on stderr that says how far a long run has come."""

import sys
from collections.abc import Iterable, Iterator, Sized
from typing import Protocol, TypeVar

__all__ = ["progress"]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

WIDTH = 24


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
    visible = sys.stderr.isatty() if show is None else show
    total = len(steps)
    try:
        for done, step in enumerate(steps):
            if visible:
                filled = WIDTH * done // total
                bar = "#" * filled + "." * (WIDTH - filled)
                sys.stderr.write(f"\r{label} [{bar}] {done}/{total}")
                sys.stderr.flush()
            yield step
    finally:
        if visible:
            # Wipe the line, so that results and messages stand alone.
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
