"""The metric against the share withheld: what a budget buys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from abstain._inputs import FloatArray
from abstain.regions import Choice, Region

__all__ = ["BudgetCurve", "Point"]


class Point(NamedTuple):
    """A choice, what the metric is expected to be on what it keeps, and the weight withheld."""

    choice: Choice
    value: float
    withheld: float


@dataclass(frozen=True, eq=False)
class BudgetCurve:
    """The best choice for each of many budgets.

    Parameters
    ----------
    budgets : ndarray of shape (n_budgets,)
        Largest share of the weight that may be withheld.
    points : list of Point
        What each of them buys.
    """

    budgets: FloatArray
    points: list[Point]

    @property
    def choices(self) -> tuple[Choice, ...]:
        """What is withheld, and how the rest is predicted."""
        return tuple(point.choice for point in self.points)

    @property
    def regions(self) -> tuple[Region, ...]:
        """What is withheld."""
        return tuple(point.choice.region for point in self.points)

    @property
    def values(self) -> FloatArray:
        """The metric estimated for what is kept."""
        return np.array([point.value for point in self.points])

    @property
    def withheld(self) -> FloatArray:
        """The weight withheld: at most the budget, 0 where abstaining does not help."""
        return np.array([point.withheld for point in self.points])
