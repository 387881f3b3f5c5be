"""Which rows are withheld and what is predicted, with the arrays of NumPy or CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from abstain._numerics import Registry
from abstain._rowwise.program import REGIONS, RULES, SCORES, both_columns, weighted_log
from abstain.regions import Region
from abstain.rules import DecisionRule


def predicted(xp: Any, rule: DecisionRule, proba: Any) -> Any:
    """Return the predicted column of each row of compact probabilities."""
    return _RULES[rule.kind](xp, rule, proba)


def withheld(xp: Any, region: Region, proba: Any, prediction: Callable[[], Any]) -> Any:
    """Tell which rows a region withholds; predictions are made where they are read."""
    return _REGIONS[region.kind](xp, region, proba, prediction)


def _doubts(xp: Any, region: Any, proba: Any, prediction: Callable[[], Any]) -> Any:
    columns = both_columns(xp, proba)
    k = min(region.k, columns.shape[1])
    return xp.sort(columns, axis=1)[:, -k:].sum(axis=1) <= region.threshold


def _in_boxes(xp: Any, region: Any, proba: Any, prediction: Callable[[], Any]) -> Any:
    columns, column = both_columns(xp, proba), prediction()
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
    return _SCORES[region.order](xp, region, both_columns(xp, proba)) >= region.threshold


def _margin(xp: Any, region: Any, proba: Any) -> Any:
    highest = xp.sort(proba, axis=1)[:, -2:]
    return 1.0 - (highest[:, 1] - highest[:, 0])


def _js_divergence(xp: Any, region: Any, proba: Any) -> Any:
    priors = np.asarray(region.parameters["priors"], dtype=np.float64)
    own, q = float(np.sum(priors * np.log(np.where(priors > 0, priors, 1.0)))), xp.asarray(priors)
    middle = (proba + q) / 2
    apart = weighted_log(xp, proba, proba) - weighted_log(xp, proba, middle)
    return 1.0 - (apart + own - weighted_log(xp, q, middle)) / 2


_RULES: Registry[Callable[..., Any]] = Registry("decision rule on a device", RULES)
_REGIONS: Registry[Callable[..., Any]] = Registry(
    "region on a device",
    [
        *REGIONS,
        ("probability-boxes", _in_boxes),
        ("score-threshold", _scored),
        ("top-share", _doubts),
    ],
)
_SCORES: Registry[Callable[..., Any]] = Registry(
    "score on a device", [*SCORES, ("js-divergence", _js_divergence), ("margin", _margin)]
)
