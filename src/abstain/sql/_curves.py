"""What is known of the curve of each calibrator of two classes, on one raw score."""

from __future__ import annotations

from typing import Any

import numpy as np

from abstain._inputs import FloatArray

__all__ = ["log_forms", "raw_knots", "raw_turns"]


def log_forms(calibrator: Any) -> tuple[float, float, float]:
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


def raw_knots(calibrator: Any) -> FloatArray:
    """Return the raw scores at which an isotonic curve bends."""
    odds = calibrator.thresholds_
    if calibrator.scale == "logits":
        return np.asarray(odds)
    raw: FloatArray = 1 / (1 + np.exp(-odds))
    return raw


def raw_turns(calibrator: Any) -> FloatArray:
    """Return raw scores between which the calibrated probability only rises or only falls."""
    if calibrator.name == "isotonic":
        return raw_knots(calibrator)
    a, b, _ = log_forms(calibrator)
    if not a * b < 0:
        return np.empty(0)
    p = a / (a - b)
    return np.array([p if calibrator.scale == "probabilities" else np.log(p / (1 - p))])
