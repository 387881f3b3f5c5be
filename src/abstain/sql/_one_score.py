"""A rule of two classes on one score column: comparisons of the column with numbers.

Prediction and abstention are intervals of the raw score, found on the policy itself (``runs``), so
there is no logarithm or exponential in them to differ in a last digit. The probabilities beside
them are computed, and agree but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import WIDEST_LOGIT, FloatArray
from abstain.policy import Policy
from abstain.sql._operations import pieces
from abstain.sql._runs import runs
from abstain.sql._steps import Steps

Run = tuple[float, float]
_GRID, _WIDE = 257, 60.0
# Log-odds beyond this are as good as infinite.
_SURE = 1e4
_LEAST_PROBA = 1e-100


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
        return prediction, sql.unless_false(sql.either(reasons))

    def probabilities(self) -> list[Any]:
        """Return the probability of each class, NULL where there is no score."""
        sql = self.sql
        rest = sql.subtract(sql.number(1.0), self._positive())
        return [
            sql.case([(self._within([self.whole]), value)]) for value in (rest, self._positive())
        ]

    def _within(self, where: list[Run]) -> Any:
        sql = self.sql
        return sql.either([sql.between(sql.score(0), low, high) for low, high in where])

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

    def _positive(self) -> Any:
        """Return the adapted probability of the positive class."""
        policy, sql = self.policy, self.sql
        weights = policy.ratios
        if not (weights > 0).all():
            # One class is ruled out, unless the calibrated probability rules out the other.
            found = runs(lambda x: (self._proba(x) > 0.5).astype(np.int64), self._points())
            where = _merged(found, bool)
            if not where:
                return sql.number(0.0)
            return sql.case([(self._within(where), sql.number(1.0))], sql.number(0.0))
        given = policy.calibrator.scale == "probabilities"
        if policy.calibrator.name == "identity" and given:
            if weights[0] == weights[1]:
                return sql.score(0)
            above = sql.times(sql.score(0), weights[1])
            rest = sql.times(sql.subtract(sql.number(1.0), sql.score(0)), weights[0], least=1e-16)
            return sql.quotient(above, sql.add(rest, above.copy()))
        against = float(weights[0] / weights[1])
        if policy.calibrator.name == "isotonic":
            return self._curve(policy.calibrator, against)
        odds = _log_forms(policy.calibrator)
        return self._logistic(odds, against)

    def _logistic(self, form: tuple[float, float, float], against: float) -> Any:
        """Return ``1 / (1 + against * exp(-(a log p - b log(1 - p) + c)))``."""
        sql, (a, b, c) = self.sql, form
        shift = sql.number(np.log(against) - c)
        slope = min((abs(one) for one in (a, b) if one), default=1.0)
        log_p, log_rest = self._logarithms(slope)
        odds = sql.add(sql.times(log_p, -a), shift)
        if log_rest is not None and b:
            odds = sql.add(sql.times(log_rest, b, least=1e-20), odds)
        if (total := self._excess()) is not None and a != b:
            odds = sql.add(sql.times(total, a - b, least=1e-20), odds)
        return sql.divide(sql.number(1.0), sql.add(sql.number(1.0), sql.bounded_power(odds)))

    def _logarithms(self, slope: float) -> tuple[Any, Any]:
        """Return what stands for log p and log(1 - p) where they are multiplied by so much."""
        sql, calibrator = self.sql, self.policy.calibrator
        if calibrator.scale == "probabilities":
            rest = sql.subtract(sql.number(1.0), sql.score(0))
            return self._floored_log(sql.score(0)), self._floored_log(rest)
        if calibrator.name not in ("beta", "dirichlet"):
            return self._logit(slope), None
        both = []
        for sign in (1.0, -1.0):
            reach = sql.least([sql.size(sql.score(0)), sql.number(700.0)])
            power = sql.exp.Exp(this=sql.exp.Neg(this=sql.exp.Paren(this=reach)))
            below = sql.least(
                [sql.multiply(self._logit(slope), sql.number(sign)), sql.number(0.0)]
            )
            both.append(sql.subtract(below, sql.ln(sql.add(sql.number(1.0), power))))
        return both[0], both[1]

    def _logit(self, slope: float) -> Any:
        """Return the logit, none beyond the widest where that is to be seen."""
        sql = self.sql
        if sql.dialect.infinite and slope * WIDEST_LOGIT > _SURE:
            return sql.score(0)
        inner = sql.least([sql.score(0), sql.number(WIDEST_LOGIT)])
        return sql.greatest([inner, sql.number(-WIDEST_LOGIT)])

    def _floored(self, value: Any) -> Any:
        return self.sql.greatest([value, self.sql.number(float(np.finfo(self.dtype).eps))])

    def _floored_log(self, value: Any) -> Any:
        return self.sql.ln(self._floored(value))

    def _excess(self) -> Any:
        """Return the logarithm of the sum of both floored probabilities, where that is used."""
        sql, calibrator = self.sql, self.policy.calibrator
        if calibrator.scale != "probabilities" or calibrator.name not in ("beta", "dirichlet"):
            return None
        rest = sql.subtract(sql.number(1.0), sql.score(0))
        return sql.ln(sql.add(self._floored(sql.score(0)), self._floored(rest)))

    def _curve(self, calibrator: Any, against: float) -> Any:
        """Return the isotonic curve at the score, a piece for each pair of knots."""
        sql = self.sql
        x, y = calibrator.thresholds_, np.maximum(calibrator.values_, _LEAST_PROBA)
        if not len(x):
            given = calibrator.scale == "probabilities"
            return self._logistic((1.0, 1.0 if given else 0.0, 0.0), against)
        raw = self._passed_at(x, _raw_knots(calibrator))
        p = pieces(sql, x, y, self._log_odds, lambda k: sql.less(sql.score(0), sql.number(raw[k])))
        if against == 1:
            return p
        one = sql.number(1.0)
        odds = sql.subtract(sql.divide(one, p), one.copy())
        odds = sql.times(odds, float(np.clip(against, 1e-150, 1e150)), least=1e-16)
        return sql.divide(one.copy(), sql.add(one.copy(), odds))

    def _passed_at(self, odds: FloatArray, raw: FloatArray) -> FloatArray:
        """Return from which score on each knot is passed: always or never beyond the floor."""
        if self.policy.calibrator.scale == "logits":
            return raw
        farthest = -np.log(np.finfo(self.dtype).eps)
        return np.where(odds <= -farthest, -1.0, np.where(odds > farthest, 2.0, raw))

    def _log_odds(self) -> Any:
        sql = self.sql
        if self.policy.calibrator.scale == "logits":
            return sql.score(0)
        rest = sql.subtract(sql.number(1.0), sql.score(0))
        return sql.subtract(self._floored_log(sql.score(0)), self._floored_log(rest))


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


def _log_forms(calibrator: Any) -> tuple[float, float, float]:
    """Return a, b and c: the calibrated log-odds are ``a log p - b log(1 - p) + c``.

    Of scalings of one logit, which has the place of log p, b is 0.
    """
    if calibrator.name == "dirichlet":
        matrix, bias = calibrator.matrix_, calibrator.bias_
        a, b = matrix[1, 1] - matrix[1, 0], matrix[0, 0] - matrix[0, 1]
    else:
        bias = calibrator.bias_
        b, a = calibrator.slope_
        if calibrator.scale == "logits" and calibrator.name != "beta":
            b = 0.0
    return float(a), float(b), float(bias[1] - bias[0])


def _raw_knots(calibrator: Any) -> FloatArray:
    """Return the raw scores at which an isotonic curve bends."""
    odds = calibrator.thresholds_
    if calibrator.scale == "logits":
        return np.asarray(odds)
    raw: FloatArray = 1 / (1 + np.exp(-odds))
    return raw


def _raw_turns(calibrator: Any) -> FloatArray:
    """Return raw scores between which the calibrated probability only rises or only falls."""
    if calibrator.name == "isotonic":
        return _raw_knots(calibrator)
    a, b, _ = _log_forms(calibrator)
    if not a * b < 0:
        return np.empty(0)
    p = a / (a - b)
    return np.array([p if calibrator.scale == "probabilities" else np.log(p / (1 - p))])


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
