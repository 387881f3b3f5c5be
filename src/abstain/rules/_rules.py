"""The three decision rules.

Like regions, rules are frozen into a policy and treat equal rows alike. Probabilities are
``(n, n_classes)``, or of two classes ``(n,)``: those of the positive one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from abstain._inputs import FloatArray, IntArray, both_columns
from abstain._kernels.confusion import best_gain, highest_columns
from abstain._numerics import ROUNDING, Registry, clear_edge, plain
from abstain._schema import EDGE, Keys
from abstain.program import Value, block, of_rows

R = TypeVar("R", bound="DecisionRule")

# A threshold that no probability reaches.
_NEVER = float(np.nextafter(1.0, 2.0))


class Part(ABC):
    """A rule or a region: a dataclass that a policy file holds, and people read about."""

    #: The registered name.
    kind: ClassVar[str]
    #: What it holds, each with the names of the axes of the array, none for a number.
    keys: ClassVar[Keys] = {}
    #: Whether it is for two classes only.
    binary_only: ClassVar[bool] = False

    @abstractmethod
    def describe(self) -> str:
        """Say in a few words what it predicts or withholds."""

    @abstractmethod
    def in_words(self, positive: str) -> str:
        """Say the same in a sentence to who has not read the docs, the positive class by name."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; what is not finite, as JSON has it, is None."""
        return {"kind": self.kind, **plain(vars(self))}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return what ``to_dict`` described."""
        return cls(**{key: data[key] for key in cls.keys})


class DecisionRule(Part):
    """A function from probability vectors to column numbers, as a dataclass."""

    #: The probability from which on the positive class of two is predicted, if that is the rule.
    threshold: float | None = None

    def predict(self, proba: FloatArray) -> IntArray:
        """Return the predicted column of each row."""
        return of_rows(self.operations, both_columns(proba))

    @abstractmethod
    def operations(self, proba: Value) -> Value:
        """State the predicted column of each row, of probabilities of all classes.

        What ``predict`` does is what is stated here, and every export does the same.
        """

    def cleared(self, proba: FloatArray) -> DecisionRule:
        """Return the rule with its edge where none of these rows is."""
        return self


@dataclass(frozen=True)
class Argmax(DecisionRule):
    """Predict the most probable class, the first of equals."""

    kind: ClassVar[str] = "argmax"

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


@dataclass(frozen=True)
class Threshold(DecisionRule):
    """Predict the positive class of two where its probability reaches a threshold.

    Parameters
    ----------
    threshold : float
        Predict positive where ``p >= threshold``.
    """

    kind: ClassVar[str] = "threshold"
    keys: ClassVar[Keys] = {"threshold": EDGE}
    binary_only: ClassVar[bool] = True

    # A field, so that what rules have that are none does not count as its default.
    threshold: float = field()

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
    keys: ClassVar[Keys] = {"gains": ("classes", "classes")}
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
    "decision rule",
    [Argmax, BestGain, Threshold],
    "kind",
    remedy="One of your own is known after abstain.rules.register(its class).",
)
#: What a policy file holds of its rule.
KEYS = _RULES.stored(lambda kind: kind.keys)


def register(rule: type[R]) -> type[R]:
    """Make a decision rule of your own known by its ``kind``, to policies that are loaded.

    Parameters
    ----------
    rule : type
        A dataclass made from ``DecisionRule``, of what its ``keys`` say; it may stand above the
        class as a decorator. One registered before under the same kind is replaced.

    Returns
    -------
    type
        The class.

    Raises
    ------
    ValueError
        If the kind is that of a built-in rule.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from abstain import rules
    >>> @rules.register
    ... @dataclass(frozen=True)
    ... class First(rules.DecisionRule):
    ...     kind, keys = "first-likely", {"enough": ()}
    ...     enough: float
    ...     def operations(self, proba):
    ...         return (proba >= self.enough).first_true()
    ...     def describe(self):
    ...         return f"the first class of at least {self.enough:g}"
    ...     def in_words(self, positive):
    ...         return f"predicts {self.describe()}"
    >>> First(0.3).predict(np.array([[0.4, 0.6], [0.2, 0.8]]))
    array([0, 1])
    """
    _RULES.register_class(rule, DecisionRule)
    return rule


def from_dict(data: dict[str, Any], *, n_classes: int | None = None) -> DecisionRule:
    """Return the rule that a ``to_dict`` described."""
    kind = _RULES[data["kind"]]
    if kind.binary_only and n_classes not in (2, None):
        raise ValueError(f"`decision` {kind.kind} is for two classes; there are {n_classes}")
    return kind.from_dict(data)
