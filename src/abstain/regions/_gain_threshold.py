"""A threshold on the expected gain of withholding: what confusion metrics withhold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask, both_columns
from abstain._kernels.confusion import linear_gain
from abstain._numerics import ROUNDING, clear_edge
from abstain.regions._base import Region, finite_or_none
from abstain.rules import DecisionRule

__all__ = ["GainThreshold"]


@dataclass(frozen=True, eq=False)
class GainThreshold(Region):
    """Rows whose withholding is expected to gain the most.

    Parameters
    ----------
    gains : ndarray of shape (n_classes, n_classes)
        Entry (i, j): what withholding an example of true class i predicted as j is worth.
    threshold : float
        Withhold where the expected gain ``sum_i P[x, i] * gains[i, f(x)]`` is at least this.
    """

    kind: ClassVar[str] = "gain-threshold"
    reads_prediction: ClassVar[bool] = True
    score_label: ClassVar[str] = "expected gain from referring the case"

    gains: FloatArray
    threshold: float

    def score(self, proba: FloatArray, prediction: IntArray) -> FloatArray:
        """Return the expected gain of withholding each row."""
        return linear_gain(both_columns(proba), prediction, self.gains)

    def contains(self, proba: FloatArray, prediction: IntArray) -> Mask:
        """Tell for each row whether its expected gain reaches the threshold."""
        mask: Mask = self.score(proba, prediction) >= self.threshold
        return mask

    def cleared(
        self, proba: FloatArray, prediction: IntArray, *, outwards: bool
    ) -> tuple[Self, Mask]:
        """Return the region with its threshold where no row is, and what it withholds."""
        values, sizes = self.score(proba, prediction), np.abs(self.gains)

        def own_reach(rows: IntArray) -> FloatArray:
            chosen = both_columns(proba[rows])
            return ROUNDING * linear_gain(chosen, prediction[rows], sizes)

        threshold = clear_edge(
            values,
            self.threshold,
            ROUNDING * float(sizes.max()),
            outwards=outwards,
            own_reach=own_reach,
        )
        return replace(self, threshold=threshold), values >= threshold

    def priority(
        self, proba: FloatArray, prediction: IntArray, rule: DecisionRule | None = None
    ) -> FloatArray:
        """Return the expected gain of withholding each row."""
        return self.score(proba, prediction)

    def describe(self) -> str:
        """Say in a few words what is withheld."""
        return f"expected gain of withholding at least {self.threshold:.4g}"

    def in_words(self, positive: str) -> str:
        """Say in a sentence which cases are referred."""
        return "cases whose removal is expected to help the metric most are referred"

    def to_dict(self) -> dict[str, Any]:
        """Return the region as plain data."""
        threshold = finite_or_none(self.threshold)
        return {"kind": self.kind, "gains": self.gains.tolist(), "threshold": threshold}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the region that ``to_dict`` described."""
        threshold = np.inf if data["threshold"] is None else float(data["threshold"])
        return cls(gains=np.array(data["gains"], dtype=np.float64), threshold=threshold)
