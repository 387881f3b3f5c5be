"""From scores to calibrated probabilities, with the arrays of NumPy or CuPy.

What ``Calibrator.compact`` does, operation by operation; on whichever device the arrays are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from abstain._inputs import ROW_SUM_TOLERANCE
from abstain._numerics import Registry
from abstain._rowwise.program import CALIBRATORS, scaled
from abstain.calibration import SCALINGS, Calibrator


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


_CALIBRATORS: Registry[Callable[[Any, Any, Any], Any]] = Registry(
    "calibration on a device", [*((name, scaled) for name in SCALINGS), *CALIBRATORS]
)
