"""From probabilities to predictions and what is withheld, in steps: rules, regions and scores.

Rows closer to an edge than ``TIED`` are on it, as in the ONNX graph. The most probable class is
the first of those that are equal to the last digit, as in ``Policy.apply``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from abstain._numerics import ROUNDING, Registry
from abstain.sql._steps import Steps

# Rows this close to an edge, relative to it, are on it: the last digit of a logarithm or an
# exponential differs between engines.
TIED = 1e-15


def _argmax(sql: Steps, rule: Any, proba: list[str]) -> str:
    highest = sql.one(sql.greatest(sql.all(proba)))
    return _first_reaching(sql, proba, highest)


def _best_gain(sql: Steps, rule: Any, proba: list[str]) -> str:
    """Return the number of the first gain that is as high as the highest, but for rounding."""
    gains = sql.step([sql.weighted_sum(proba, column) for column in rule.gains.T])
    highest = sql.one(sql.greatest(sql.all(gains)))
    less = sql.times(sql.size(sql(highest)), ROUNDING)
    return _first_reaching(sql, gains, sql.one(sql.subtract(sql(highest), less)))


def _first_reaching(sql: Steps, values: list[str], least: str) -> str:
    return sql.one(sql.number_of_first([sql.reaches(one, sql(least)) for one in sql.all(values)]))


def _threshold(sql: Steps, rule: Any, proba: list[str]) -> str:
    # Above 1 it is one that nothing reaches, a hair away from what everything may reach.
    edge = rule.threshold if rule.threshold <= 1 else 2.0
    reached = _at_least(sql, sql(proba[1]), edge)
    unknown = (sql.missing(sql(proba[1])), sql.null())
    return sql.one(sql.case([unknown, (reached, sql.whole(1))], sql.whole(0)))


def _in_interval(sql: Steps, region: Any, proba: list[str], prediction: str) -> Any:
    return sql.both(
        [_at_least(sql, sql(proba[1]), region.lower), _at_most(sql, sql(proba[1]), region.upper)]
    )


def _gains(sql: Steps, region: Any, proba: list[str], prediction: str) -> Any:
    gains = [sql.weighted_sum(proba, worth) for worth in region.gains.T]
    score = sql.one(sql.by_number(prediction, gains))
    return _at_least(sql, sql(score), region.threshold)


def _doubts(sql: Steps, region: Any, proba: list[str], prediction: str) -> Any:
    largest = _top(sql, proba, min(region.k, len(proba)))
    return _at_most(sql, sql.sum(sql.all(largest)), region.threshold)


def _in_boxes(sql: Steps, region: Any, proba: list[str], prediction: str) -> Any:
    """Tell whether a row lies in any box; the whole range of a probability is not looked at."""
    boxes = []
    for box in region.boxes:
        inside = [sql.equal(sql(prediction), sql.whole(box.column))]
        for p, lower, upper in zip(proba, box.lower, box.upper, strict=True):
            # An edge belongs to the box below it, so both ends move up by the slack.
            if lower >= 0:
                inside.append(sql.more(sql(p), sql.number(lower + TIED * lower)))
            if upper < 1:
                inside.append(sql.at_most(sql(p), sql.number(upper + TIED * abs(upper))))
        boxes.append(sql.both(inside))
    return sql.either(boxes) if boxes else sql.truth(False)


def _scored(sql: Steps, region: Any, proba: list[str], prediction: str) -> Any:
    score = sql.one(SCORES[region.order](sql, region, proba))
    return _at_least(sql, sql(score), region.threshold)


def _max_probability(sql: Steps, region: Any, proba: list[str]) -> Any:
    return sql.subtract(sql.number(1.0), sql.greatest(sql.all(proba)))


def _margin(sql: Steps, region: Any, proba: list[str]) -> Any:
    first, second = _top(sql, proba, 2)
    gap = sql.subtract(sql(first), sql(second))
    return sql.subtract(sql.number(1.0), gap)


def _entropy(sql: Steps, region: Any, proba: list[str]) -> Any:
    return sql.size(sql.sum([_plogp(sql, p, sql(p)) for p in proba]))


def _distance_from_half(sql: Steps, region: Any, proba: list[str]) -> Any:
    away = sql.size(sql.subtract(sql(proba[1]), sql.number(0.5)))
    return sql.subtract(sql.number(0.5), away)


def _js_divergence(sql: Steps, region: Any, proba: list[str]) -> Any:
    # Half of KL(p, m) and half of KL(q, m), with m = (p + q) / 2.
    q = np.asarray(region.parameters["priors"], dtype=np.float64)
    middle = sql.each(
        lambda p, prior: sql.times(sql.exp.Paren(this=sql.add(p, sql.number(prior))), 0.5),
        proba,
        q,
    )
    own = sql.sum([_plogp(sql, p, sql(p)) for p in proba])
    between = sql.sum([_plogp(sql, p, sql(m)) for p, m in zip(proba, middle, strict=True)])
    fixed = float(np.sum(q * np.log(np.where(q > 0, q, 1.0))))
    logs = [sql.times(_log(sql, sql(m)), prior) for m, prior in zip(middle, q, strict=True)]
    parts = sql.step([sql.subtract(own, between), sql.subtract(sql.number(fixed), sql.sum(logs))])
    both = sql.multiply(sql.add(sql(parts[0]), sql(parts[1])), sql.number(0.5))
    return sql.subtract(sql.number(1.0), both)


def _log(sql: Steps, proba: Any) -> Any:
    return sql.logarithm(sql.at_least(proba, float(np.finfo(np.float64).tiny)))


def _plogp(sql: Steps, proba: str, other: Any) -> Any:
    """Return a probability times the logarithm of another; 0 log 0 is 0."""
    return sql.weighed(sql(proba), _log(sql, other))


def _top(sql: Steps, values: list[str], k: int) -> list[str]:
    """Return the k largest of a row, the largest first: each is found, then put below all."""
    found = [sql.one(sql.greatest(sql.all(values)))]
    while len(found) < k:
        highest = [sql.equal(value, sql(found[-1])) for value in sql.all(values)]
        place = sql.one(sql.number_of_first(highest))
        values = sql.step(
            [
                sql.case([(sql.equal(sql(place), sql.whole(i)), sql.number(-1.0))], sql(value))
                for i, value in enumerate(values)
            ]
        )
        found.append(sql.one(sql.greatest(sql.all(values))))
    return found


def _at_least(sql: Steps, value: Any, edge: float) -> Any:
    if np.isinf(edge):
        return sql.truth(edge < 0)
    return sql.reaches(value, sql.number(edge - TIED * abs(edge)))


def _at_most(sql: Steps, value: Any, edge: float) -> Any:
    if np.isinf(edge):
        return sql.truth(edge > 0)
    return sql.at_most(value, sql.number(edge + TIED * abs(edge)))


RULES: Registry[Callable[[Steps, Any, list[str]], str]] = Registry(
    "decision rule in SQL",
    [("argmax", _argmax), ("best-gain", _best_gain), ("threshold", _threshold)],
)
REGIONS: Registry[Callable[[Steps, Any, list[str], str], Any]] = Registry(
    "region in SQL",
    [
        ("gain-threshold", _gains),
        ("interval", _in_interval),
        ("probability-boxes", _in_boxes),
        ("score-threshold", _scored),
        ("top-share", _doubts),
    ],
)
SCORES: Registry[Callable[[Steps, Any, list[str]], Any]] = Registry(
    "score in SQL",
    [
        ("distance-from-half", _distance_from_half),
        ("entropy", _entropy),
        ("js-divergence", _js_divergence),
        ("margin", _margin),
        ("max-probability", _max_probability),
    ],
)
