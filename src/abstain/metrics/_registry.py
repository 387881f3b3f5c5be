"""Metrics by name: ``kappa:quadratic``, ``fbeta:2``, ``accuracy``.

A name is a head and, after ``=`` or ``:``, an argument. Adding a metric to the lists is adding
its class to ``_CLASSES``; a user adds their own with ``register``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any, ClassVar, Never

from abstain._numerics import Registry
from abstain._schema import LONG_NAME, MOST, Flag, MadeByOthers, Numbers, OneOf
from abstain.exceptions import PolicyError
from abstain.metrics._accuracy import Accuracy, BalancedAccuracy, ErrorRate, MatthewsCorrelation
from abstain.metrics._areas import AUROC, AveragePrecision, PartialAUROC
from abstain.metrics._base import Metric
from abstain.metrics._estimation import ESTIMATION_KEYS
from abstain.metrics._expected_cost import ExpectedCost
from abstain.metrics._names import KNOWN_AS
from abstain.metrics._operating_point import (
    SensitivityAtSpecificity,
    SpecificityAtSensitivity,
)
from abstain.metrics._precision_at_recall import NetBenefit, PrecisionAtRecall, RecallAtPrecision
from abstain.metrics._precision_recall_f import F1, FBeta, Jaccard, Precision, Recall
from abstain.metrics._row_means import Brier, LogLoss
from abstain.metrics._top_k import TopKAccuracy
from abstain.metrics._weighted_kappa import WeightedKappa

_CLASSES: Registry[type[Metric]] = Registry(
    "metric",
    [
        AUROC,
        Accuracy,
        AveragePrecision,
        BalancedAccuracy,
        Brier,
        ErrorRate,
        ExpectedCost,
        F1,
        FBeta,
        Jaccard,
        LogLoss,
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
    ],
    "head",
    known_as=KNOWN_AS,
)

#: What a policy file holds of its metric.
KEYS = MadeByOthers(
    {
        "name": LONG_NAME,
        "solver?": OneOf("joint", "marginal"),
        "costs?": Numbers(("classes", "classes"), low=-MOST, high=MOST, plain=True),
        "weights?": Numbers(("classes", "classes"), low=0, high=MOST, plain=True),
        "estimation?": ESTIMATION_KEYS,
        "own?": Flag(),
        "greater_is_better?": Flag(),
        "binary_only?": Flag(),
    },
    most=100,
)

_own: dict[str, Metric] = {}


class UnknownMetric(Metric):
    """A metric of its maker's in a loaded policy, which is not known here but for its name.

    A policy decides without its metric; whatever does need it says how to make it known.

    Parameters
    ----------
    data : dict
        What the file says of it.
    """

    #: What a file tells of a metric beside its name.
    told: ClassVar[tuple[str, ...]] = ("greater_is_better", "binary_only")
    known: ClassVar[bool] = False

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        for key in self.told:
            # Files of version 0.1 do not tell.
            setattr(self, key, data.get(key, getattr(Metric, key)))

    @property
    def name(self) -> str:
        """The name in the file."""
        return str(self.data["name"])

    def to_dict(self) -> dict[str, Any]:
        """Return what the file said."""
        return self.data

    def _raise(self, *_: Any, **__: Any) -> Never:
        raise PolicyError(
            f"The metric {self.name!r} of this policy is a function of its maker's, which is not "
            f"known here: decisions need it not, but estimates, the gain of a row and adapt() "
            f"do. Call abstain.metrics.register(metric) with a metric of that name, then load "
            f"the policy again."
        )

    expected_on = observed_on = draws_on = choose_on = _raise
    moved_draws = misfits = before_and_after = summarised = _raise

    def __repr__(self) -> str:
        return f"<metric {self.name}, not known here>"


def summaries() -> list[tuple[str, str]]:
    """Return an example of each registered name and a line on what it is for, sorted.

    Examples
    --------
    >>> from abstain import metrics
    >>> dict(metrics.summaries())["accuracy"]
    'share of examples predicted right'
    """
    built_in = [(_CLASSES[head].example or head, _CLASSES[head].summary) for head in _CLASSES]
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
        raise TypeError(f"`metric` must be a Metric; {_instead_of(metric)}")
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
        raise TypeError(f"`metric` must be a name or a Metric; {_instead_of(metric)}")
    if metric in _own:
        return _own[metric]
    head, argument = _split(metric)
    return _class_of(head, metric).parse(argument)


def from_name(name: str) -> Metric | None:
    """Return the metric of a name in a policy file, for which no file is opened.

    None where no metric has that name here: one of its maker's may be registered later.
    """
    if name in _own:
        return _own[name]
    head, argument = _split(name)
    if head not in _CLASSES:
        return None
    if _names_file(head, argument):
        raise ValueError(
            f"`metric` {name[:60]!r} names a file, and a policy may not. Where it is made, the "
            f"matrix itself is taken in: cost:[[0,1],[5,0]]"
        )
    return _CLASSES[head].parse(argument)


def whole_name(name: str) -> str:
    """Return the name of a metric with a matrix in it in place of the file that has it."""
    return get(name).name if _names_file(*_split(name)) else name


def _names_file(head: str, argument: str | None) -> bool:
    return head == ExpectedCost.head and not (argument or "").startswith("[")


def get_several(metrics: str | Metric | Iterable[str | Metric]) -> list[Metric]:
    """Return one metric or several, by their names or as they are."""
    if isinstance(metrics, str | Metric) or not isinstance(metrics, Iterable):
        return [get(metrics)]
    return [get(metric) for metric in metrics]


def is_own(metric: Metric) -> bool:
    """Tell whether a metric is the user's, so that a policy can name it but not hold it."""
    head = _split(metric.name)[0]
    return head not in _CLASSES or type(metric) is not _CLASSES[head]


