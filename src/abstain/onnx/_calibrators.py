"""From scores to calibrated, adapted probabilities: what ``Policy.predict_proba`` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from abstain._inputs import ROW_SUM_TOLERANCE
from abstain._numerics import Registry
from abstain.calibration import FARTHEST, SCALINGS
from abstain.onnx._graph import Graph
from abstain.policy import Policy
from abstain.shift import ratio_of_priors


def checked(graph: Graph, policy: Policy, columns: int) -> tuple[str, str]:
    """Return the scores in double precision, a column per class, and which rows are scores.

    A row that ``Policy.apply`` would refuse is no score: NaN or infinity, and of probabilities
    those that are negative or do not sum to 1.
    """
    scores = graph.node("Cast", "scores", to=graph.onnx.TensorProto.DOUBLE)
    given_in = policy.columns.tolist()
    places = [given_in.index(label) for label in policy.classes.tolist()]
    if columns > 1 and places != sorted(places):
        scores = graph.node("Gather", scores, graph.constant(places, np.int64), axis=1)
    most = graph.constant(np.finfo(np.float64).max)
    # Nothing compares with NaN.
    fit = graph.node("LessOrEqual", graph.node("Abs", scores), most)
    given = policy.calibrator.scale == "probabilities"
    if columns == 1:
        # The negative class has the rest of the probability, or a logit of zero.
        negative = graph.node("Sub", graph.constant(1.0) if given else scores, scores)
        scores = graph.node("Concat", negative, scores, axis=1)
    if not given:
        return scores, graph.every_column(fit)
    positive = graph.every_column(graph.node("GreaterOrEqual", scores, graph.constant(0.0)))
    total = graph.sum_of_columns(scores)
    off = graph.node("Abs", graph.node("Sub", total, graph.constant(1.0)))
    near = graph.every_column(graph.node("LessOrEqual", off, graph.constant(ROW_SUM_TOLERANCE)))
    # Rows whose sum differs from 1 by rounding alone stay as they are.
    exact = graph.node("LessOrEqual", off, graph.constant(4 * np.finfo(np.float64).eps))
    scores = graph.node("Div", scores, graph.node("Where", exact, graph.constant(1.0), total))
    return scores, graph.node("And", graph.node("And", graph.every_column(fit), positive), near)


def calibrated(graph: Graph, policy: Policy, scores: str) -> str:
    """Return the calibrated probabilities; mirrors ``CheckedScores`` and each calibrator.

    Operation by operation, so that no more than the last digit of a logarithm or an exponential
    differs; of two classes with the positive one alone, as a column.
    """
    calibrator, of_two = policy.calibrator, len(policy.classes) == 2
    if calibrator.scale == "probabilities":
        if calibrator.name == "identity":
            return graph.columns(scores, 1) if of_two else scores
        smallest = graph.constant(np.finfo(np.float32).eps)
        scores = graph.node("Log", graph.node("Max", scores, smallest))
    proba = _CALIBRATORS[calibrator.name](graph, calibrator, scores)
    return proba if not of_two or calibrator.name in _OF_ONE else graph.columns(proba, 1)


def _scaling(graph: Graph, calibrator: Any, logits: str) -> str:
    if len(calibrator.classes_) > 2:
        return _scaled(graph, calibrator, logits)
    (negative, positive), bias = calibrator.slope_, calibrator.bias_
    scaled = graph.node("Mul", graph.columns(logits, 0), graph.constant(negative))
    rest = graph.node("Add", scaled, graph.constant(bias[0] - bias[1]))
    odds = graph.node("Mul", graph.columns(logits, 1), graph.constant(-positive))
    odds = graph.node("Exp", graph.node("Add", odds, rest))
    one = graph.constant(1.0)
    return graph.node("Div", one, graph.node("Add", odds, one))


def _scaled(graph: Graph, calibrator: Any, logits: str) -> str:
    slope, bias = graph.constant(calibrator.slope_), graph.constant(calibrator.bias_)
    return _softmax(graph, graph.node("Add", graph.node("Mul", logits, slope), bias))


def _softmax(graph: Graph, logits: str) -> str:
    shares = graph.node("Exp", graph.node("Sub", logits, graph.top(logits, 1)))
    return graph.node("Div", shares, graph.sum_of_columns(shares))


def _log_softmax(graph: Graph, logits: str) -> str:
    away = graph.node("Sub", logits, graph.top(logits, 1))
    total = graph.sum_of_columns(graph.node("Exp", away))
    return graph.node("Sub", away, graph.node("Log", total))


def _beta(graph: Graph, calibrator: Any, logits: str) -> str:
    return _scaled(graph, calibrator, _log_softmax(graph, logits))


def _dirichlet(graph: Graph, calibrator: Any, logits: str) -> str:
    logs = _log_softmax(graph, logits)
    mixed = graph.node("MatMul", logs, graph.constant(calibrator.matrix_))
    return _softmax(graph, graph.node("Add", mixed, graph.constant(calibrator.bias_)))


def _isotonic(graph: Graph, calibrator: Any, logits: str) -> str:
    n_classes = len(calibrator.classes_)
    odds = _log_odds(graph, logits, n_classes)
    if n_classes == 2:
        return graph.as_column(_curve(graph, calibrator, 0, graph.column(odds, 1)))
    curves = [_curve(graph, calibrator, i, graph.column(odds, i)) for i in range(n_classes)]
    values = graph.node("Concat", *map(graph.as_column, curves), axis=1)
    total = graph.sum_of_columns(values)
    some = graph.node("Greater", total, graph.constant(0.0))
    divisor = graph.node("Where", some, total, graph.constant(1.0))
    return graph.node(
        "Where", some, graph.node("Div", values, divisor), graph.constant(1.0 / n_classes)
    )


def _log_odds(graph: Graph, logits: str, n_classes: int) -> str:
    """Return the log-odds of each class against the rest, none of them infinite."""
    away = graph.node("Sub", logits, graph.top(logits, 1))
    first = graph.as_column(graph.node("ArgMax", away, axis=1, keepdims=0))
    top = graph.node("Equal", graph.constant([np.arange(n_classes)], np.int64), first)
    shares = graph.node("Where", top, graph.constant(0.0), graph.node("Exp", away))
    others = graph.sum_of_columns(shares)
    # The rest of any class but the top one contains the top one, so no digits cancel.
    with_top = graph.node("Sub", graph.node("Add", others, graph.constant(1.0)), shares)
    rest = graph.node("Where", top, others, with_top)
    odds = graph.node("Sub", away, graph.node("Log", rest))
    farthest = graph.constant(FARTHEST), graph.constant(-FARTHEST)
    return graph.node("Max", graph.node("Min", odds, farthest[0]), farthest[1])


def _curve(graph: Graph, calibrator: Any, curve: int, odds: str) -> str:
    """Interpolate between the knots of one isotonic curve, flat beyond its ends."""
    begin, end = calibrator.offsets_[curve : curve + 2].astype(int)
    x, y = calibrator.thresholds_[begin:end], calibrator.values_[begin:end]
    if len(x) == 0:
        one = graph.constant(1.0)
        away = graph.node("Exp", graph.node("Neg", odds))
        return graph.node("Div", one, graph.node("Add", one, away))
    # A piece before the first knot and one after the last, both flat.
    rise = np.concatenate([[0.0], np.diff(y) / np.diff(x), [0.0]])
    passed = graph.node("GreaterOrEqual", graph.as_column(odds), graph.constant(x))
    counted = graph.node("Cast", passed, to=graph.onnx.TensorProto.INT64)
    index = graph.sum_of_columns(counted, keepdims=0)
    start, height, slope = (
        graph.node("Gather", graph.constant(values), index)
        for values in (np.append(x[0], x), np.append(y[0], y), rise)
    )
    return graph.node("Add", graph.node("Mul", graph.node("Sub", odds, start), slope), height)


_CALIBRATORS: Registry[Callable[[Graph, Any, str], str]] = Registry(
    "calibration in ONNX",
    [
        *((name, _scaling) for name in SCALINGS),
        ("beta", _beta),
        ("dirichlet", _dirichlet),
        ("isotonic", _isotonic),
    ],
)
#: What gives the positive class of two alone, as ``Calibrator.compact`` does.
_OF_ONE = (*SCALINGS, "isotonic")


def adapted(graph: Graph, policy: Policy, proba: str) -> str:
    """Return the adapted probabilities, a column for each class."""
    weights = ratio_of_priors(policy.priors, policy.source_priors)
    of_two, one = len(weights) == 2, graph.constant(1.0)
    if of_two:
        weighted = graph.node("Mul", proba, graph.constant(weights[1]))
        rest = graph.node("Mul", graph.node("Sub", one, proba), graph.constant(weights[0]))
        total = graph.node("Add", rest, weighted)
    else:
        weighted = graph.node("Mul", proba, graph.constant(weights))
        total = graph.sum_of_columns(weighted)
    there = graph.node("Greater", total, graph.constant(0.0))
    divisor = graph.node("Where", there, total, one)
    moved = graph.node("Where", there, graph.node("Div", weighted, divisor), proba)
    if not of_two:
        return moved
    return graph.node("Concat", graph.node("Sub", one, moved), moved, axis=1)
