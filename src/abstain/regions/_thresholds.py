"""Thresholds: rows whose expected gain, uncertainty or doubt reaches one, and where to put it.

Confusion metrics withhold by the expected gain of withholding, top-k accuracy by the sum of a
row's largest probabilities; the metric-agnostic scores of uncertainty are what the paper compares
against.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from abstain import scores
from abstain._inputs import FloatArray, IntArray, Mask, both_columns, whole_rows
from abstain._kernels.confusion import linear_gain, top_share
from abstain._numerics import ROUNDING, clear_edge, plain
from abstain._schema import FOUND, Either, Keys, Numbers, Whole
from abstain.program import Value
from abstain.regions._base import Region, built_in
from abstain.rules import DecisionRule
from abstain.summaries import WEIGHT_TOLERANCE

# Of more classes a file holds gains that hang on the true class alone as two for each.
_MANY_CLASSES = 32

#: The farthest that rounding may move any value, and that of some rows by themselves.
Reach = tuple[float, Callable[[IntArray], FloatArray] | None]


class ThresholdRegion(Region):
    """Rows whose priority reaches a threshold."""

    #: -1 where the threshold is on minus the priority, and what is at most that is withheld.
    sign: ClassVar[int] = 1

    threshold: float

    @abstractmethod
    def score(self, proba: FloatArray, prediction: IntArray) -> FloatArray:
        """Return what withholding each row is worth."""

    def priority(
        self, proba: FloatArray, prediction: IntArray, rule: DecisionRule | None = None
    ) -> FloatArray:
        """Return the score of each row."""
        return self.score(proba, prediction)

    def contains(self, proba: FloatArray, prediction: IntArray) -> Mask:
        """Tell for each row whether its priority reaches the threshold."""
        return self.priority(proba, prediction) >= self.sign * self.threshold

    def cleared(
        self, proba: FloatArray, prediction: IntArray, *, outwards: bool
    ) -> tuple[Self, Mask]:
        """Return the region with its threshold where no row is, and what it withholds."""
        values, edge = self.priority(proba, prediction), self.sign * self.threshold
        reach = self._reach(proba, prediction)
        if reach is not None:
            edge = clear_edge(values, edge, reach[0], outwards=outwards, own_reach=reach[1])
        return replace(self, threshold=self.sign * edge), values >= edge  # type: ignore[type-var]

    def _reach(self, proba: FloatArray, prediction: IntArray) -> Reach | None:
        """Return how far rounding may move what the threshold is on; None where nobody knows."""
        return ROUNDING, None

    @classmethod
    def _read_threshold(cls, data: dict[str, Any]) -> float:
        """Return a threshold of JSON, which has no infinity: None stands for one never reached."""
        return cls.sign * np.inf if data["threshold"] is None else float(data["threshold"])


@built_in
@dataclass(frozen=True, eq=False)
class GainThreshold(ThresholdRegion):
    """Rows whose withholding is expected to gain the most.

    Parameters
    ----------
    gains : ndarray of shape (n_classes, n_classes)
        Entry (i, j): what withholding an example of true class i predicted as j is worth.
    threshold : float
        Withhold where the expected gain ``sum_i P[x, i] * gains[i, f(x)]`` is at least this.
    """

    kind: ClassVar[str] = "gain-threshold"
    keys: ClassVar[Keys] = {
        "gains": Either(
            list=Numbers(("classes", "classes")),
            object={"right": ("classes",), "wrong": ("classes",)},
        ),
        "threshold": FOUND,
    }
    reads_prediction: ClassVar[bool] = True
    score_label: ClassVar[str] = "expected gain from referring the case"

    gains: FloatArray
    threshold: float

    def score(self, proba: FloatArray, prediction: IntArray) -> FloatArray:
        """Return the expected gain of withholding each row."""
        return linear_gain(both_columns(proba), prediction, self.gains)

    def operations(self, proba: Value, prediction: Value) -> Value:
        """State which rows' expected gain reaches the threshold."""
        return (proba @ self.gains).pick(prediction).reaches(self.threshold)

    def _reach(self, proba: FloatArray, prediction: IntArray) -> Reach:
        sizes = np.abs(self.gains)

        def own_reach(rows: IntArray) -> FloatArray:
            chosen = both_columns(proba[rows])
            return ROUNDING * linear_gain(chosen, prediction[rows], sizes)

        return ROUNDING * float(sizes.max()), own_reach

    def describe(self) -> str:
        """Say in a few words what is withheld."""
        return f"expected gain of withholding at least {self.threshold:.4g}"

    def in_words(self, positive: str) -> str:
        """Say in a sentence which cases are referred."""
        return "cases whose removal is expected to help the metric most are referred"

    def to_dict(self) -> dict[str, Any]:
        """Return the region as plain data."""
        right, wrong = np.diag(self.gains), np.append(self.gains[:-1, -1], self.gains[-1, 0])
        gains: Any = self.gains.tolist()
        if len(right) > _MANY_CLASSES and (self.gains == _of_wrong(right, wrong)).all():
            gains = {"right": right.tolist(), "wrong": wrong.tolist()}
        return {"kind": self.kind, "gains": gains, "threshold": plain(self.threshold)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the region that ``to_dict`` described."""
        gains = data["gains"]
        if isinstance(gains, dict):
            gains = _of_wrong(np.asarray(gains["right"]), np.asarray(gains["wrong"]))
        gains = np.array(gains, dtype=np.float64)
        return cls(gains=gains, threshold=cls._read_threshold(data))


def _of_wrong(right: FloatArray, wrong: FloatArray) -> FloatArray:
    """Return gains of which all of a true class that is predicted wrong are the same."""
    gains = np.repeat(wrong[:, None], len(wrong), axis=1)
    np.fill_diagonal(gains, right)
    return gains


@built_in
@dataclass(frozen=True)
class ScoreThreshold(ThresholdRegion):
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
    keys: ClassVar[Keys] = {
        "score": scores.KEYS,
        "parameters": {f"{name}?": kind for name, kind in scores.TOLD.items()},
        "threshold": FOUND,
    }
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

    def operations(self, proba: Value, prediction: Value) -> Value:
        """State which rows' score reaches the threshold."""
        return scores.operations_of(self.name)(proba, **self.parameters).reaches(self.threshold)

    def _reach(self, proba: FloatArray, prediction: IntArray) -> Reach | None:
        # The size of a function of the user's is not known, and chance is a number of its own.
        own = not isinstance(self.name, str) or scores.is_own(self.name)
        return None if own or self.name == "random" else (ROUNDING, None)

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
            "threshold": plain(self.threshold),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the region that ``to_dict`` described."""
        name, threshold = scores.from_plain(data["score"]), cls._read_threshold(data)
        scores.check_told(name, data["parameters"])
        return cls(name=name, threshold=threshold, parameters=data["parameters"])


@built_in
@dataclass(frozen=True)
class TopShare(ThresholdRegion):
    """Rows whose few most probable classes leave the most doubt.

    Parameters
    ----------
    k : int
        How many of the largest probabilities of a row are added.
    threshold : float
        Withhold where their sum is at most this.
    """

    kind: ClassVar[str] = "top-share"
    keys: ClassVar[Keys] = {"k": Whole(1, 10**6), "threshold": FOUND}
    score_label: ClassVar[str] = "doubt that the most probable classes leave"

    sign: ClassVar[int] = -1

    k: int
    threshold: float

    def share(self, proba: FloatArray) -> FloatArray:
        """Return the sum of the k largest probabilities of each row."""
        return top_share(both_columns(proba), self.k)

    def score(self, proba: FloatArray, prediction: IntArray) -> FloatArray:
        """Return the chance that a row's class is not among its k most probable ones."""
        return 1 - self.share(proba)

    def operations(self, proba: Value, prediction: Value) -> Value:
        """State which rows' largest probabilities add up to no more than the threshold."""
        return proba.top(self.k).total().stays_within(self.threshold)

    def priority(
        self, proba: FloatArray, prediction: IntArray, rule: DecisionRule | None = None
    ) -> FloatArray:
        """Return minus the sum of the k largest probabilities."""
        return -self.share(proba)

    def describe(self) -> str:
        """Say in a few words what is withheld."""
        return f"sum of the {self.k} largest probabilities at most {self.threshold:.4g}"

    def in_words(self, positive: str) -> str:
        """Say in a sentence which cases are referred."""
        return "cases that leave the most doubt are referred"

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the region that ``to_dict`` described."""
        return cls(k=int(data["k"]), threshold=cls._read_threshold(data))


def _checked_score(values: FloatArray, n_rows: int) -> FloatArray:
    score = np.asarray(values, dtype=np.float64)
    if score.shape != (n_rows,) or np.isnan(score).any():
        raise ValueError(
            f"`score` must return one number per row, no NaN; {n_rows} rows, got shape "
            f"{score.shape} with {int(np.isnan(score).sum())} NaN."
        )
    return score


def score_threshold(
    score: FloatArray, capacity: float, sample_weight: FloatArray | None = None
) -> float:
    """Return the lowest threshold such that the rows at or above it fit the capacity.

    Rows with equal scores stay together, so the weight at or above the threshold may be less
    than the capacity, never more than by rounding. Infinity when not even the highest score fits.
    """
    if sample_weight is None:
        return _unit_threshold(score, whole_rows(min(capacity, len(score))))
    order = np.argsort(-score, kind="stable")
    ordered = score[order]
    taken = np.cumsum(sample_weight[order])
    last_of_tie = np.append(ordered[1:] != ordered[:-1], True)
    fits = last_of_tie & (taken <= capacity + WEIGHT_TOLERANCE * taken[-1])
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