def to_dict(metric: Metric) -> dict[str, Any]:
    """Return a metric as plain data; of the user's own what can be told without it."""
    if not is_own(metric):
        return metric.to_dict()
    facts = {key: getattr(metric, key) for key in UnknownMetric.told}
    return {**metric.to_dict(), "own": True, **facts}


def from_dict(data: dict[str, Any]) -> Metric:
    """Return the metric that ``to_dict`` described; a stand-in for one that is not known here."""
    name = data["name"]
    head = _split(name)[0]
    if head in _CLASSES and not data.get("own", False):
        metric = _CLASSES[head].from_dict(data)
        unread = {*data} - {*metric.to_dict()}
        if unread:
            raise ValueError(
                f"`metric` {name[:60]!r} has {', '.join(sorted(unread))[:60]}, which means "
                f"nothing to it"
            )
        return metric
    return _own[name] if name in _own else UnknownMetric(data)


def _instead_of(thing: Any) -> str:
    """Say what came in place of a metric, and how a function is made one."""
    if isinstance(thing, type) and issubclass(thing, Metric):
        return f"got the class {thing.__name__}. Pass one of it, {thing.__name__}(...)."
    if not callable(thing):
        return f"got {thing!r}."
    name = getattr(thing, "__name__", type(thing).__name__)
    called = "function" if name == "<lambda>" else name
    try:
        arguments = [*inspect.signature(thing).parameters.values()]
    except (TypeError, ValueError):
        arguments = []
    in_order = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [one.name for one in arguments if one.kind in in_order]
    needed = sum(
        one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.KEYWORD_ONLY)
        for one in arguments
    )
    lower = "with greater_is_better=False if lower is better"
    of_labels = f"SampledMetric({called})"
    if names[1:2] == ["y_pred"]:
        of_labels = f'SampledMetric({called}, reads="prediction")'
    of_counts = f"ConfusionMetric({called})"
    if names[:1] == ["estimator"]:
        return (
            f"got the scorer {name}. Wrap the function of labels and scores that it is made of, "
            f"abstain.metrics.SampledMetric(function), {lower}."
        )
    if needed == 1:
        return (
            f"got the function {name}. Wrap it: abstain.metrics.{of_counts}, {lower}. It is "
            f"called with the confusion matrix."
        )
    if needed >= 2:
        return (
            f"got the function {name}. Wrap it: abstain.metrics.{of_labels}, {lower}. It is "
            f"called with labels and scores."
        )
    return (
        f"got the function {name}. Wrap it, from abstain.metrics: {of_labels} for a function of "
        f"labels and scores, {of_counts} for one of the confusion matrix, {lower}."
    )


def _split(name: str) -> tuple[str, str | None]:
    head, _, argument = re.match(r"([^=:]*)([=:]?)(.*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
    return head, argument or None


def _class_of(head: str, name: str) -> type[Metric]:
    if head in _CLASSES:
        return _CLASSES[head]
    examples = [example for example, _ in summaries()]
    raise ValueError(
        f"{_CLASSES.complaint(name, shown=examples)} "
        f"A metric of your own is known after abstain.metrics.register(metric)."
    )
