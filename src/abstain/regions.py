"""What can be withheld: a set of probability vectors, as data.

A region is chosen once on a batch (``metrics``, ``baselines``), then frozen into a policy. Two
rows with the same probabilities are always treated alike, so a region that fits a budget may
withhold a little less where ties straddle its edge, and never more.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.confusion import linear_gain, top_share

__all__ = [
    "Box",
    "GainThreshold",
    "Interval",
    "ProbabilityBoxes",
    "Region",
    "TopShare",
    "score_threshold",
]

Mask = NDArray[np.bool_]


class Region(Protocol):
    """A set of probability vectors that go to a person."""

    kind: ClassVar[str]

    def contains(self, proba: FloatArray, prediction: IntArray) -> Mask:
        """Tell for each row whether it is withheld."""
        ...

    def describe(self) -> str:
        """Say in words what is withheld."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the region as plain data."""
        ...


@dataclass(frozen=True)
class Interval:
    """An interval of the positive class's probability, both ends included.

    Parameters
    ----------
    lower, upper : float
        Withhold where ``lower <= p <= upper``; nothing when ``lower > upper``.
    """

    kind: ClassVar[str] = "interval"

    lower: float
    upper: float

    @classmethod
    def empty(cls) -> Self:
        """Return the interval that withholds nothing."""
        return cls(lower=1.0, upper=0.0)

    def contains(self, proba: FloatArray, prediction: IntArray) -> Mask:
        """Tell for each row whether its positive probability lies in the interval."""
        p = proba[:, 1]
        return (p >= self.lower) & (p <= self.upper)

    def describe(self) -> str:
        """Say in words what is withheld."""
        return f"probability from {self.lower:.4g} to {self.upper:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the region as plain data."""
        return {"kind": self.kind, "lower": self.lower, "upper": self.upper}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the region that ``to_dict`` described."""
        return cls(lower=float(data["lower"]), upper=float(data["upper"]))


@dataclass(frozen=True, eq=False)
class GainThreshold:
    """Rows whose withholding is expected to gain the most.

    Parameters
    ----------
    gains : ndarray of shape (n_classes, n_classes)
        Entry (i, j): what withholding an example of true class i predicted as j is worth.
    threshold : float
        Withhold where the expected gain ``sum_i P[x, i] * gains[i, f(x)]`` is at least this.
    """

    kind: ClassVar[str] = "gain-threshold"

    gains: FloatArray
    threshold: float

    def score(self, proba: FloatArray, prediction: IntArray) -> FloatArray:
        """Return the expected gain of withholding each row."""
        return linear_gain(proba, prediction, self.gains)

    def contains(self, proba: FloatArray, prediction: IntArray) -> Mask:
        """Tell for each row whether its expected gain reaches the threshold."""
        mask: Mask = self.score(proba, prediction) >= self.threshold
        return mask

    def describe(self) -> str:
        """Say in words what is withheld."""
        return f"expected gain of withholding at least {self.threshold:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the region as plain data."""
        # JSON has no infinity; None stands for a threshold nothing reaches.
        threshold = self.threshold if np.isfinite(self.threshold) else None
        return {"kind": self.kind, "gains": self.gains.tolist(), "threshold": threshold}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the region that ``to_dict`` described."""
        threshold = np.inf if data["threshold"] is None else float(data["threshold"])
        return cls(gains=np.array(data["gains"], dtype=np.float64), threshold=threshold)


@dataclass(frozen=True)
class TopShare:
    """Rows whose few most probable classes leave the most doubt.

    Parameters
    ----------
    k : int
        How many of the largest probabilities of a row are added.
    threshold : float
        Withhold where their sum is at most this.
    """

    kind: ClassVar[str] = "top-share"

    k: int
    threshold: float

    def share(self, proba: FloatArray) -> FloatArray:
        """Return the sum of the k largest probabilities of each row."""
        return top_share(proba, self.k)

    def contains(self, proba: FloatArray, prediction: IntArray) -> Mask:
        """Tell for each row whether its top share is at most the threshold."""
        mask: Mask = self.share(proba) <= self.threshold
        return mask

    def describe(self) -> str:
        """Say in words what is withheld."""
        return f"sum of the {self.k} largest probabilities at most {self.threshold:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the region as plain data."""
        # JSON has no infinity; None stands for a threshold nothing falls to.
        threshold = self.threshold if np.isfinite(self.threshold) else None
        return {"kind": self.kind, "k": self.k, "threshold": threshold}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the region that ``to_dict`` described."""
        threshold = -np.inf if data["threshold"] is None else float(data["threshold"])
        return cls(k=int(data["k"]), threshold=threshold)


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

    def contains(self, proba: FloatArray, prediction: IntArray) -> Mask:
        """Tell for each row whether it lies in the box."""
        inside: Mask = prediction == self.column
        for i, (lower, upper) in enumerate(zip(self.lower, self.upper, strict=True)):
            inside &= (proba[:, i] > lower) & (proba[:, i] <= upper)
        return inside


@dataclass(frozen=True)
class ProbabilityBoxes:
    """Rows in any of some boxes of probability vectors.

    Parameters
    ----------
    boxes : tuple of Box
    """

    kind: ClassVar[str] = "probability-boxes"

    boxes: tuple[Box, ...]

    def contains(self, proba: FloatArray, prediction: IntArray) -> Mask:
        """Tell for each row whether it lies in one of the boxes."""
        mask: Mask = np.zeros(len(proba), dtype=np.bool_)
        for box in self.boxes:
            mask |= box.contains(proba, prediction)
        return mask

    def describe(self) -> str:
        """Say in words what is withheld."""
        return f"probabilities in one of {len(self.boxes)} boxes"

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


def score_threshold(
    score: FloatArray, capacity: float, sample_weight: FloatArray | None = None
) -> float:
    """Return the lowest threshold such that the rows at or above it fit the capacity.

    Rows with equal scores stay together, so the weight at or above the threshold may be less
    than the capacity, never more. Infinity when not even the highest score fits.
    """
    if sample_weight is None:
        return _unit_threshold(score, int(capacity))
    order = np.argsort(-score, kind="stable")
    ordered = score[order]
    taken = np.cumsum(sample_weight[order])
    last_of_tie = np.append(ordered[1:] != ordered[:-1], True)
    fits = last_of_tie & (taken <= capacity)
    return float(ordered[np.flatnonzero(fits)[-1]]) if fits.any() else np.inf


def _unit_threshold(score: FloatArray, count: int) -> float:
    n = len(score)
    if count <= 0:
        return np.inf
    if count >= n:
        return float(score.min())
    threshold = np.partition(score, n - count)[n - count]
    if np.count_nonzero(score >= threshold) <= count:
        return float(threshold)
    above = score[score > threshold]
    return float(above.min()) if above.size else np.inf
