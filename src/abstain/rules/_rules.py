"""The three decision rules.

Like regions, rules are frozen into a policy and treat equal rows alike. Probabilities are
``(n, n_classes)``, or of two classes ``(n,)``: those of the positive one.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, both_columns
from abstain._kernels.confusion import best_gain, highest_columns
from abstain._numerics import Registry, plain

__all__ = ["Argmax", "BestGain", "DecisionRule", "Threshold", "from_dict"]


class DecisionRule(ABC):
    """A function from probability vectors to column numbers, as a dataclass."""

    #: The registered name.
    kind: ClassVar[str]

    @abstractmethod
    def predict(self, proba: FloatArray) -> IntArray:
        """Return the predicted column of each row."""

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain data."""
        return {"kind": self.kind, **plain(vars(self))}

    @classmethod
    @abstractmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the rule that ``to_dict`` described."""


@dataclass(frozen=True)
class Argmax(DecisionRule):
    """Predict the most probable class, the first of equals."""

    kind: ClassVar[str] = "argmax"

    def predict(self, proba: FloatArray) -> IntArray:
        """Return the column of the largest probability in each row."""
        if proba.ndim == 1:
            return (proba > 0.5).astype(np.intp)
        return highest_columns(proba)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the rule that ``to_dict`` described."""
        return cls()


@dataclass(frozen=True)
class Threshold(DecisionRule):
    """Predict the positive class of two where its probability reaches a threshold.

    Parameters
    ----------
    threshold : float
        Predict positive where ``p >= threshold``.
    """

    kind: ClassVar[str] = "threshold"

    threshold: float

    def predict(self, proba: FloatArray) -> IntArray:
        """Return 1 where the positive probability reaches the threshold, 0 elsewhere."""
        p = proba if proba.ndim == 1 else proba[:, 1]
        return (p >= self.threshold).astype(np.intp)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the rule that ``to_dict`` described."""
        return cls(threshold=float(data["threshold"]))


@dataclass(frozen=True, eq=False)
class BestGain(DecisionRule):
    """Predict the class with the highest expected gain.

    Parameters
    ----------
    gains : ndarray of shape (n_classes, n_classes)
        Entry (i, j): what predicting j is worth when the true class is i. The prediction is
        the j with the largest ``sum_i P[x, i] * gains[i, j]``.
    """

    kind: ClassVar[str] = "best-gain"

    gains: FloatArray

    def predict(self, proba: FloatArray) -> IntArray:
        """Return the column with the highest expected gain in each row."""
        return best_gain(both_columns(proba), self.gains)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the rule that ``to_dict`` described."""
        return cls(gains=np.array(data["gains"], dtype=np.float64))


_RULES: Registry[type[DecisionRule]] = Registry(
    "decision rule", [(rule.kind, rule) for rule in (Argmax, BestGain, Threshold)]
)


def from_dict(data: dict[str, Any]) -> DecisionRule:
    """Return the rule that a ``to_dict`` described."""
    return _RULES[data["kind"]].from_dict(data)
