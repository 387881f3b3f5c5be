"""Checks summed up, and printed as plain tables."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.honesty.peers import PEERS
from benchmarks.honesty.run import Check, PeerCheck

__all__ = ["Cell", "cells", "lines_of", "overall", "peer_errors", "peer_lines", "worst_lines"]

#: Fewer runs than this do not tell a cell's coverage.
ENOUGH = 200
OURS = "ours"


@dataclass(frozen=True)
class Cell:
    """What a group of checks comes to; NaN where the metric was never defined.

    ``exact`` counts intervals without width that hold, such as the kappa of predictions that are
    all of one class: nothing could go wrong there. ``open`` is the coverage of the others.
    """

    n: int
    coverage: float
    exact: int
    open: float
    width: float
    bias: float
    mae: float
    seconds: float
    warned: float
    undefined: int
    nan: int
    errors: int

    @classmethod
    def of(cls, checks: Sequence[Check]) -> "Cell":
        """Sum up."""
        done = [check for check in checks if not check.error]
        judged = [check for check in done if check.defined]
        off = np.array([check.value - check.realised for check in judged])
        known = off[~np.isnan(off)]
        held = np.array([check.covered for check in judged], dtype=bool)
        exact = held & np.array([check.high == check.low for check in judged], dtype=bool)
        return cls(
            n=len(judged),
            coverage=_mean(held),
            exact=int(exact.sum()),
            open=_mean(held[~exact]),
            width=_mean([check.high - check.low for check in judged]),
            bias=_mean(known),
            mae=_mean(np.abs(known)),
            seconds=_mean([check.seconds for check in done]),
            warned=_mean([check.warned for check in done]),
            undefined=len(done) - len(judged),
            nan=int(np.isnan(off).sum()),
            errors=len(checks) - len(done),
        )

    def text(self) -> str:
        """Return the figures as a line."""
        return (
            f"{self.n:>7} {self.coverage:>8.3f} {self.exact:>6} {self.open:>6.3f} "
            f"{self.width:>7.3f} {self.bias:>+8.4f} {self.mae:>7.4f} {self.seconds:>8.3f} "
            f"{self.warned:>7.2f} {self.undefined:>6} {self.nan:>4} {self.errors:>6}"
        )


HEADER = (
    f"{'checks':>7} {'coverage':>8} {'exact':>6} {'open':>6} "
    f"{'width':>7} {'bias':>8} {'error':>7} {'seconds':>8} "
    f"{'warned':>7} {'undef.':>6} {'NaN':>4} {'raised':>6}"
)


def _mean(values: Any) -> float:
    values = np.asarray(values, dtype=float)
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")


def cells(checks: Iterable[Check], *by: str) -> dict[tuple[Any, ...], Cell]:
    """Return the checks summed up by the named attributes, in the order they came up sorted."""
    return {key: Cell.of(group) for key, group in sorted(_grouped(checks, by).items())}


def overall(checks: Sequence[Check], shift: str) -> Cell:
    """Return all checks under a shift summed up."""
    return Cell.of([check for check in checks if check.shift == shift])


def lines_of(checks: Sequence[Check], *by: str) -> Iterator[str]:
    """Yield a table of the checks by the named attributes."""
    found = cells(checks, *by)
    wide = _wide(by, found)
    yield _labels(by, wide) + HEADER
    for key, cell in found.items():
        yield _labels(key, wide) + cell.text()


def worst_lines(checks: Sequence[Check], many: int = 12) -> Iterator[str]:
    """Yield the cells that are covered least often, and how many are under 0.80."""
    by = ("set", "shift", "metric", "withheld")
    found = {
        key: cell
        for key, cell in cells(checks, *by).items()
        if key[1] in ("none", "label") and cell.n
    }
    enough = [cell for cell in found.values() if cell.n >= ENOUGH]
    low = sum(cell.coverage < 0.80 for cell in enough)
    yield f"{low} of {len(enough)} cells of {ENOUGH} runs or more under 0.80; the lowest cells:"
    for key, cell in sorted(found.items(), key=lambda item: item[1].coverage)[:many]:
        yield _labels(key, [20, 5, 27, 4]) + cell.text()


def peer_lines(checks: Sequence[Check], others: Sequence[PeerCheck], *by: str) -> Iterator[str]:
    """Yield mean absolute errors on whole batches, ours beside the peers'."""
    found = peer_errors(checks, others, *by)
    wide = _wide(by, found)
    yield _labels(by, wide) + "".join(f"{name:>11}" for name in (OURS, *PEERS))
    for key, errors in found.items():
        yield _labels(key, wide) + "".join(
            f"{f'{errors[name]:.4f}' if name in errors else '':>11}" for name in (OURS, *PEERS)
        )


def peer_errors(
    checks: Sequence[Check], others: Sequence[PeerCheck], *by: str
) -> dict[tuple[Any, ...], dict[str, float]]:
    """Return mean absolute errors on whole batches, ours and each peer's, by some attributes."""
    ours = _grouped([check for check in checks if check.withheld == 0 and check.defined], by)
    theirs = _grouped(others, (*by, "peer"))
    return {
        key: {OURS: _error(ours[key])}
        | {peer: _error(theirs[*key, peer]) for peer in PEERS if (*key, peer) in theirs}
        for key in sorted(ours)
    }


def _error(checks: Sequence[Any]) -> float:
    return _mean([abs(check.value - check.realised) for check in checks])


def _grouped(checks: Iterable[Any], by: Sequence[str]) -> dict[tuple[Any, ...], list[Any]]:
    groups: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for check in checks:
        groups[tuple(getattr(check, name) for name in by)].append(check)
    return groups


def _wide(by: Sequence[str], keys: Iterable[tuple[Any, ...]]) -> list[int]:
    """Return how wide the column of each attribute has to be."""
    return [max(map(len, map(str, column))) for column in zip(by, *keys, strict=True)]


def _labels(values: Iterable[Any], wide: Iterable[int]) -> str:
    return "".join(f"{value!s:<{width + 2}}" for value, width in zip(values, wide, strict=True))
