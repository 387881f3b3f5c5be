"""Drift: how a metric wanders in time beyond what its intervals hold. Nothing in the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

from abstain._schema import LONG_NAME, Keys, MapOf, Number

#: What a policy file holds of it.
KEYS: Keys = {
    "variances": MapOf(Number(0), name=LONG_NAME),
    "centre": Number(),
    "time": Number(),
}


@dataclass(frozen=True)
class Drift:
    """How far what is realised of metrics wanders from what was estimated, as time passes.

    Parameters
    ----------
    variances : dict of str to float
        Of the difference, for each metric by name and unit of time, beyond what intervals hold.
    centre : float
        The mean time of the validation rows.
    time : float
        That of a batch; when nothing else is said one block of time after the last of them.

    Notes
    -----
    As a random walk: the variance grows with the time between the labelled rows and the batch.
    """

    variances: dict[str, float]
    centre: float
    time: float

    def spread(self, metric: str) -> float:
        """Return the standard deviation that a metric of the batch gets beside all others."""
        return math.sqrt(self.variances.get(metric, 0.0) * abs(self.time - self.centre))

    def at(self, time: float) -> Self:
        """Return the same for a batch of another time."""
        return replace(self, time=time)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"variances": {**self.variances}, "centre": self.centre, "time": self.time}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return what ``to_dict`` described."""
        return cls(**data)
