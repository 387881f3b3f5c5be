"""From scores to calibrated probabilities: what ``Policy.predict_proba`` does before it adapts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from abstain._inputs import ROW_SUM_TOLERANCE
from abstain._numerics import Registry
from abstain._rowwise.program import CALIBRATORS, scaled
from abstain.calibration import SCALINGS
from abstain.onnx._graph import Graph, Value
from abstain.policy import Policy


def checked(graph: Graph, policy: Policy, columns: int) -> tuple[Value, Value]:
    """Return the scores in double precision, a column per class, and which rows are scores.

    A row that ``Policy.apply`` would refuse is no score: NaN or infinity, and of probabilities
    those that are negative or do not sum to 1.
    """
    scores = Value(graph, "scores", 2).astype(np.float64)
    given_in = policy.columns.tolist()
    places = [given_in.index(label) for label in policy.classes.tolist()]
    if columns > 1 and places != sorted(places):
        scores = scores[:, places]
    # Nothing compares with NaN.
    fit = graph.abs(scores) <= np.finfo(np.float64).max
    given = policy.calibrator.scale == "probabilities"
    if columns == 1:
        # The negative class has the rest of the probability, or a logit of zero.
        scores = graph.node("Concat", (1.0 if given else scores) - scores, scores, axis=1)
    if not given:
        return scores, fit.all_columns()
    total = scores.sum(axis=1, keepdims=True)
    off = graph.abs(total - 1.0)
    fits = fit.all_columns() & (scores >= 0.0).all_columns() & (off <= ROW_SUM_TOLERANCE)
    # Rows whose sum differs from 1 by rounding alone stay as they are.
    exact = off <= 4 * np.finfo(np.float64).eps
    return scores / graph.where(exact, 1.0, total), fits


def calibrated(graph: Graph, policy: Policy, scores: Value) -> Any:
    """Return the calibrated probabilities; mirrors ``CheckedScores`` and each calibrator.

    Operation by operation, so that no more than the last digit of a logarithm or an exponential
    differs; of two classes the positive one alone.
    """
    calibrator, of_two = policy.calibrator, len(policy.classes) == 2
    if calibrator.scale == "probabilities":
        if calibrator.name == "identity":
            return scores[:, 1] if of_two else scores
        scores = graph.log(graph.maximum(scores, np.finfo(np.float32).eps))
    proba = _CALIBRATORS[calibrator.name](graph, calibrator, scores)
    return proba[:, 1] if of_two and proba.ndim == 2 else proba


def _scaling(graph: Graph, calibrator: Any, logits: Value) -> Any:
    """Scale logits; of two classes as ``Calibrator.compact`` does, by their difference."""
    if len(calibrator.classes_) > 2:
        return scaled(graph, calibrator, logits)
    (negative, positive), bias = calibrator.slope_, calibrator.bias_
    odds = logits[:, 1] * -positive + (logits[:, 0] * negative + (bias[0] - bias[1]))
    return 1.0 / (graph.exp(odds) + 1.0)


_CALIBRATORS: Registry[Callable[[Any, Any, Any], Any]] = Registry(
    "calibration in ONNX", [*((name, _scaling) for name in SCALINGS), *CALIBRATORS]
)
