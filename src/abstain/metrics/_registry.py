"""Metrics by name: ``kappa:quadratic``, ``sensitivity@specificity=0.99``, ``auroc``.

A name is a head and, after ``=`` or ``:``, an argument. Adding a metric to the lists is adding
its class to ``_classes``.
"""

import difflib
import re
from typing import Any

from abstain.metrics._auroc import AUROC
from abstain.metrics._base import Metric
from abstain.metrics._sensitivity_at_specificity import SensitivityAtSpecificity
from abstain.metrics._weighted_kappa import WeightedKappa

__all__ = ["from_dict", "get", "registered"]

_classes: tuple[type[Metric], ...] = (
    AUROC,
    SensitivityAtSpecificity,
    WeightedKappa,
)


def registered() -> dict[str, type[Metric]]:
    """Return the metric class behind each head of a name, sorted."""
    return {cls.head: cls for cls in sorted(_classes, key=lambda cls: cls.head)}


def get(metric: str | Metric) -> Metric:
    """Return a metric by its registered name; a metric is returned as it is.

    Parameters
    ----------
    metric : str or Metric
        Such as ``"auroc"``, ``"sensitivity@specificity=0.99"`` or ``"kappa:quadratic"``.

    Raises
    ------
    ValueError
        If no metric has that name; the message suggests the nearest.

    Examples
    --------
    >>> from abstain import metrics
    >>> metrics.get("kappa:quadratic")
    <metric kappa:quadratic>
    """
    if isinstance(metric, Metric):
        return metric
    if not isinstance(metric, str):
        raise TypeError(f"`metric` must be a name or a Metric; got {metric!r}.")
    head, _, argument = re.match(r"([^=:]*)([=:]?)(.*)", metric, re.DOTALL).groups()  # type: ignore[union-attr]
    classes = registered()
    if head not in classes:
        near = difflib.get_close_matches(metric, [cls.example for cls in classes.values()], n=1)
        near = near or difflib.get_close_matches(head, list(classes), n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise ValueError(
            f"`metric` {metric!r} is not known. {hint}Known: "
            + ", ".join(cls.example for cls in classes.values())
            + "."
        )
    return classes[head].parse(argument or None)


def from_dict(data: dict[str, Any]) -> Metric:
    """Return the metric that ``Metric.to_dict`` described."""
    return get(data["name"]).restored(data)
