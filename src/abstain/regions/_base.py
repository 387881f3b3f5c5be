"""The one interface of all regions, and a choice: a region with a rule that predicts the rest.

Probabilities are ``(n, n_classes)``, or of two classes ``(n,)``: those of the positive one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask, both_columns
from abstain._numerics import plain
from abstain.program import Value, given, on_rows
from abstain.rules import DecisionRule


class Region(ABC):
    """A set of probability vectors that go to a person, as a dataclass."""

    #: The registered name.
    kind: ClassVar[str]
    #: Whether ``contains`` reads the predictions.
    reads_prediction: ClassVar[bool] = False
    #: What ``score`` is, for people.
    score_label: ClassVar[str] = ""
    #: The score of uncertainty that the region is a threshold on, if it is one.
    order: Any = None

    def contains(self, proba: FloatArray, prediction: IntArray) -> Mask:
        """Tell for each row whether it is withheld."""
        columns = both_columns(proba)
        rows, place = given(columns.shape[1]), given(None, "place")
        known = {rows: columns, place: prediction} if self.reads_prediction else {rows: columns}
        mask: Mask = on_rows(self.operations(rows, place), known)
        return mask

    @abstractmethod
    def operations(self, proba: Value, prediction: Value) -> Value:
        """State which rows are withheld, of probabilities of all classes and the predicted column.

        What ``contains`` does is what is stated here, and every export does the same.
        """

    def score(self, proba: FloatArray, prediction: IntArray) -> FloatArray | None:
        """Return what withholding each row is worth; None where rows are withheld as one."""
        return None

    def priority(
        self, proba: FloatArray, prediction: IntArray, rule: DecisionRule | None = None
    ) -> FloatArray:
        """Return how pressing each row is: the order of a nested family of regions.

        Higher is more pressing, and what is withheld comes before what is not. Of both the less
        probable its most probable class is, the more pressing is a row.
        """
        doubt = 1 - both_columns(proba).max(axis=1)
        pressing: FloatArray = self.contains(proba, prediction) + doubt
        return pressing

    def cleared(
        self, proba: FloatArray, prediction: IntArray, *, outwards: bool
    ) -> tuple[Region, Mask]:
        """Return the region with its edges where none of these rows is, and what it withholds.

        That is what it withheld before, unless rows about an edge differ by rounding alone: then
        none of them is withheld, or all are if ``outwards``.
        """
        return self, self.contains(proba, prediction)

    def narrowed(self) -> Region | None:
        """Return the region a few roundings smaller; None where its edge is that of a row."""
        return None

    @abstractmethod
    def describe(self) -> str:
        """Say in a few words what is withheld."""

    @abstractmethod
    def in_words(self, positive: str) -> str:
        """Say in a sentence, to somebody who has not read the docs, which cases are referred."""

    def to_dict(self) -> dict[str, Any]:
        """Return the region as plain data; what is not finite, as JSON has it, is None."""
        return {"kind": self.kind, **plain(vars(self))}

    @classmethod
    @abstractmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the region that ``to_dict`` described."""


_NOT_READ: IntArray = np.empty(0, dtype=np.intp)


class Choice(NamedTuple):
    """Whom to withhold, and how to predict the rest."""

    region: Region
    rule: DecisionRule

    def apply(self, proba: FloatArray) -> tuple[IntArray, Mask]:
        """Return the predicted column of each row, and whether it is withheld."""
        prediction = self.rule.predict(proba)
        return prediction, self.region.contains(proba, prediction)

    def predicted(self, proba: FloatArray) -> tuple[IntArray, Mask]:
        """Return the predicted column of each row, and that none is withheld."""
        return self.rule.predict(proba), np.zeros(len(proba), dtype=np.bool_)

    def withheld(self, proba: FloatArray) -> Mask:
        """Return whether each row is withheld; nothing is predicted where that is not needed."""
        if self.region.reads_prediction:
            return self.apply(proba)[1]
        return self.region.contains(proba, _NOT_READ)
