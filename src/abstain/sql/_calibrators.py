"""From scores to calibrated, adapted probabilities, in steps: what ``Policy.predict_proba`` does.

Operation by operation, so that no more than the last digit of a logarithm or an exponential
differs. A row that ``Policy.apply`` would refuse is NULL in all steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from abstain._inputs import ROW_SUM_TOLERANCE, FloatArray
from abstain._numerics import Registry
from abstain.calibration import FARTHEST, SCALINGS
from abstain.policy import Policy
from abstain.shift import ratio_of_priors
from abstain.sql._steps import Steps

_WIDEST_LOGIT = 1e100
# A probability above this is in no row that sums to 1, and of fewer the sum is a number.
_LARGEST_PROBA = 2.0


def checked(sql: Steps, policy: Policy) -> list[str]:
    """Return the scores in double precision, a column per class in the order of the classes.

    Probabilities sum to 1 as those of ``check_scores`` do, logits are none of them immense.
    """
    given_in = policy.columns.tolist()
    places = [given_in.index(label) for label in policy.classes.tolist()]
    scores = sql.step([sql.score(place) for place in places])
    if policy.calibrator.scale == "logits":
        return _logits(sql, scores)
    fit = sql.both([sql.between(score, 0.0, _LARGEST_PROBA) for score in sql.all(scores)])
    total = sql.one(sql.case([(fit, sql.sum(sql.all(scores)))]))

    def off(bound: float) -> Any:
        away = sql.size(sql.subtract(sql(total), sql.number(1.0)))
        return sql.at_most(away, sql.number(bound))

    # Rows whose sum differs from 1 by rounding alone stay as they are.
    rounding = 4 * float(np.finfo(np.float64).eps)
    return sql.step(
        [
            sql.case(
                [
                    (off(rounding), sql(score)),
                    (off(ROW_SUM_TOLERANCE), sql.divide(sql(score), sql(total))),
                ]
            )
            for score in scores
        ]
    )


def _logits(sql: Steps, scores: Sequence[str]) -> list[str]:
    largest = float(np.finfo(np.float64).max)
    fit = sql.both([sql.between(score, -largest, largest) for score in sql.all(scores)])
    highest = sql.one(sql.case([(fit, sql.greatest(sql.all(scores)))]))

    def tamed(score: str) -> Any:
        """Bring what is beyond all use into reach, without a difference that is no number."""
        lowest = sql.number(-_WIDEST_LOGIT)
        near = sql.between(sql(highest), -_WIDEST_LOGIT, _WIDEST_LOGIT)
        apart = sql.both(
            [sql.less(sql(score), lowest.copy()), sql.more(sql(highest), sql.number(0.0))]
        )
        moved = sql.subtract(sql(score), sql(highest))
        return sql.case(
            [
                (sql.missing(sql(highest)), sql.null()),
                (near, sql.at_least(sql(score), -_WIDEST_LOGIT)),
                (apart, lowest),
            ],
            sql.at_least(moved, -_WIDEST_LOGIT),
        )

    return sql.step([tamed(score) for score in scores])


def calibrated(sql: Steps, policy: Policy, scores: list[str], dtype: Any) -> list[str]:
    """Return the calibrated probabilities; of two classes that of the positive one alone."""
    calibrator = policy.calibrator
    if calibrator.scale == "probabilities":
        if calibrator.name == "identity":
            return scores if len(scores) > 2 else scores[1:]
        smallest = float(np.finfo(dtype).eps)
        scores = sql.each(lambda score: sql.logarithm(sql.at_least(score, smallest)), scores)
    proba = _CALIBRATORS[calibrator.name](sql, calibrator, scores)
    return proba[1:] if len(proba) == 2 else proba


def _scaling(sql: Steps, calibrator: Any, logits: list[str]) -> list[str]:
    if len(logits) > 2:
        return _scaled(sql, calibrator, logits)
    (negative, positive), bias = calibrator.slope_, calibrator.bias_
    rest = sql.add(sql.times(sql(logits[0]), negative), sql.number(bias[0] - bias[1]))
    odds = sql.add(sql.times(sql(logits[1]), -positive), sql.exp.Paren(this=rest))
    return [sql.one(sql.logistic(sql(sql.one(odds))))]


def _scaled(sql: Steps, calibrator: Any, logits: list[str]) -> list[str]:
    weighed = zip(sql.all(logits), calibrator.slope_, calibrator.bias_, strict=True)
    return _softmax(sql, [sql.add(sql.times(x, slope), sql.number(b)) for x, slope, b in weighed])


def _away(sql: Steps, logits: list[Any]) -> list[str]:
    """Return how far logits are below the highest."""
    names = sql.step(logits)
    highest = sql.one(sql.greatest(sql.all(names)))
    return sql.step([sql.subtract(sql(name), sql(highest)) for name in names])


def _softmax(sql: Steps, logits: list[Any]) -> list[str]:
    shares = sql.each(sql.power, _away(sql, logits))
    total = sql.one(sql.sum(sql.all(shares)))
    return sql.each(lambda share: sql.share(share, sql(total), len(shares)), shares)


def _log_softmax(sql: Steps, logits: list[str]) -> list[str]:
    away = _away(sql, sql.all(logits))
    total = sql.one(sql.logarithm(sql.sum([sql.power(one) for one in sql.all(away)])))
    return sql.step([sql.subtract(one, sql(total)) for one in sql.all(away)])


def _beta(sql: Steps, calibrator: Any, logits: list[str]) -> list[str]:
    return _scaled(sql, calibrator, _log_softmax(sql, logits))


def _dirichlet(sql: Steps, calibrator: Any, logits: list[str]) -> list[str]:
    logs = _log_softmax(sql, logits)
    return _softmax(
        sql,
        [
            sql.add(sql.weighted_sum(logs, weights), sql.number(bias))
            for weights, bias in zip(calibrator.matrix_.T, calibrator.bias_, strict=True)
        ],
    )


def _isotonic(sql: Steps, calibrator: Any, logits: list[str]) -> list[str]:
    odds = _log_odds(sql, logits)
    if len(logits) == 2:
        return [sql.one(_curve(sql, calibrator, 0, odds[1]))]
    values = sql.step([_curve(sql, calibrator, i, one) for i, one in enumerate(odds)])
    total, n = sql.one(sql.sum(sql.all(values))), len(values)

    def even() -> Any:
        return sql.case([(sql.missing(sql(total)), sql.null())], sql.number(1 / n))

    return sql.each(lambda value: _share_or(sql, value, total, n, even()), values)


def _log_odds(sql: Steps, logits: list[str]) -> list[str]:
    """Return the log-odds of each class against the rest, none of them infinite."""
    away = _away(sql, sql.all(logits))
    highest = [sql.equal(one, sql.number(0.0)) for one in sql.all(away)]
    top = sql.one(sql.number_of_first(highest))

    def is_top(i: int) -> Any:
        return sql.equal(sql(top), sql.whole(i))

    shares = sql.step(
        [
            sql.case([(is_top(i), sql.number(0.0))], sql.power(sql(one)))
            for i, one in enumerate(away)
        ]
    )
    others = sql.one(sql.sum(sql.all(shares)))
    # The rest of any class but the top one contains the top one, so no digits cancel.
    rest = sql.step(
        [
            sql.case(
                [(is_top(i), sql(others))],
                sql.subtract(sql.add(sql.number(1.0), sql(others)), sql(share)),
            )
            for i, share in enumerate(shares)
        ]
    )

    def against(one: Any, left: Any) -> Any:
        alone = sql.equal(left.copy(), sql.number(0.0)), sql.number(FARTHEST)
        return sql.case([alone], sql.subtract(one, sql.logarithm(left)))

    odds = sql.each(against, away, rest)
    high, low = sql.number(FARTHEST), sql.number(-FARTHEST)

    def within_reach(one: Any) -> Any:
        above = sql.more(one.copy(), high.copy()), high.copy()
        below = sql.less(one.copy(), low.copy()), low.copy()
        return sql.case([above, below], one)

    return sql.each(within_reach, odds)


def _curve(sql: Steps, calibrator: Any, curve: int, odds: str) -> Any:
    """Interpolate between the knots of one isotonic curve, flat beyond its ends."""
    begin, end = calibrator.offsets_[curve : curve + 2].astype(int)
    x, y = calibrator.thresholds_[begin:end], calibrator.values_[begin:end]
    if len(x) == 0:
        power = sql.exp.Exp(this=sql.exp.Neg(this=sql(odds)))
        return sql.divide(sql.number(1.0), sql.add(sql.number(1.0), power))
    value = pieces(sql, x, y, lambda: sql(odds), lambda k: sql.less(sql(odds), sql.number(x[k])))
    return sql.case([(sql.missing(sql(odds)), sql.null())], value)


def pieces(
    sql: Steps, x: FloatArray, y: FloatArray, odds: Callable[[], Any], before: Callable[[int], Any]
) -> Any:
    """Return a curve through knots at some odds, flat beyond its ends, as a tree of its pieces.

    Parameters
    ----------
    sql : Steps
        The query in the making.
    x, y : ndarray of shape (n_knots,)
        The knots.
    odds : callable
        Gives the expression of the odds anew.
    before : callable
        Tells by an expression whether a row is before a knot, given its number.
    """
    rise = np.append(np.diff(y) / np.diff(x), 0.0)

    def piece(k: int) -> Any:
        if k < 0 or rise[k] == 0:
            return sql.number(y[max(k, 0)])
        away = sql.subtract(odds(), sql.number(x[k]))
        return sql.add(sql.times(away, rise[k]), sql.number(y[k]))

    def tree(begin: int, end: int) -> Any:
        """Return the pieces from begin on, up to but without end."""
        if end - begin == 1:
            return piece(begin)
        middle = (begin + end) // 2
        return sql.case([(before(middle), tree(begin, middle))], tree(middle, end))

    return tree(-1, len(x))


_CALIBRATORS: Registry[Callable[[Steps, Any, list[str]], list[str]]] = Registry(
    "calibration in SQL",
    [
        *((name, _scaling) for name in SCALINGS),
        ("beta", _beta),
        ("dirichlet", _dirichlet),
        ("isotonic", _isotonic),
    ],
)


def adapted(sql: Steps, policy: Policy, proba: list[str]) -> list[str]:
    """Return the adapted probabilities, a column for each class."""
    weights = ratio_of_priors(policy.priors, policy.source_priors)
    most = float(weights.max())
    if len(weights) == 2:
        p = proba[0]
        (above,) = sql.step([sql.times(sql(p), weights[1])])
        rest = sql.times(sql.subtract(sql.number(1.0), sql(p)), weights[0], least=1e-16)
        total = sql.one(sql.add(rest, sql(above)))
        moved = sql.one(_share_or(sql, sql(above), total, most, sql(p)))
        return sql.step([sql.subtract(sql.number(1.0), sql(moved)), sql(moved)])
    weighted = sql.each(sql.times, proba, weights)
    total = sql.one(sql.sum(sql.all(weighted)))
    return sql.each(lambda part, p: _share_or(sql, part, total, most, p), weighted, proba)


def _share_or(sql: Steps, part: Any, total: str, most: float, otherwise: Any) -> Any:
    """Return a part of a total of at most so much; something else where that is 0."""
    there = sql.more(sql(total), sql.number(0.0))
    return sql.case([(there, sql.share(part, sql(total), most))], otherwise)
