"""Ours beside a peer's on the same splits: means, the difference, and whether it is chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["ENOUGH", "Lead", "counted"]

#: So many standard errors are taken to be more than chance.
ENOUGH = 2.0
#: And differences below this are none: metrics are sums in another order.
NOTHING = 1e-9


@dataclass(frozen=True)
class Lead:
    """Means over the splits on which both are defined, and the error of their difference.

    ``difference`` is such that above 0 ours is better.
    """

    ours: float
    theirs: float
    difference: float
    error: float

    @classmethod
    def of(cls, ours: ArrayLike, theirs: ArrayLike, *, greater_is_better: bool = True) -> Self:
        """Sum up."""
        ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
        both = ~(np.isnan(ours) | np.isnan(theirs))
        if not both.any():
            return cls(*[float("nan")] * 4)
        apart = (ours - theirs)[both] * (1 if greater_is_better else -1)
        error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else float("nan")
        return cls(
            float(ours[both].mean()), float(theirs[both].mean()), float(apart.mean()), float(error)
        )

    @property
    def mark(self) -> str:
        """``*`` where ours is better than chance explains, ``!`` where it is worse."""
        if not abs(self.difference) > max(ENOUGH * self.error, NOTHING):
            return ""
        return "*" if self.difference > 0 else "!"

    def plain(self, key: str) -> dict[str, float]:
        """Return it as plain figures under names that begin with a key."""
        return {f"{key} {name}": value for name, value in vars(self).items()}

    @classmethod
    def there(cls, line: Mapping[str, Any], key: str) -> bool:
        """Whether a line has it under that key, and defined."""
        value = line.get(f"{key} difference")
        # NaN is null in a file of figures read by others.
        return value is not None and value == value

    @classmethod
    def kept(cls, line: Mapping[str, Any], key: str) -> Self:
        """Return it from a line."""
        return cls(*(line[f"{key} {name}"] for name in cls.__dataclass_fields__))


def counted(every: Sequence[Lead]) -> str:
    """Return how often ours is better, tied and worse, in words."""
    marks = [lead.mark for lead in every]
    better, tied, worse = (marks.count(mark) for mark in ("*", "", "!"))
    return f"better in {better}, tied in {tied}, worse in {worse}"
