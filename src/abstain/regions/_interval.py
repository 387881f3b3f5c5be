"""An interval of the positive class's probability: what ranking metrics withhold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain._numerics import ROUNDING, clear_edge
from abstain._schema import EDGE, Keys
from abstain._words import span
from abstain.program import Value
from abstain.regions._base import Region, built_in
from abstain.rules import DecisionRule

# The least width, in log-odds, of the part of an interval on one side of its middle.
_NARROW = 1e-6


@built_in
@dataclass(frozen=True)
class Interval(Region):
    """An interval of the positive class's probability, both ends included.

    Parameters
    ----------
    lower, upper : float
        Withhold where ``lower <= p <= upper``; nothing when ``lower > upper``.
    """

    kind: ClassVar[str] = "interval"
    keys: ClassVar[Keys] = {"lower": EDGE, "upper": EDGE}
    binary_only: ClassVar[bool] = True

    lower: float
    upper: float

    @classmethod
    def empty(cls) -> Self:
        """Return the interval that withholds nothing."""
        return cls(lower=1.0, upper=0.0)

    def narrowed(self) -> Self:
        """Return the interval with both ends moved inwards by a few roundings."""
        step = 8 * np.finfo(np.float64).eps
        return type(self)(self.lower * (1 + step), self.upper * (1 - step))

    def contains(self, proba: FloatArray, prediction: IntArray) -> Mask:
        """Tell for each row whether its positive probability lies in the interval."""
        p = proba if proba.ndim == 1 else proba[:, 1]
        return (p >= self.lower) & (p <= self.upper)

    def operations(self, proba: Value, prediction: Value) -> Value:
        """State which rows' positive probability lies in the interval."""
        return proba[1].reaches(self.lower) & proba[1].stays_within(self.upper)

    def cleared(
        self, proba: FloatArray, prediction: IntArray, *, outwards: bool
    ) -> tuple[Self, Mask]:
        """Return the interval with both ends where no row is, and what it withholds."""
        p = proba if proba.ndim == 1 else proba[:, 1]
        ends = self
        if self.lower <= self.upper:
            low, high = (ROUNDING * abs(end) for end in (self.lower, self.upper))
            lower = clear_edge(p, self.lower, low, outwards=outwards)
            upper = -clear_edge(-p, -self.upper, high, outwards=outwards)
            ends = self.empty() if lower > upper else type(self)(lower, upper)
        return ends, ends.contains(p, prediction)

    def priority(
        self, proba: FloatArray, prediction: IntArray, rule: DecisionRule | None = None
    ) -> FloatArray:
        """Return how much the interval would have to shrink before a row is outside.

        In log-odds, in proportion on both sides of the rule's threshold where that lies inside,
        of the middle where not; negative where the interval must grow. Around one half where
        nothing is withheld.
        """
        z = _log_odds(proba if proba.ndim == 1 else proba[:, 1])
        if self.lower > self.upper:
            return np.asarray(-np.abs(z))
        low, high = _log_odds(self.lower), _log_odds(self.upper)
        middle = 0.5 * (low + high)
        threshold = None if rule is None else rule.threshold
        if threshold is not None and self.lower < threshold < self.upper:
            middle = _log_odds(threshold)
        below, above = max(middle - low, _NARROW), max(high - middle, _NARROW)
        return np.asarray(1 - np.where(z < middle, (middle - z) / below, (z - middle) / above))

    def describe(self) -> str:
        """Say in a few words what is withheld."""
        return f"probability from {self.lower:.4g} to {self.upper:.4g}"

    def in_words(self, positive: str) -> str:
        """Say in a sentence which cases are referred."""
        if self.lower > self.upper:
            return "no case is referred"
        return (
            f"cases with a probability of {positive} from "
            f"{span((max(self.lower, 0.0), min(self.upper, 1.0)))} are referred"
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the region that ``to_dict`` described."""
        return cls(lower=float(data["lower"]), upper=float(data["upper"]))


def _log_odds(p: Any) -> Any:
    tiny = np.finfo(np.float64).tiny
    clipped = np.clip(p, tiny, 1.0)
    return np.log(clipped) - np.log(np.maximum(1 - clipped, np.finfo(np.float64).eps / 2))
