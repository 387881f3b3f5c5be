"""A rule as operations on columns, for whatever computes them: NumPy, CuPy, an ONNX graph.

What ``Calibrator.compact`` and ``Choice.apply`` do, operation by operation. ``xp`` is the package
of the arrays, or what looks like one. Rows closer to an edge than its ``tied``, relative to it,
are on the edge: the last digit of a logarithm or an exponential differs between libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from abstain._numerics import ROUNDING
from abstain.calibration import FARTHEST

# Two classes as equal as this are equal, and the first of them is predicted.
TIED = 1e-15


def adapted(xp: Any, proba: Any, ratios: Any) -> Any:
    """Return probabilities at other class proportions, given new over old ones."""
    if proba.ndim == 1:
        weighted = proba * float(ratios[1])
        total = (1.0 - proba) * float(ratios[0]) + weighted
    else:
        weighted = proba * xp.asarray(ratios)
        total = weighted.sum(axis=1, keepdims=True)
    return _shares(xp, weighted, total, proba)


def both_columns(xp: Any, proba: Any) -> Any:
    """Return probabilities with a column per class; one dimension is the positive class of two."""
    return proba if proba.ndim == 2 else xp.stack([1.0 - proba, proba], axis=1)


def at_least(xp: Any, values: Any, edge: float) -> Any:
    """Tell which values reach an edge."""
    return values >= edge - _slack(xp, edge)


def at_most(xp: Any, values: Any, edge: float) -> Any:
    """Tell which values do not go beyond an edge."""
    return values <= edge + _slack(xp, edge)


def weighted_log(xp: Any, weight: Any, proba: Any) -> Any:
    """Return the sum over columns of ``weight * log(proba)``; 0 log 0 is 0."""
    return (weight * xp.log(xp.maximum(proba, np.finfo(np.float64).tiny))).sum(axis=1)


def scaled(xp: Any, calibrator: Any, logits: Any) -> Any:
    """Return the probabilities of logits, each times its slope and with its bias."""
    return _softmax(xp, logits * xp.asarray(calibrator.slope_) + xp.asarray(calibrator.bias_))


def _slack(xp: Any, edge: float) -> float:
    return getattr(xp, "tied", 0.0) * abs(edge) if np.isfinite(edge) else 0.0


def _shares(xp: Any, parts: Any, total: Any, otherwise: Any) -> Any:
    """Return parts over a total, and something else where that is 0."""
    some = total > 0.0
    return xp.where(some, parts / xp.where(some, total, 1.0), otherwise)


def _softmax(xp: Any, logits: Any) -> Any:
    shares = xp.exp(logits - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def _log_softmax(xp: Any, logits: Any) -> Any:
    away = logits - logits.max(axis=1, keepdims=True)
    return away - xp.log(xp.exp(away).sum(axis=1, keepdims=True))


def _beta(xp: Any, calibrator: Any, logits: Any) -> Any:
    return scaled(xp, calibrator, _log_softmax(xp, logits))


def _dirichlet(xp: Any, calibrator: Any, logits: Any) -> Any:
    mixed = _log_softmax(xp, logits) @ xp.asarray(calibrator.matrix_)
    return _softmax(xp, mixed + xp.asarray(calibrator.bias_))


def _isotonic(xp: Any, calibrator: Any, logits: Any) -> Any:
    away = logits - logits.max(axis=1, keepdims=True)
    n_classes = len(calibrator.classes_)
    top = xp.arange(n_classes) == xp.argmax(away, axis=1)[:, None]
    others = xp.where(top, 0.0, xp.exp(away))
    total = others.sum(axis=1, keepdims=True)
    # The rest of any class but the top one contains the top one, so no digits cancel.
    odds = away - xp.log(xp.where(top, total, 1.0 + total - others))
    odds = xp.clip(odds, -FARTHEST, FARTHEST)
    if n_classes == 2:
        return both_columns(xp, _curve(xp, calibrator, 0, odds[:, 1]))
    values = xp.stack([_curve(xp, calibrator, i, odds[:, i]) for i in range(n_classes)], axis=1)
    return _shares(xp, values, values.sum(axis=1, keepdims=True), 1.0 / n_classes)


def _curve(xp: Any, calibrator: Any, curve: int, odds: Any) -> Any:
    """Interpolate between the knots of one isotonic curve, flat beyond its ends."""
    begin, end = calibrator.offsets_[curve : curve + 2].astype(int)
    if begin == end:
        return 1.0 / (1.0 + xp.exp(-odds))
    knots, values = calibrator.thresholds_[begin:end], calibrator.values_[begin:end]
    # A piece before the first knot and one after the last, both flat.
    rise = np.concatenate([[0.0], np.diff(values) / np.diff(knots), [0.0]])
    start, height = np.append(knots[0], knots), np.append(values[0], values)
    piece = xp.searchsorted(xp.asarray(knots), xp.ascontiguousarray(odds), side="right")
    start, height, rise = (xp.asarray(part)[piece] for part in (start, height, rise))
    return (odds - start) * rise + height


def _positive(proba: Any) -> Any:
    return proba if proba.ndim == 1 else proba[:, 1]


def _first_highest(xp: Any, values: Any, apart: float) -> Any:
    """Return the first column of those that are as high as the highest, but for rounding."""
    highest = values.max(axis=1, keepdims=True)
    return xp.argmax(values >= highest - xp.abs(highest) * apart, axis=1)


def _argmax(xp: Any, rule: Any, proba: Any) -> Any:
    if proba.ndim == 1:
        return (proba > 0.5).astype(xp.int64)
    return _first_highest(xp, proba, TIED)


def _threshold(xp: Any, rule: Any, proba: Any) -> Any:
    # Above 1 it is one that nothing reaches, a hair away from what everything may reach.
    edge = rule.threshold if rule.threshold <= 1 else 2.0
    return at_least(xp, _positive(proba), edge).astype(xp.int64)


def _best_gain(xp: Any, rule: Any, proba: Any) -> Any:
    return _first_highest(xp, both_columns(xp, proba) @ xp.asarray(rule.gains), ROUNDING)


def _in_interval(xp: Any, region: Any, proba: Any, prediction: Callable[[], Any]) -> Any:
    p = _positive(proba)
    return at_least(xp, p, region.lower) & at_most(xp, p, region.upper)


def _gains(xp: Any, region: Any, proba: Any, prediction: Callable[[], Any]) -> Any:
    gains = both_columns(xp, proba) @ xp.asarray(region.gains)
    own = xp.take_along_axis(gains, prediction()[:, None], axis=1)[:, 0]
    return at_least(xp, own, region.threshold)


def _max_probability(xp: Any, region: Any, proba: Any) -> Any:
    return 1.0 - proba.max(axis=1)


def _entropy(xp: Any, region: Any, proba: Any) -> Any:
    return -weighted_log(xp, proba, proba)


def _distance_from_half(xp: Any, region: Any, proba: Any) -> Any:
    return 0.5 - xp.abs(proba[:, 1] - 0.5)


#: By name: of logits of all classes their probabilities.
CALIBRATORS: list[tuple[str, Callable[[Any, Any, Any], Any]]] = [
    ("beta", _beta),
    ("dirichlet", _dirichlet),
    ("isotonic", _isotonic),
]
#: By kind: the predicted column of each row.
RULES: list[tuple[str, Callable[[Any, Any, Any], Any]]] = [
    ("argmax", _argmax),
    ("best-gain", _best_gain),
    ("threshold", _threshold),
]
#: By kind: which rows are withheld; predictions are made where they are read.
REGIONS: list[tuple[str, Callable[[Any, Any, Any, Callable[[], Any]], Any]]] = [
    ("gain-threshold", _gains),
    ("interval", _in_interval),
]
#: By name: the score of each row of probabilities, a column per class.
SCORES: list[tuple[str, Callable[[Any, Any, Any], Any]]] = [
    ("distance-from-half", _distance_from_half),
    ("entropy", _entropy),
    ("max-probability", _max_probability),
]
