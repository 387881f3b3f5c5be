"""From probabilities to predictions and what is withheld: rules, regions and scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from abstain._numerics import Registry
from abstain._rowwise.program import REGIONS as SHARED_REGIONS
from abstain._rowwise.program import RULES as SHARED_RULES
from abstain._rowwise.program import SCORES, TIED, at_least, at_most, weighted_log
from abstain.onnx._graph import Graph, Value

Prediction = Callable[[], Value]


def _doubts(graph: Graph, region: Any, proba: Value, prediction: Prediction) -> Any:
    largest = graph.top(proba, min(region.k, graph.n_classes))
    return at_most(graph, largest.sum(axis=1), region.threshold)


def _in_boxes(graph: Graph, region: Any, proba: Value, prediction: Prediction) -> Any:
    """Return whether each row lies in any box: all boxes at once, along a third axis."""
    if not region.boxes:
        return prediction() < 0
    columns, lower, upper = (
        np.array([getattr(box, part) for box in region.boxes])
        for part in ("column", "lower", "upper")
    )
    # An edge belongs to the box below it, so both ends move up by the slack.
    lower, upper = (edge + TIED * np.abs(edge) for edge in (lower, upper))
    p = proba[:, None]
    inside = ((p > lower) & (p <= upper)).astype(np.int64).sum(axis=2)
    called = prediction()[:, None] == columns
    hits = (inside == lower.shape[1]) & called
    return hits.astype(np.int64).sum(axis=1) > 0


def _scored(graph: Graph, region: Any, proba: Value, prediction: Prediction) -> Any:
    if region.order not in _SCORES:
        raise TypeError(
            f"No ONNX graph is known for the score {region.order!r}; there is one for "
            f"{', '.join(map(repr, _SCORES))}."
        )
    return at_least(graph, _SCORES[region.order](graph, region, proba), region.threshold)


def _margin(graph: Graph, region: Any, proba: Value) -> Value:
    two = graph.top(proba, 2)
    return 1.0 - (two[:, 0] - two[:, 1])


def _js_divergence(graph: Graph, region: Any, proba: Value) -> Any:
    # Half of KL(p, m) and half of KL(q, m), with m = (p + q) / 2.
    q = np.asarray(region.parameters["priors"], dtype=np.float64)
    middle = (proba + q) / 2.0
    apart = weighted_log(graph, proba, proba) - weighted_log(graph, proba, middle)
    fixed = float(np.sum(q * np.log(np.where(q > 0, q, 1.0))))
    return 1.0 - (apart + (fixed - weighted_log(graph, q, middle))) / 2.0


RULES: Registry[Callable[..., Any]] = Registry("decision rule in ONNX", SHARED_RULES)
REGIONS: Registry[Callable[..., Any]] = Registry(
    "region in ONNX",
    [
        *SHARED_REGIONS,
        ("probability-boxes", _in_boxes),
        ("score-threshold", _scored),
        ("top-share", _doubts),
    ],
)
_SCORES: Registry[Callable[..., Any]] = Registry(
    "score in ONNX", [*SCORES, ("js-divergence", _js_divergence), ("margin", _margin)]
)
