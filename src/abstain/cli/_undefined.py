"""Why a number is not there: what JSON has ``null`` for, and people a few words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

NOT_DEFINED = "not defined on these rows"
_PARTS = {
    "after": ("kept", "no row is kept"),
    "kept": ("kept", "no row is kept"),
    "withheld": ("withheld", "no row is withheld"),
}
# What is a number wherever it stands, unless there is none.
_NUMBERS = {"value", "realised", "all", "kept", "withheld"}
_NUMBERS |= {f"{name}_interval" for name in ("all", "kept", "withheld")}


def null_because(found: Mapping[str, Any]) -> dict[str, str]:
    """Return a reason for every number that is none, by where it stands.

    Examples
    --------
    >>> null_because({"rows": 2, "withheld": 2, "estimate": {"after": {"value": float("nan")}}})
    {'estimate.after.value': 'no row is kept'}
    """
    counts = found.get("withheld"), found.get("rows")
    known = all(isinstance(count, int) for count in counts)
    nobody = {"kept": known and counts[0] == counts[1], "withheld": known and counts[0] == 0}
    return {path: _reason(path, value, nobody) for path, value in _not_finite(found, "")}


def _not_finite(value: Any, path: str) -> Iterator[tuple[str, float]]:
    """Yield the numbers that JSON has no word for; of a list one stands for all."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        # Some facts say by themselves why they are not there.
        for name, part in value.items() if value.get("why_not") is None else ():
            yield from _not_finite(part, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _not_finite(part, path)
    elif value is None and path.rpartition(".")[2] in _NUMBERS:
        # Facts that are data already, in which what is no number is nothing.
        yield path, math.nan
    elif isinstance(value, float) and not math.isfinite(value):
        yield path, value


def _reason(path: str, value: float, nobody: Mapping[str, bool]) -> str:
    if math.isinf(value):
        return "it has no bound" if value > 0 else "it has no lower bound"
    for name in reversed(path.split(".")):
        which, why = _PARTS.get(name.removesuffix("_interval"), ("", ""))
        if which:
            if nobody[which]:
                return why
            return f"not defined on the rows that are {which}: too few, or a class is missing"
    return f"{NOT_DEFINED}: too few, or a class is missing"
