"""From probabilities to predictions and what is withheld: rules, regions and scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from abstain._numerics import ROUNDING, Registry
from abstain.onnx._graph import TIED, Graph


def _argmax(graph: Graph, rule: Any, proba: str) -> str:
    return _first_highest(graph, proba, TIED)


def _best_gain(graph: Graph, rule: Any, proba: str) -> str:
    gains = graph.node("MatMul", proba, graph.constant(rule.gains))
    return _first_highest(graph, gains, ROUNDING)


def _first_highest(graph: Graph, values: str, apart: float) -> str:
    """Return the first column of those that are as high as the highest, but for rounding."""
    highest = graph.top(values, 1)
    less = graph.node("Mul", graph.node("Abs", highest), graph.constant(apart))
    high = graph.node("GreaterOrEqual", values, graph.node("Sub", highest, less))
    counted = graph.node("Cast", high, to=graph.onnx.TensorProto.DOUBLE)
    return graph.node("ArgMax", counted, axis=1, keepdims=0)


def _threshold(graph: Graph, rule: Any, proba: str) -> str:
    # Above 1 it is one that nothing reaches, a hair away from what everything may reach.
    edge = rule.threshold if rule.threshold <= 1 else 2.0
    reached = _at_least(graph, graph.column(proba, 1), edge)
    return graph.node("Cast", reached, to=graph.onnx.TensorProto.INT64)


def _in_interval(graph: Graph, region: Any, proba: str, prediction: str) -> str:
    p = graph.column(proba, 1)
    return graph.node("And", _at_least(graph, p, region.lower), _at_most(graph, p, region.upper))


def _gains(graph: Graph, region: Any, proba: str, prediction: str) -> str:
    gains = graph.node("MatMul", proba, graph.constant(region.gains))
    chosen = graph.node("GatherElements", gains, graph.as_column(prediction), axis=1)
    score = graph.node("Squeeze", chosen, graph.constant([1], np.int64))
    return _at_least(graph, score, region.threshold)


def _doubts(graph: Graph, region: Any, proba: str, prediction: str) -> str:
    most = min(region.k, graph.n_classes)
    return _at_most(graph, _top_sum(graph, proba, most), region.threshold)


def _in_boxes(graph: Graph, region: Any, proba: str, prediction: str) -> str:
    """Return whether each row lies in any box: all boxes at once, along a third axis."""
    if not region.boxes:
        return graph.node("Less", prediction, graph.constant(0, np.int64))
    columns, lower, upper = (
        np.array([getattr(box, part) for box in region.boxes])
        for part in ("column", "lower", "upper")
    )
    # An edge belongs to the box below it, so both ends move up by the slack.
    lower, upper = (edge + TIED * np.abs(edge) for edge in (lower, upper))
    p = graph.as_column(proba)
    inside = graph.node(
        "And",
        graph.node("Greater", p, graph.constant(lower)),
        graph.node("LessOrEqual", p, graph.constant(upper)),
    )
    counted = graph.node("Cast", inside, to=graph.onnx.TensorProto.INT64)
    within = graph.node("ReduceSum", counted, graph.constant([2], np.int64), keepdims=0)
    every = graph.node("Equal", within, graph.constant(lower.shape[1], np.int64))
    called = graph.node("Equal", graph.as_column(prediction), graph.constant(columns, np.int64))
    hits = graph.node("Cast", graph.node("And", every, called), to=graph.onnx.TensorProto.INT64)
    total = graph.sum_of_columns(hits, keepdims=0)
    return graph.node("Greater", total, graph.constant(0, np.int64))


def _scored(graph: Graph, region: Any, proba: str, prediction: str) -> str:
    if region.order not in _SCORES:
        raise TypeError(
            f"No ONNX graph is known for the score {region.order!r}; there is one for "
            f"{', '.join(map(repr, _SCORES))}."
        )
    return _at_least(graph, _SCORES[region.order](graph, region, proba), region.threshold)


def _max_probability(graph: Graph, region: Any, proba: str) -> str:
    return graph.node("Sub", graph.constant(1.0), _top_sum(graph, proba, 1))


def _margin(graph: Graph, region: Any, proba: str) -> str:
    two = graph.top(proba, 2)
    gap = graph.node("Sub", graph.column(two, 0), graph.column(two, 1))
    return graph.node("Sub", graph.constant(1.0), gap)


def _entropy(graph: Graph, region: Any, proba: str) -> str:
    return graph.node("Neg", _plogp(graph, proba, proba))


def _distance_from_half(graph: Graph, region: Any, proba: str) -> str:
    half = graph.constant(0.5)
    away = graph.node("Abs", graph.node("Sub", graph.column(proba, 1), half))
    return graph.node("Sub", half, away)


def _js_divergence(graph: Graph, region: Any, proba: str) -> str:
    # Half of KL(p, m) and half of KL(q, m), with m = (p + q) / 2.
    q = np.asarray(region.parameters["priors"], dtype=np.float64)
    middle = graph.node("Div", graph.node("Add", proba, graph.constant(q)), graph.constant(2.0))
    apart = graph.node("Sub", _plogp(graph, proba, proba), _plogp(graph, proba, middle))
    fixed = graph.constant(float(np.sum(q * np.log(np.where(q > 0, q, 1.0)))))
    other = graph.node("Sub", fixed, _plogp(graph, graph.constant(q), middle))
    both = graph.node("Div", graph.node("Add", apart, other), graph.constant(2.0))
    return graph.node("Sub", graph.constant(1.0), both)


def _plogp(graph: Graph, weight: str, proba: str) -> str:
    """Return the sum over columns of ``weight * log(proba)``; 0 log 0 is 0."""
    safe = graph.node("Max", proba, graph.constant(np.finfo(np.float64).tiny))
    terms = graph.node("Mul", weight, graph.node("Log", safe))
    return graph.sum_of_columns(terms, keepdims=0)


def _top_sum(graph: Graph, proba: str, k: int) -> str:
    return graph.sum_of_columns(graph.top(proba, k), keepdims=0)


def _at_least(graph: Graph, value: str, edge: float) -> str:
    return graph.node("GreaterOrEqual", value, graph.constant(edge - _slack(edge)))


def _at_most(graph: Graph, value: str, edge: float) -> str:
    return graph.node("LessOrEqual", value, graph.constant(edge + _slack(edge)))


def _slack(edge: float) -> float:
    return TIED * abs(edge) if np.isfinite(edge) else 0.0


RULES: Registry[Callable[[Graph, Any, str], str]] = Registry(
    "decision rule in ONNX",
    [("argmax", _argmax), ("best-gain", _best_gain), ("threshold", _threshold)],
)
REGIONS: Registry[Callable[[Graph, Any, str, str], str]] = Registry(
    "region in ONNX",
    [
        ("gain-threshold", _gains),
        ("interval", _in_interval),
        ("probability-boxes", _in_boxes),
        ("score-threshold", _scored),
        ("top-share", _doubts),
    ],
)
_SCORES: Registry[Callable[[Graph, Any, str], str]] = Registry(
    "score in ONNX",
    [
        ("distance-from-half", _distance_from_half),
        ("entropy", _entropy),
        ("js-divergence", _js_divergence),
        ("margin", _margin),
        ("max-probability", _max_probability),
    ],
)
