"""A threshold on a metric-agnostic score of uncertainty: what the paper compares against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from abstain import scores
from abstain._inputs import FloatArray, IntArray, Mask, both_columns
from abstain._numerics import ROUNDING, clear_edge
from abstain.regions._base import Region, finite_or_none
from abstain.rules import DecisionRule

__all__ = ["ScoreThreshold"]


@dataclass(frozen=True)
class ScoreThreshold(Region):
    """Rows whose score of uncertainty reaches a threshold.

    Parameters
    ----------
    name : str or callable
        A registered score, or a function of the probabilities.
    threshold : float
        Withhold where the score is at least this.
    parameters : dict
        Keyword arguments of the score.
    """

    kind: ClassVar[str] = "score-threshold"
    score_label: ClassVar[str] = "score of uncertainty"

    name: str | Callable[..., FloatArray]
    threshold: float
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def order(self) -> str | Callable[..., FloatArray]:
        """The score."""
        return self.name

    def score(self, proba: FloatArray, prediction: IntArray) -> FloatArray:
        """Return the score of each row."""
        if self.name == scores.DROPOUT_VARIANCE:
            raise ValueError(
                "`score` 'dropout-variance' is a variance over draws of test-time dropout and "
                "cannot be told from one prediction per row. Score new rows with "
                f"abstain.scores.dropout_variance and withhold from {self.threshold:g} on."
            )
        if not len(proba):
            return np.empty(0)
        values = scores.get(self.name)(both_columns(proba), **self.parameters)
        return _checked_score(values, len(proba))

    def contains(self, proba: FloatArray, prediction: IntArray) -> Mask:
        """Tell for each row whether its score reaches the threshold."""
        mask: Mask = self.score(proba, prediction) >= self.threshold
        return mask

    def cleared(
        self, proba: FloatArray, prediction: IntArray, *, outwards: bool
    ) -> tuple[Self, Mask]:
        """Return the region with its threshold where no row is, and what it withholds."""
        values = self.score(proba, prediction)
        threshold = self.threshold
        # The size of a function of the user's is not known, and chance is a number of its own.
        if isinstance(self.name, str) and not scores.is_own(self.name) and self.name != "random":
            threshold = clear_edge(values, threshold, ROUNDING, outwards=outwards)
        return replace(self, threshold=threshold), values >= threshold

    def priority(
        self, proba: FloatArray, prediction: IntArray, rule: DecisionRule | None = None
    ) -> FloatArray:
        """Return the score of each row."""
        return self.score(proba, prediction)

    def describe(self) -> str:
        """Say in a few words what is withheld."""
        return f"{self._title} at least {self.threshold:.4g}"

    def in_words(self, positive: str) -> str:
        """Say in a sentence which cases are referred."""
        return f"cases with the highest uncertainty by {self._title} are referred"

    @property
    def _title(self) -> str:
        return self.name if isinstance(self.name, str) else "a score of your own"

    def to_dict(self) -> dict[str, Any]:
        """Return the region as plain data."""
        return {
            "kind": self.kind,
            "score": scores.to_plain(self.name),
            "parameters": self.parameters,
            "threshold": finite_or_none(self.threshold),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the region that ``to_dict`` described."""
        threshold = np.inf if data["threshold"] is None else float(data["threshold"])
        return cls(
            name=scores.from_plain(data["score"]),
            threshold=threshold,
            parameters=data["parameters"],
        )


def _checked_score(values: FloatArray, n_rows: int) -> FloatArray:
    score = np.asarray(values, dtype=np.float64)
    if score.shape != (n_rows,) or np.isnan(score).any():
        raise ValueError(
            f"`score` must return one number per row, no NaN; {n_rows} rows, got shape "
            f"{score.shape} with {int(np.isnan(score).sum())} NaN."
        )
    return score
