"""The one interface of all regions, and a choice: a region with a rule that predicts the rest.

Probabilities are ``(n, n_classes)``, or of two classes ``(n,)``: those of the positive one.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask, both_columns
from abstain._numerics import Registry
from abstain.program import Value, given, on_rows
from abstain.rules import DecisionRule, Part


class Region(Part):
    """A set of probability vectors that go to a person, as a dataclass."""

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
        return on_rows(self.operations(rows, place), known)

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
        return np.asarray(self.contains(proba, prediction) + doubt)

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


R = TypeVar("R", bound=Region)

_REGIONS: Registry[type[Region]] = Registry(
    "region",
    tag="kind",
    remedy="One of your own is known after abstain.regions.register(its class).",
)
#: What a policy file holds of its region.
KEYS = _REGIONS.stored(lambda kind: kind.keys)


def built_in(region: type[R]) -> type[R]:
    """Make a region known by its kind."""
    _REGIONS.add(region.kind, region)
    return region


def register(region: type[R]) -> type[R]:
    """Make a region of your own known by its ``kind``, to policies that are loaded.

    Parameters
    ----------
    region : type
        A dataclass made from ``Region``, of what its ``keys`` say; it may stand above the class as
        a decorator. One registered before under the same kind is replaced.

    Returns
    -------
    type
        The class.

    Raises
    ------
    ValueError
        If the kind is that of a built-in region.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from abstain import regions
    >>> @regions.register
    ... @dataclass(frozen=True)
    ... class Rare(regions.Region):
    ...     kind, keys = "rare", {"least": ()}
    ...     least: float
    ...     def operations(self, proba, prediction):
    ...         return proba[1].reaches(self.least)
    ...     def describe(self):
    ...         return f"probability of at least {self.least:g}"
    ...     def in_words(self, positive):
    ...         return f"cases of {positive} from {self.least:g} on are referred"
    >>> Rare(0.5).contains(np.array([0.4, 0.6]), np.array([0, 1]))
    array([False,  True])
    """
    _REGIONS.register_class(region, Region)
    return region


def from_dict(data: dict[str, Any], *, n_classes: int | None = None) -> Region:
    """Return the region that a ``to_dict`` described."""
    kind = _REGIONS[data["kind"]]
    if kind.binary_only and n_classes not in (2, None):
        raise ValueError(f"`withhold` {kind.kind} is for two classes; there are {n_classes}")
    return kind.from_dict(data)


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
