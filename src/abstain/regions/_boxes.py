"""Boxes of probability vectors: what a sampled metric of many classes withholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask, both_columns
from abstain._numerics import ROUNDING
from abstain._schema import Keys, ListOf, Numbers, Whole
from abstain.program import Value
from abstain.regions._base import Region, built_in


@dataclass(frozen=True)
class Box:
    """Probability vectors with one predicted class and each probability in an interval.

    Parameters
    ----------
    column : int
        The predicted class.
    lower, upper : tuple of float
        For each class, ``lower < p <= upper``.
    """

    column: int
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    @classmethod
    def whole(cls, column: int, n_classes: int) -> Self:
        """Return the box of everything predicted as one class."""
        return cls(column, (-1.0,) * n_classes, (2.0,) * n_classes)

    def halved(self, column: int, cut: float) -> tuple[Self, Self]:
        """Return the parts where a probability is at most the cut, and above it."""
        upper, lower = list(self.upper), list(self.lower)
        upper[column], lower[column] = cut, cut
        own = type(self)
        return (
            own(self.column, self.lower, tuple(upper)),
            own(self.column, tuple(lower), self.upper),
        )


def _between(p: FloatArray, edge: float) -> float:
    """Return a face away from the rows on its two sides, where they leave room."""
    if not 0 <= edge <= 1:
        return edge
    below = p[p <= edge].max(initial=-1.0)
    above = p[p > edge].min(initial=2.0)
    room = ROUNDING * abs(edge)
    if above - below <= 2 * room:
        return edge
    return float(np.clip(edge, below + room, above - room))


@built_in
@dataclass(frozen=True)
class ProbabilityBoxes(Region):
    """Rows in any of some boxes of probability vectors.

    Parameters
    ----------
    boxes : tuple of Box
    """

    kind: ClassVar[str] = "probability-boxes"
    keys: ClassVar[Keys] = {
        "boxes": ListOf(
            ListOf(
                Whole(0, below="classes"),
                Numbers(("classes",), low=-1, high=2),
                Numbers(("classes",), low=-1, high=2),
            ),
            most=100_000,
        )
    }
    reads_prediction: ClassVar[bool] = True

    boxes: tuple[Box, ...]

    def operations(self, proba: Value, prediction: Value) -> Value:
        """State which rows lie in one of the boxes."""
        columns, lower, upper = (
            [getattr(box, part) for box in self.boxes] for part in ("column", "lower", "upper")
        )
        return proba.in_any_box(prediction, columns, lower, upper)

    def cleared(
        self, proba: FloatArray, prediction: IntArray, *, outwards: bool
    ) -> tuple[Self, Mask]:
        """Return the boxes with their faces where no row is, and what they withhold.

        Boxes share faces, so a face stays where rows leave no room.
        """
        columns = both_columns(proba)

        def moved(edges: tuple[float, ...]) -> tuple[float, ...]:
            return tuple(_between(columns[:, i], edge) for i, edge in enumerate(edges))

        cleared = type(self)(
            tuple(Box(box.column, moved(box.lower), moved(box.upper)) for box in self.boxes)
        )
        return cleared, cleared.contains(proba, prediction)

    def describe(self) -> str:
        """Say in a few words what is withheld."""
        return f"probabilities in one of {len(self.boxes)} boxes"

    def in_words(self, positive: str) -> str:
        """Say in a sentence which cases are referred."""
        return "cases that leave the most doubt are referred"

    def to_dict(self) -> dict[str, Any]:
        """Return the region as plain data."""
        boxes = [[box.column, list(box.lower), list(box.upper)] for box in self.boxes]
        return {"kind": self.kind, "boxes": boxes}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the region that ``to_dict`` described."""
        return cls(
            tuple(
                Box(int(column), tuple(map(float, lower)), tuple(map(float, upper)))
                for column, lower, upper in data["boxes"]
            )
        )
