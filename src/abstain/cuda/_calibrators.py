"""From scores to calibrated, adapted probabilities, with the arrays of NumPy or CuPy.

What ``Calibrator.compact`` does, operation by operation; on whichever device the arrays are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from abstain._inputs import ROW_SUM_TOLERANCE
from abstain._numerics import Registry
from abstain.calibration import FARTHEST, SCALINGS, Calibrator


def unfit(xp: Any, calibrator: Calibrator, scores: Any) -> tuple[Any, Any]:
    """Tell which rows have no score, and which have one that cannot be."""
    gaps = xp.isnan(scores)
    wrong = xp.isinf(scores)
    if calibrator.scale == "probabilities":
        wrong |= (scores < 0) | (scores > 1)
    if scores.ndim == 1:
        return gaps, wrong
    gaps, wrong = gaps.any(axis=1), wrong.any(axis=1)
    if calibrator.scale == "probabilities":
        wrong |= xp.abs(scores.sum(axis=1) - 1) > ROW_SUM_TOLERANCE
    return gaps, wrong & ~gaps


def calibrated(xp: Any, calibrator: Calibrator, scores: Any) -> Any:
    """Return probabilities in double precision, of two classes those of the positive one."""
    # The smallest step of the precision that probabilities came in, as in memory.
    least = np.finfo(np.float32 if scores.dtype.itemsize < 8 else np.float64).eps
    scores = scores.astype(xp.float64)
    given = calibrator.scale == "probabilities"
    if scores.ndim == 1:
        negative = 1.0 - scores if given else xp.zeros_like(scores)
        scores = xp.stack([negative, scores], axis=1)
    elif given:
        scores = scores / scores.sum(axis=1, keepdims=True)
    if given and calibrator.name == "identity":
        return scores[:, 1] if scores.shape[1] == 2 else scores
    if given:
        scores = xp.log(xp.maximum(scores, least))
    proba = _CALIBRATORS[calibrator.name](xp, calibrator, scores)
    return xp.ascontiguousarray(proba[:, 1]) if proba.shape[1] == 2 else proba


def adapted(xp: Any, proba: Any, ratios: Any) -> Any:
    """Return probabilities at other class proportions, given new over old ones."""
    if proba.ndim == 1:
        weighted = proba * float(ratios[1])
        total = (1.0 - proba) * float(ratios[0]) + weighted
    else:
        weighted = proba * xp.asarray(ratios)
        total = weighted.sum(axis=1, keepdims=True)
    return _shares(xp, weighted, total, proba)


def _shares(xp: Any, parts: Any, total: Any, otherwise: Any) -> Any:
    """Return parts over a total, and something else where that is 0."""
    return xp.where(total > 0, parts / xp.where(total > 0, total, 1.0), otherwise)


def _softmax(xp: Any, logits: Any) -> Any:
    shares = xp.exp(logits - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def _log_softmax(xp: Any, logits: Any) -> Any:
    away = logits - logits.max(axis=1, keepdims=True)
    return away - xp.log(xp.exp(away).sum(axis=1, keepdims=True))


def _scaling(xp: Any, calibrator: Any, logits: Any) -> Any:
    return _softmax(xp, logits * xp.asarray(calibrator.slope_) + xp.asarray(calibrator.bias_))


def _beta(xp: Any, calibrator: Any, logits: Any) -> Any:
    return _scaling(xp, calibrator, _log_softmax(xp, logits))


def _dirichlet(xp: Any, calibrator: Any, logits: Any) -> Any:
    mixed = _log_softmax(xp, logits) @ xp.asarray(calibrator.matrix_)
    return _softmax(xp, mixed + xp.asarray(calibrator.bias_))


def _isotonic(xp: Any, calibrator: Any, logits: Any) -> Any:
    away = logits - logits.max(axis=1, keepdims=True)
    shares = xp.exp(away)
    n_classes = logits.shape[1]
    top = xp.arange(n_classes) == xp.argmax(away, axis=1)[:, None]
    others = xp.where(top, 0.0, shares)
    total = others.sum(axis=1, keepdims=True)
    odds = away - xp.log(xp.where(top, total, 1.0 + total - others))
    odds = xp.clip(odds, -FARTHEST, FARTHEST)
    if n_classes == 2:
        p = _curve(xp, calibrator, 0, odds[:, 1])
        return xp.stack([1.0 - p, p], axis=1)
    values = xp.stack([_curve(xp, calibrator, i, odds[:, i]) for i in range(n_classes)], axis=1)
    return _shares(xp, values, values.sum(axis=1, keepdims=True), 1.0 / n_classes)


def _curve(xp: Any, calibrator: Any, curve: int, odds: Any) -> Any:
    begin, end = calibrator.offsets_[curve : curve + 2].astype(int)
    if begin == end:
        return 1.0 / (1.0 + xp.exp(-odds))
    knots, values = calibrator.thresholds_[begin:end], calibrator.values_[begin:end]
    rise = np.concatenate([[0.0], np.diff(values) / np.diff(knots), [0.0]])
    start, height = np.append(knots[0], knots), np.append(values[0], values)
    piece = xp.searchsorted(xp.asarray(knots), xp.ascontiguousarray(odds), side="right")
    start, height, rise = (xp.asarray(part)[piece] for part in (start, height, rise))
    return (odds - start) * rise + height


_CALIBRATORS: Registry[Callable[[Any, Any, Any], Any]] = Registry(
    "calibration on a device",
    [
        *((name, _scaling) for name in SCALINGS),
        ("beta", _beta),
        ("dirichlet", _dirichlet),
        ("isotonic", _isotonic),
    ],
)
