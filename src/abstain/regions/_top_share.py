"""A threshold on the sum of a row's largest probabilities: what top-k accuracy withholds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask, both_columns
from abstain._kernels.confusion import top_share
from abstain._numerics import ROUNDING, clear_edge
from abstain.regions._base import Region, finite_or_none
from abstain.rules import DecisionRule

__all__ = ["TopShare"]


@dataclass(frozen=True)
class TopShare(Region):
    """Rows whose few most probable classes leave the most doubt.

    Parameters
    ----------
    k : int
        How many of the largest probabilities of a row are added.
    threshold : float
        Withhold where their sum is at most this.
    """

    kind: ClassVar[str] = "top-share"
    score_label: ClassVar[str] = "doubt that the most probable classes leave"

    k: int
    threshold: float

    def share(self, proba: FloatArray) -> FloatArray:
        """Return the sum of the k largest probabilities of each row."""
        return top_share(both_columns(proba), self.k)

    def contains(self, proba: FloatArray, prediction: IntArray) -> Mask:
        """Tell for each row whether its top share is at most the threshold."""
        mask: Mask = self.share(proba) <= self.threshold
        return mask

    def cleared(
        self, proba: FloatArray, prediction: IntArray, *, outwards: bool
    ) -> tuple[Self, Mask]:
        """Return the region with its threshold where no row is, and what it withholds."""
        share = self.share(proba)
        threshold = -clear_edge(-share, -self.threshold, ROUNDING, outwards=outwards)
        return replace(self, threshold=threshold), share <= threshold

    def score(self, proba: FloatArray, prediction: IntArray) -> FloatArray:
        """Return the chance that a row's class is not among its k most probable ones."""
        return 1 - self.share(proba)

    def priority(
        self, proba: FloatArray, prediction: IntArray, rule: DecisionRule | None = None
    ) -> FloatArray:
        """Return minus the sum of the k largest probabilities."""
        return -self.share(proba)

    def describe(self) -> str:
        """Say in a few words what is withheld."""
        return f"sum of the {self.k} largest probabilities at most {self.threshold:.4g}"

    def in_words(self, positive: str) -> str:
        """Say in a sentence which cases are referred."""
        return "cases that leave the most doubt are referred"

    def to_dict(self) -> dict[str, Any]:
        """Return the region as plain data."""
        return {"kind": self.kind, "k": self.k, "threshold": finite_or_none(self.threshold)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the region that ``to_dict`` described."""
        threshold = -np.inf if data["threshold"] is None else float(data["threshold"])
        return cls(k=int(data["k"]), threshold=threshold)
