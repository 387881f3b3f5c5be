"""A rule of two classes on one score column: comparisons of the column with numbers.

Prediction and abstention are intervals of the raw score, found on the policy itself (``runs``), so
there is no logarithm or exponential in them to differ in a last digit. Doubles are numbered in
their order: halving the numbers between two of them finds the very neighbours between which a rule
differs, whatever the last digits of its own logarithms and exponentials are.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray
from abstain.policy import Policy
from abstain.sql._steps import Steps

Run = tuple[float, float]
Keys = NDArray[np.int64]
# Between two neighbours that differ so many more are asked, until nothing lies between.
_BETWEEN = 64
# About every change all of this many neighbours are asked, and of further ones some: a curve made
# of logarithms and exponentials need not rise at every last digit.
_NEAR = 512
_FARTHEST_STEP = 40
_PER_STEP = 16
_GRID, _WIDE = 257, 60.0


class OneScore:
    """The expressions of a rule of two classes on one score column, of parts that are known.

    Parameters
    ----------
    steps : Steps
        The query in the making; no step is added to it.
    policy : Policy
        The rule.
    dtype : numpy dtype
        What the score column holds, float32 or float64.
    """

    def __init__(self, steps: Steps, policy: Policy, dtype: Any) -> None:
        self.sql, self.policy, self.dtype = steps, policy, np.dtype(dtype)
        given = policy.calibrator.scale == "probabilities"
        largest = float(np.finfo(self.dtype).max)
        self.whole: Run = (0.0, 1.0) if given else (-largest, largest)
        turns = np.unique(np.clip([0.5, *_TURNS[policy.rule.kind](policy.rule)], 0, 1))
        self.turns = np.unique(np.append(turns, _REGION_TURNS[policy.region.kind](policy.region)))

    @staticmethod
    def suits(policy: Policy) -> bool:
        """Tell whether all parts are known, so that it can be said where each may turn."""
        order = policy.region.order
        return (
            policy.calibrator.name in _CURVES
            and policy.rule.kind in _TURNS
            and policy.region.kind in _REGION_TURNS
            and (order is None or order in _SCORES)
        )

    def decisions(self) -> tuple[Any, Any]:
        """Return the prediction, NULL where there is no score, and whether a row is withheld."""
        found = runs(self._asked, self._points())
        by_class = [
            _merged(found, lambda code: not code & 2),
            _merged(found, lambda code: code & 2),
        ]
        withheld = _merged(found, lambda code: code & 1)
        sql = self.sql
        labels = self.policy.classes.tolist()
        prediction = sql.case(
            [
                (self._within(where), sql_label(sql, label))
                for where, label in zip(by_class, labels, strict=True)
                if where
            ]
        )
        nowhere = sql.opposite(self._within([self.whole]))
        reasons = [self._within(withheld), nowhere] if withheld else [nowhere]
        return prediction, sql.unless_false(sql.either(*reasons))

    def _within(self, where: list[Run]) -> Any:
        sql = self.sql
        return sql.either(*(sql.between(sql.score(0), low, high) for low, high in where))

    def _asked(self, scores: NDArray[Any]) -> NDArray[np.int64]:
        """Return what is decided about scores, and between which turns their probability lies."""
        p = self._proba(scores)
        prediction, abstain = self.policy.choice.apply(p)
        place = np.searchsorted(self.turns, p, "left") + np.searchsorted(self.turns, p, "right")
        return 4 * place + 2 * prediction + abstain

    def _proba(self, scores: NDArray[Any]) -> FloatArray:
        return np.ascontiguousarray(self.policy.predict_proba(scores)[:, 1])

    def _points(self) -> NDArray[Any]:
        """Return scores between which the probability only rises or only falls."""
        low, high = np.array(self.whole, dtype=self.dtype)
        turns = _raw_turns(self.policy.calibrator)
        # Some more, which cost nothing.
        between = np.linspace(max(low, -_WIDE), min(high, _WIDE), _GRID)
        points = np.concatenate([[low, high], turns, between]).astype(self.dtype)
        inside: NDArray[Any] = np.clip(points, low, high)
        return inside


def sql_label(sql: Steps, label: Any) -> Any:
    """Return a class label as a literal of its kind."""
    if isinstance(label, bool):
        return sql.truth(label)
    if isinstance(label, int) and -(2**63) < label < 2**63:
        return sql.whole(label)
    if isinstance(label, float):
        return sql.number(label)
    return sql.text(str(label))


def _merged(found: list[tuple[float, float, int]], chosen: Callable[[int], Any]) -> list[Run]:
    """Return the runs with a chosen answer, those beside one another as one."""
    parts = [[*part] for yes, part in groupby(found, lambda run: bool(chosen(run[2]))) if yes]
    return [(part[0][0], part[-1][1]) for part in parts]


def _slopes(calibrator: Any) -> tuple[float, float]:
    """Return a and b: the calibrated log-odds are ``a log p - b log(1 - p)`` and a constant.

    Of scalings of one logit, which has the place of log p, b is 0.
    """
    if calibrator.name == "dirichlet":
        (keep, lose), (gain, own) = calibrator.matrix_.tolist()
        return own - gain, keep - lose
    b, a = calibrator.slope_.tolist()
    return a, 0.0 if calibrator.scale == "logits" and calibrator.name != "beta" else b


def _raw_turns(calibrator: Any) -> FloatArray:
    """Return raw scores between which the calibrated probability only rises or only falls."""
    given = calibrator.scale == "probabilities"
    if calibrator.name == "isotonic":
        odds = calibrator.thresholds_
        return np.asarray(1 / (1 + np.exp(-odds)) if given else odds)
    a, b = _slopes(calibrator)
    if not a * b < 0:
        return np.empty(0)
    p = a / (a - b)
    return np.array([p if given else np.log(p / (1 - p))])


def _zeros(gains: FloatArray) -> list[float]:
    """Return where the gain of each class, and their difference, is 0."""
    lines = [*gains.T, gains[:, 1] - gains[:, 0]]
    return [float(at_0 / (at_0 - at_1)) for at_0, at_1 in lines if at_0 != at_1]


def _score_turns(region: Any) -> list[float]:
    if region.order == "js-divergence":
        return [float(region.parameters["priors"][1])]
    return [0.5]


def _box_turns(region: Any) -> list[float]:
    edges = [(box.lower, box.upper) for box in region.boxes]
    return [p for both in edges for first, second in both for p in (1 - first, second)]


# The calibrators whose curve of one score is known here, and the scores that rise up to one half
# (or the proportions) and fall from there.
_CURVES = {
    "bcts", "beta", "dirichlet", "identity", "isotonic", "nbvs", "platt", "temperature", "vector",
}  # fmt: skip
_SCORES = {"distance-from-half", "entropy", "gini", "js-divergence", "margin", "max-probability"}
#: The probabilities between which a rule, given its kind, changes at most once.
_TURNS: dict[str, Callable[[Any], list[float]]] = {
    "argmax": lambda rule: [0.5],
    "best-gain": lambda rule: _zeros(rule.gains),
    "threshold": lambda rule: [rule.threshold],
}
#: The same for what is withheld, where the prediction does not change.
_REGION_TURNS: dict[str, Callable[[Any], list[float]]] = {
    "gain-threshold": lambda region: [],
    "interval": lambda region: [region.lower, region.upper],
    "probability-boxes": _box_turns,
    "score-threshold": _score_turns,
    "top-share": lambda region: [0.5],
}


def to_keys(values: NDArray[Any]) -> Keys:
    """Return the number of each double (or single) in their order; both zeros are 0."""
    whole: Keys = values.view(np.int32 if values.itemsize == 4 else np.int64).astype(np.int64)
    sign = np.int64(2**31 - 1 if values.itemsize == 4 else 2**63 - 1)
    return np.where(whole >= 0, whole, -(whole & sign))


def to_values(keys: Keys, dtype: Any) -> NDArray[Any]:
    """Return the doubles (or singles) of these numbers."""
    kind = np.int32 if np.dtype(dtype).itemsize == 4 else np.int64
    values: NDArray[Any] = np.abs(keys).astype(kind).view(dtype)
    return np.where(keys < 0, -values, values)


def runs(
    asked: Callable[[NDArray[Any]], NDArray[np.int64]], points: NDArray[Any]
) -> list[tuple[float, float, int]]:
    """Return runs of neighbouring numbers that get one answer: first, last, answer.

    Parameters
    ----------
    asked : callable
        Gives a whole number for each of some doubles (or singles).
    points : ndarray
        The least and the largest, and enough between that each answer from one to the next
        changes at most once from one value to another.
    """
    keys = np.unique(to_keys(points))
    dtype = points.dtype
    low, high = keys[0], keys[-1]
    keys, answers = _refined(asked, keys, np.empty(0, dtype=np.int64), dtype)
    at = np.flatnonzero(answers[1:] != answers[:-1])
    if len(at):
        steps = 2 ** np.arange(_FARTHEST_STEP)
        reach = np.unique(
            np.append(np.arange(_NEAR), np.multiply.outer(np.arange(1, _PER_STEP), steps))
        )
        about = np.concatenate(
            [np.subtract.outer(keys[at], reach).ravel(), np.add.outer(keys[at + 1], reach).ravel()]
        )
        about = about[(about >= low) & (about <= high)]
        keys, answers = _refined(asked, keys, about, dtype)
    begins = np.flatnonzero(np.append(True, answers[1:] != answers[:-1]))
    ends = np.append(begins[1:], len(keys)) - 1
    first, last = (to_values(keys[at], dtype).astype(float).tolist() for at in (begins, ends))
    return list(zip(first, last, answers[begins].tolist(), strict=True))


def _refined(
    asked: Callable[[NDArray[Any]], NDArray[np.int64]], keys: Keys, more: Keys, dtype: Any
) -> tuple[Keys, NDArray[np.int64]]:
    """Return numbers and their answers, all changes of which lie between neighbours."""
    keys = np.unique(np.append(keys, more))
    answers = asked(to_values(keys, dtype))
    while True:
        # As unsigned numbers, since all doubles are more than half of them apart.
        gaps = np.diff(keys.view(np.uint64))
        open_ = np.flatnonzero((answers[1:] != answers[:-1]) & (gaps > 1))
        if not len(open_):
            return keys, answers
        steps = (gaps[open_] // np.uint64(_BETWEEN + 1)).astype(np.int64)
        inside = keys[open_][:, None] + steps[:, None] * np.arange(1, _BETWEEN + 1)
        few = steps == 0
        inside[few] = np.minimum(
            keys[open_][few][:, None] + np.arange(1, _BETWEEN + 1), keys[open_ + 1][few][:, None]
        )
        new = np.setdiff1d(inside, keys)
        merged = np.append(keys, new)
        told = np.append(answers, asked(to_values(new, dtype)))
        order = np.argsort(merged, kind="stable")
        keys, answers = merged[order], told[order]
