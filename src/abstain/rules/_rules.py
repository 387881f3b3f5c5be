"""The three decision rules.

Like regions, rules are frozen into a policy and treat equal rows alike. Probabilities are
``(n, n_classes)``, or of two classes ``(n,)``: those of the positive one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, both_columns
from abstain._kernels.confusion import best_gain, highest_columns
from abstain._numerics import ROUNDING, Registry, clear_edge, plain
from abstain.program import Value, block, of_rows

# A threshold that no probability reaches.
_NEVER = float(np.nextafter(1.0, 2.0))


class DecisionRule(ABC):
    """A function from probability vectors to column numbers, as a dataclass."""

    #: The registered name.
    kind: ClassVar[str]
    #: The probability from which on the positive class of two is predicted, if that is the rule.
    threshold: float | None

    def predict(self, proba: FloatArray) -> IntArray:
        """Return the predicted column of each row."""
        columns: IntArray = of_rows(self.operations, both_columns(proba))
        return columns

    @abstractmethod
    def operations(self, proba: Value) -> Value:
        """State the predicted column of each row, of probabilities of all classes.

        What ``predict`` does is what is stated here, and every export does the same.
        """

    def cleared(self, proba: FloatArray) -> DecisionRule:
        """Return the rule with its edge where none of these rows is."""
        return self

    @abstractmethod
    def describe(self) -> str:
        """Say in a few words which class is predicted."""

    @abstractmethod
    def in_words(self, positive: str) -> str:
        """Say in a sentence which class is predicted, the positive one of two by its name."""

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
    threshold = None

    def predict(self, proba: FloatArray) -> IntArray:
        """Return the column of the largest probability in each row."""
        if proba.ndim == 1:
            return (proba > 0.5).astype(np.intp)
        return highest_columns(proba)

    def operations(self, proba: Value) -> Value:
        """State the column of the largest probability in each row."""
        return proba.first_highest()

    def describe(self) -> str:
        """Say in a few words which class is predicted."""
        return "the most probable class"

    def in_words(self, positive: str) -> str:
        """Say in a sentence which class is predicted."""
        return f"predicts {self.describe()}"

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

    def operations(self, proba: Value) -> Value:
        """State 1 where the positive probability reaches the threshold, 0 elsewhere."""
        # Above 1 it is one that nothing reaches, a hair away from what everything may reach.
        edge = self.threshold if self.threshold <= 1 else 2.0
        reached = proba[1].reaches(edge)
        return block(~reached, reached).first_true()

    def cleared(self, proba: FloatArray) -> DecisionRule:
        """Return the rule with its threshold where none of these rows is."""
        if not 0 < self.threshold <= 1:
            return self
        p = proba if proba.ndim == 1 else proba[:, 1]
        edge = clear_edge(p, self.threshold, ROUNDING * self.threshold)
        return Threshold(edge if np.isfinite(edge) else _NEVER)

    def describe(self) -> str:
        """Say in a few words which class is predicted."""
        if self.threshold <= 0:
            return "everything positive"
        return "nothing positive" if self.threshold > 1 else f"positive from p >= {self._shown}"

    def in_words(self, positive: str) -> str:
        """Say in a sentence which class is predicted."""
        if 0 < self.threshold <= 1:
            return f"predicts {positive} where its probability is at least {self._shown}"
        return f"predicts {positive} {'never' if self.threshold > 1 else 'always'}"

    @property
    def _shown(self) -> str:
        return f"{self.threshold:.4g}"

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
    threshold = None

    gains: FloatArray

    def predict(self, proba: FloatArray) -> IntArray:
        """Return the column with the highest expected gain in each row."""
        return best_gain(both_columns(proba), self.gains)

    def operations(self, proba: Value) -> Value:
        """State the column with the highest expected gain in each row."""
        return (proba @ self.gains).first_highest(ROUNDING)

    def describe(self) -> str:
        """Say in a few words which class is predicted."""
        return "the class of highest expected gain"

    def in_words(self, positive: str) -> str:
        """Say in a sentence which class is predicted."""
        return f"predicts {self.describe()}, which need not be the most probable"

    def simplified(self) -> DecisionRule:
        """Return the rule as a threshold where it is one, else itself.

        Of two classes the gain of predicting the second over the first is a straight line in p.
        Where that rises the second is predicted above its zero: at equal gains it is the first,
        hence from a little above.
        """
        if self.gains.shape != (2, 2):
            return self
        at_0, at_1 = (self.gains[:, 1] - self.gains[:, 0]).tolist()
        if at_0 <= 0 and at_1 <= 0:
            return Threshold(_NEVER)
        if at_0 > 0 and at_1 > 0:
            return Threshold(0.0)
        if at_0 > at_1:
            return self
        return Threshold(at_0 / (at_0 - at_1) * (1 + ROUNDING))

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
