"""One line of the table: what was timed, ours, the peer's, and the ratio between them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Row", "best_of", "best_of_each"]


@dataclass(frozen=True)
class Row:
    """A measured ratio.

    ``ours`` and ``theirs`` are seconds (or bytes, or whatever ``unit`` says). The goal is a
    ratio ours / theirs of at most ``at_most``, or theirs / ours of at least ``at_least``.
    """

    what: str
    ours: float
    peer: str
    theirs: float
    at_most: float | None = None
    at_least: float | None = None
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """Ours / theirs, or theirs / ours where the goal is to be so many times faster."""
        return self.ours / self.theirs if self.at_least is None else self.theirs / self.ours

    @property
    def goal(self) -> str:
        """The goal in words; empty where there is none."""
        if self.at_least is not None:
            return f">= {self.at_least:g}x faster"
        return "" if self.at_most is None else f"<= {self.at_most:g}x"

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        if self.at_least is not None:
            return self.ratio >= self.at_least
        return None if self.at_most is None else self.ratio <= self.at_most

    def text(self) -> str:
        """Return the row as a line of the table."""
        verdict = {None: "", True: "met", False: "MISSED"}[self.met]
        return (
            f"{self.what:<58} {self.ours:>10.4g} {self.unit:<2} {self.peer:<24} "
            f"{self.theirs:>10.4g} {self.unit:<2} {self.ratio:>8.2f}  {self.goal:<16} {verdict}"
        )


def best_of(function: Callable[[], Any], repeats: int = 5) -> float:
    """Return the shortest of several timings in seconds, after one call to warm up."""
    return best_of_each(function, repeats=repeats)[0]


def best_of_each(*functions: Callable[[], Any], repeats: int = 5) -> list[float]:
    """Return ``best_of`` each function, called in turns so that a busy spell meets them all."""
    for function in functions:
        function()
    timings: list[list[float]] = [[] for _ in functions]
    for _ in range(repeats):
        for function, taken in zip(functions, timings, strict=True):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in timings]
