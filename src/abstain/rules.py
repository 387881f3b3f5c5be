"""How a class is predicted from probabilities: the decision rule, as data.

Like regions, rules are frozen into a policy and treat equal rows alike.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.confusion import best_gain

__all__ = ["Argmax", "BestGain", "DecisionRule", "Threshold", "rule_from_dict"]


class DecisionRule(Protocol):
    """A function from probability vectors to column numbers."""

    kind: ClassVar[str]

    def predict(self, proba: FloatArray) -> IntArray:
        """Return the predicted column of each row."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain data."""
        ...


@dataclass(frozen=True)
class Argmax:
    """Predict the most probable class, the first of equals."""

    kind: ClassVar[str] = "argmax"

    def predict(self, proba: FloatArray) -> IntArray:
        """Return the column of the largest probability in each row."""
        columns: IntArray = np.argmax(proba, axis=1)
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain data."""
        return {"kind": self.kind}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the rule that ``to_dict`` described."""
        return cls()


@dataclass(frozen=True)
class Threshold:
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
        return (proba[:, 1] >= self.threshold).astype(np.intp)

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain data."""
        return {"kind": self.kind, "threshold": self.threshold}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the rule that ``to_dict`` described."""
        return cls(threshold=float(data["threshold"]))


@dataclass(frozen=True, eq=False)
class BestGain:
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
        return best_gain(proba, self.gains)

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain data."""
        return {"kind": self.kind, "gains": self.gains.tolist()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the rule that ``to_dict`` described."""
        return cls(gains=np.array(data["gains"], dtype=np.float64))


def rule_from_dict(data: dict[str, Any]) -> DecisionRule:
    """Return the rule that a ``to_dict`` described."""
    kinds = {rule.kind: rule for rule in (Argmax, Threshold, BestGain)}
    if data["kind"] not in kinds:
        raise ValueError(f"Unknown decision rule {data['kind']!r}; known are {sorted(kinds)}.")
    rule: DecisionRule = kinds[data["kind"]].from_dict(data)
    return rule
