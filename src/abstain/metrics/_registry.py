"""Metrics by name: ``kappa:quadratic``, ``fbeta:2``, ``accuracy``.

A name is a head and, after ``=`` or ``:``, an argument. Adding a metric to the lists is adding
its class to ``_CLASSES``; a user adds their own with ``register``.
"""

import re
from typing import Any

from abstain._numerics import Registry
from abstain.metrics._accuracy import Accuracy, BalancedAccuracy, ErrorRate
from abstain.metrics._auroc import AUROC
from abstain.metrics._average_precision import AveragePrecision
from abstain.metrics._base import Metric
from abstain.metrics._expected_cost import ExpectedCost
from abstain.metrics._mcc import MatthewsCorrelation
from abstain.metrics._net_benefit import NetBenefit
from abstain.metrics._partial_auroc import PartialAUROC
from abstain.metrics._precision_at_recall import PrecisionAtRecall, RecallAtPrecision
from abstain.metrics._precision_recall_f import F1, FBeta, Jaccard, Precision, Recall
from abstain.metrics._sensitivity_at_specificity import SensitivityAtSpecificity
from abstain.metrics._specificity_at_sensitivity import SpecificityAtSensitivity
from abstain.metrics._top_k import TopKAccuracy
from abstain.metrics._weighted_kappa import WeightedKappa

__all__ = ["from_dict", "get", "register", "summaries"]

_CLASSES: Registry[type[Metric]] = Registry(
    "metric",
    [
        (metric.head, metric)
        for metric in (
            AUROC,
            Accuracy,
            AveragePrecision,
            BalancedAccuracy,
            ErrorRate,
            ExpectedCost,
            F1,
            FBeta,
            Jaccard,
            MatthewsCorrelation,
            NetBenefit,
            PartialAUROC,
            Precision,
            PrecisionAtRecall,
            Recall,
            RecallAtPrecision,
            SensitivityAtSpecificity,
            SpecificityAtSensitivity,
            TopKAccuracy,
            WeightedKappa,
        )
    ],
)

_own: dict[str, Metric] = {}


def summaries() -> list[tuple[str, str]]:
    """Return an example of each registered name and a line on what it is for, sorted.

    Examples
    --------
    >>> from abstain import metrics
    >>> dict(metrics.summaries())["accuracy"]
    'share of examples predicted right'
    """
    built_in = [(_CLASSES[head].example, _CLASSES[head].summary) for head in _CLASSES]
    return built_in + [(name, metric.summary or "yours") for name, metric in sorted(_own.items())]


def register(metric: Metric) -> None:
    """Make a metric of your own known by its name, to ``get`` and to policies that are loaded.

    Parameters
    ----------
    metric : Metric
        Such as a ``ConfusionMetric`` or a ``SampledMetric``. One registered before under the
        same name is replaced.

    Raises
    ------
    ValueError
        If the name is that of a built-in metric, or empty.

    Examples
    --------
    >>> from abstain import metrics
    >>> hits = metrics.ConfusionMetric(lambda C: C[1, 1] / C.sum(), name="hits")
    >>> metrics.register(hits)
    >>> metrics.get("hits")
    <metric hits>
    """
    if not isinstance(metric, Metric):
        raise TypeError(f"`metric` must be a Metric; got {metric!r}.")
    if not metric.name or _split(metric.name)[0] in _CLASSES:
        raise ValueError(
            f"`metric` has the name {metric.name!r}, which is "
            f"{'taken by a built-in metric' if metric.name else 'empty'}; choose another."
        )
    _own[metric.name] = metric


def get(metric: str | Metric) -> Metric:
    """Return a metric by its registered name; a metric is returned as it is.

    Parameters
    ----------
    metric : str or Metric
        Such as ``"accuracy"``, ``"fbeta:2"`` or ``"kappa:quadratic"``.

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
        metric.check_parameters()
        return metric
    if not isinstance(metric, str):
        raise TypeError(f"`metric` must be a name or a Metric; got {metric!r}.")
    if metric in _own:
        return _own[metric]
    head, argument = _split(metric)
    return _class_of(head, metric).parse(argument)


def from_dict(data: dict[str, Any]) -> Metric:
    """Return the metric that ``Metric.to_dict`` described."""
    name = data["name"]
    if name in _own:
        return _own[name]
    return _class_of(_split(name)[0], name).from_dict(data)


def _split(name: str) -> tuple[str, str | None]:
    head, _, argument = re.match(r"([^=:]*)([=:]?)(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
    return head, argument or None


def _class_of(head: str, name: str) -> type[Metric]:
    if head in _CLASSES:
        return _CLASSES[head]
    examples = [_CLASSES[known].example for known in _CLASSES] + sorted(_own)
    raise ValueError(
        f"{_CLASSES.complaint(name, shown=examples, head=head)} "
        f"A metric of your own is known after abstain.metrics.register(metric)."
    )
