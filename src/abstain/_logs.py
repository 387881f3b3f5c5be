"""What the library says while it works: one logger for each room, all under ``abstain``.

Quiet until somebody listens: nothing is printed, and the root logger is never touched. INFO is
one line for each stage (what was read, chosen and written, and how long it took), DEBUG the
reasons. What speaks against a result is a warning of :mod:`warnings`, never a line here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_repeating = ContextVar("_repeating", default=False)

logging.getLogger("abstain").addHandler(logging.NullHandler())


def logger(room: str) -> logging.Logger:
    """Return the logger of a room, such as ``abstain.flow``."""
    found = logging.getLogger(f"abstain.{room}")
    found.addFilter(_worth_saying)
    return found


def _worth_saying(record: logging.LogRecord) -> bool:
    return not _repeating.get() or logging.getLogger("abstain").isEnabledFor(logging.DEBUG)


@contextmanager
def repeated_work() -> Iterator[None]:
    """Keep what is done many times over, such as a test on many resamples, for DEBUG."""
    before = _repeating.set(True)
    try:
        yield
    finally:
        _repeating.reset(before)


def stopwatch() -> Callable[[], float]:
    """Return a function that gives the seconds since it was last called, or made."""
    last = time.perf_counter()

    def lap() -> float:
        nonlocal last
        before, last = last, time.perf_counter()
        return last - before

    return lap
