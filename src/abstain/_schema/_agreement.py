"""What the parts of a policy file must agree in, beyond what each of them must be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from abstain._schema._kinds import shown

__all__ = ["agree"]

_OF_TWO_CLASSES = {"beta", "platt"}
# How many times a class may have become more frequent, so that no product is infinite.
_MOST_MOVED = 1e100
# What a score is told beside the probabilities.
_TOLD = {"random": {"seed"}, "js-divergence": {"priors"}}


def agree(data: dict[str, Any], n_classes: int) -> None:
    """Raise ``ValueError`` where parts of a policy that were read do not agree."""
    for check in (
        _classes,
        _priors,
        _calibration,
        _rule,
        _estimate,
        _certificate,
        _selection,
        _source,
    ):
        for complaint in check(data, n_classes):
            raise ValueError(complaint)


def _classes(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    classes, columns = data["classes"].tolist(), data["columns"].tolist()
    if sorted(map(str, columns)) != sorted(map(str, classes)) or {*columns} != {*classes}:
        yield "`columns` must be the classes, in the order in which their scores come"
    positive = data["positive"]
    if positive is not None and (n_classes != 2 or classes[1] != positive):
        yield (
            f"`positive` must be null, or of two classes the second; got {shown(positive)} of "
            f"{n_classes} classes"
        )


def _priors(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    source, target = data["priors"]["source"], data["priors"]["target"]
    if (target > source * _MOST_MOVED)[source > 0].any():
        yield "`priors.source` is next to nothing where `priors.target` is not"


def _calibration(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    found = data["calibration"]
    if found["name"] in _OF_TWO_CLASSES and n_classes != 2:
        yield f"`calibration` {found['name']} is for two classes; there are {n_classes}"
    if found["name"] != "isotonic":
        return
    ends, knots = found["offsets_"], found["thresholds_"]
    curves = 1 if n_classes == 2 else n_classes
    if len(ends) != curves + 1 or ends[0] != 0 or ends[-1] != len(knots):
        yield (
            f"`calibration.offsets_` must be {curves + 1} numbers from 0 to the number of knots, "
            f"{len(knots)}"
        )
    falls = np.flatnonzero(np.diff(knots) < 0) + 1
    if not np.isin(falls, ends).all():
        yield "`calibration.thresholds_` must rise from each knot of a curve to the next"


def _rule(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    for key, kind in (("withhold", "interval"), ("decision", "threshold")):
        if data[key]["kind"] == kind and n_classes != 2:
            yield f"`{key}` {kind} is for two classes; there are {n_classes}"
    region = data["withhold"]
    if region["kind"] == "probability-boxes":
        for i, (column, _, _) in enumerate(region["boxes"]):
            if column >= n_classes:
                yield f"`withhold.boxes[{i}]` is of class {column}; there are {n_classes}"
    if region["kind"] == "score-threshold":
        score, told = region["score"], {*region["parameters"]}
        due = _TOLD.get(score, set()) if isinstance(score, str) else set()
        if told != due:
            yield (
                f"`withhold.parameters` of {shown(score)} must be "
                f"{', '.join(due) or 'none'}; got {', '.join(told) or 'none'}"
            )


def _estimate(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    for moment, found in (data.get("estimate") or {}).items():
        low, high = found["interval"]
        if (low is None) != (high is None) or (low is not None and low > high):
            yield f"`estimate.{moment}.interval` must be two numbers, the lower first, or null"
        if found["value"] is not None and low is None:
            yield f"`estimate.{moment}` has a value and no interval"


def _certificate(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    found = data.get("certificate")
    if found is None:
        return
    counts = found["counts"]
    if counts.shape[1] != n_classes + 1:
        yield (
            f"`certificate.counts` must have a column for each of the {n_classes} classes and one "
            f"for what was withheld; got {counts.shape[1]}"
        )
    for name, bound in found["bounds"].items():
        if bound["n"] > counts.sum():
            yield f"`certificate.bounds.{shown(name)}` is of more examples than were counted"
    if found["prior_range"] is not None:
        low, high = found["prior_range"]
        if (low > high).any() or low.sum() > 1 or high.sum() < 1:
            yield "`certificate.prior_range` must be the lowest and the highest proportions"


def _selection(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    found = data.get("selection")
    if found is None:
        return
    given = [name for name in ("budget", "target", "cost") if found[name] is not None]
    if len(given) != 1:
        yield f"`selection` must have one of budget, target and cost; it has {len(given)}"
    cost = found["cost"]
    if cost is not None and cost["errors"] is not None and cost["value_of_metric"] is not None:
        yield "`selection.cost` must have errors or the value of the metric, not both"


def _source(data: dict[str, Any], n_classes: int) -> Iterator[str]:
    found = data.get("source")
    while found is not None:
        if found["weight"] is not None and not found["weight"].sum() > 0:
            yield "`source.weight` must be above 0 for some row"
        found = found.get("held_out")
