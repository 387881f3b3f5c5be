"""Which rows are withheld and what is predicted, with the arrays of NumPy or CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from abstain._numerics import ROUNDING, Registry
from abstain.regions import Region
from abstain.rules import DecisionRule

# Two classes as equal as this are equal, and the first of them is predicted.
_TIED = 1e-15


def predicted(xp: Any, rule: DecisionRule, proba: Any) -> Any:
    """Return the predicted column of each row of compact probabilities."""
    return _RULES[rule.kind](xp, rule, proba)


def withheld(xp: Any, region: Region, proba: Any, prediction: Callable[[], Any]) -> Any:
    """Tell which rows a region withholds; predictions are made where they are read."""
    return _REGIONS[region.kind](xp, region, proba, prediction)


def _both(xp: Any, proba: Any) -> Any:
    return proba if proba.ndim == 2 else xp.stack([1.0 - proba, proba], axis=1)


def _positive(proba: Any) -> Any:
    return proba if proba.ndim == 1 else proba[:, 1]


def _first_highest(xp: Any, values: Any, apart: float) -> Any:
    highest = values.max(axis=1, keepdims=True)
    return xp.argmax(values >= highest - apart * xp.abs(highest), axis=1)


def _argmax(xp: Any, rule: Any, proba: Any) -> Any:
    if proba.ndim == 1:
        return (proba > 0.5).astype(xp.int64)
    return _first_highest(xp, proba, _TIED)


def _threshold(xp: Any, rule: Any, proba: Any) -> Any:
    return (_positive(proba) >= rule.threshold).astype(xp.int64)


def _best_gain(xp: Any, rule: Any, proba: Any) -> Any:
    return _first_highest(xp, _both(xp, proba) @ xp.asarray(rule.gains), ROUNDING)


def _in_interval(xp: Any, region: Any, proba: Any, prediction: Callable[[], Any]) -> Any:
    p = _positive(proba)
    return (p >= region.lower) & (p <= region.upper)


def _gains(xp: Any, region: Any, proba: Any, prediction: Callable[[], Any]) -> Any:
    gains = _both(xp, proba) @ xp.asarray(region.gains)
    return gains[xp.arange(len(gains)), prediction()] >= region.threshold


def _doubts(xp: Any, region: Any, proba: Any, prediction: Callable[[], Any]) -> Any:
    columns = _both(xp, proba)
    k = min(region.k, columns.shape[1])
    return xp.sort(columns, axis=1)[:, -k:].sum(axis=1) <= region.threshold


def _in_boxes(xp: Any, region: Any, proba: Any, prediction: Callable[[], Any]) -> Any:
    columns, column = _both(xp, proba), prediction()
    inside = xp.zeros(len(columns), dtype=bool)
    for box in region.boxes:
        above = columns > xp.asarray(np.asarray(box.lower, dtype=np.float64))
        below = columns <= xp.asarray(np.asarray(box.upper, dtype=np.float64))
        inside |= (column == box.column) & (above & below).all(axis=1)
    return inside


def _scored(xp: Any, region: Any, proba: Any, prediction: Callable[[], Any]) -> Any:
    if region.order not in _SCORES:
        raise TypeError(
            f"No score {region.order!r} is known on a device; there are "
            f"{', '.join(map(repr, _SCORES))}. Move the scores to memory: scores.cpu()."
        )
    score = _SCORES[region.order](xp, region, _both(xp, proba))
    return score >= region.threshold


def _max_probability(xp: Any, region: Any, proba: Any) -> Any:
    return 1.0 - proba.max(axis=1)


def _margin(xp: Any, region: Any, proba: Any) -> Any:
    highest = xp.sort(proba, axis=1)[:, -2:]
    return 1.0 - (highest[:, 1] - highest[:, 0])


def _plogp(xp: Any, weight: Any, proba: Any) -> Any:
    """Return the sum over columns of ``weight * log(proba)``; 0 log 0 is 0."""
    return (weight * xp.log(xp.maximum(proba, np.finfo(np.float64).tiny))).sum(axis=1)


def _entropy(xp: Any, region: Any, proba: Any) -> Any:
    return -_plogp(xp, proba, proba)


def _distance_from_half(xp: Any, region: Any, proba: Any) -> Any:
    return 0.5 - xp.abs(proba[:, 1] - 0.5)


def _js_divergence(xp: Any, region: Any, proba: Any) -> Any:
    priors = np.asarray(region.parameters["priors"], dtype=np.float64)
    own, q = float(np.sum(priors * np.log(np.where(priors > 0, priors, 1.0)))), xp.asarray(priors)
    middle = (proba + q) / 2
    apart = _plogp(xp, proba, proba) - _plogp(xp, proba, middle)
    return 1.0 - (apart + own - _plogp(xp, q, middle)) / 2


_RULES: Registry[Callable[..., Any]] = Registry(
    "decision rule on a device",
    [("argmax", _argmax), ("best-gain", _best_gain), ("threshold", _threshold)],
)
_REGIONS: Registry[Callable[..., Any]] = Registry(
    "region on a device",
    [
        ("gain-threshold", _gains),
        ("interval", _in_interval),
        ("probability-boxes", _in_boxes),
        ("score-threshold", _scored),
        ("top-share", _doubts),
    ],
)
_SCORES: Registry[Callable[..., Any]] = Registry(
    "score on a device",
    [
        ("distance-from-half", _distance_from_half),
        ("entropy", _entropy),
        ("js-divergence", _js_divergence),
        ("margin", _margin),
        ("max-probability", _max_probability),
    ],
)
