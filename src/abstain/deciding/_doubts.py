"""What speaks against a decision: a choice that does not help, figures that are not defined.

A rule that is not expected to help withholds nobody. One that keeps few rows, or rows of one
class, may have a figure next to perfect that says little.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import IntArray, Mask, both_columns
from abstain._words import class_in_words, number, share
from abstain.calibration import Calibrator
from abstain.deciding._choosing import Chosen
from abstain.deciding._given import Given
from abstain.estimation import Estimate, EstimatedValue, Marks
from abstain.exceptions import AssumptionWarning, Way, warn_user
from abstain.metrics import Metric
from abstain.rules import Argmax
from abstain.selection import Cost
from abstain.shift import Assumption
from abstain.summaries import BatchSummary, LabelledSummary
from abstain.team import TeamMetric

# A value that is worse by less is worse by rounding alone.
_ROUNDING = 1e-9
# A share withheld that leaves the smaller part; and rows kept that are few.
_MOST_WITHHELD = 0.5
_FEW_KEPT = 30
# Rows of other classes, expected among kept rows that all get one, that are worth a word.
_OTHERS = 5.0
# Fewer logits may all lie in [0, 1] by chance.
_FEWEST_LOOKED_AT = 100
_SUM_OF_PROBABILITIES = 1e-3
_KNOWN = Way("KnownPriors", python="give the proportions with shift=KnownPriors(...)")
_SCALES = [Way("scale", name, f'scale="{name}"') for name in ("logits", "probabilities")]


def worsens(metric: Metric, estimate: Estimate) -> bool:
    """Tell whether the kept rows are expected to do worse than all do."""
    change = estimate.after.value - estimate.before.value
    return bool((change if metric.greater_is_better else -change) < -_ROUNDING)


def may_be_in_vain(given: Given) -> bool:
    """Tell whether a choice is there for the metric alone, so that one that worsens it is none."""
    selection = given.selection
    return selection.budget is not None and selection.score is None and given.proof is None


def in_vain(metric: Metric, estimate: Estimate) -> str:
    """Say that nobody is withheld, as that would not help."""
    return (
        f"Withholding is not expected to help, so nobody is withheld: the best rule within the "
        f"budget would take {metric.name} from {_both(estimate)}. Label more rows, or ask for a "
        f"metric that rests on more of them."
    )


def choice_doubts(
    given: Given, chosen: Chosen, now: BatchSummary, decided: Marks, estimate: Estimate
) -> list[str]:
    """Return what speaks against a choice.

    Parameters
    ----------
    given, chosen : Given and Chosen
        What was to be chosen, and what was.
    now : BatchSummary
        The batch, adapted.
    decided : (ndarray, ndarray)
        Predicted columns of it, where they are at hand, and what is withheld.
    estimate : Estimate
        What is expected of it.
    """
    withheld = decided[1]
    if isinstance(given.metric, TeamMetric):
        return [*_nobody_asked(given, withheld), *given.metric.team.doubts]
    weight = np.ones(len(withheld)) if now.weight is None else now.weight
    kept, total = float(weight[~withheld].sum()), float(weight.sum())
    found: list[str] = []
    if not kept or given.selection.arms is not None:
        return [*chosen.doubts]
    if given.metric.per_kept_row and withheld.any():
        found.append(_of_everybody(given.metric, estimate, kept / total))
    if not withheld.any():
        found += _why_nobody(given, chosen, now, decided)
    elif worsens(given.metric, estimate) and given.selection.cost is None:
        found.append(
            f"What is withheld is not expected to help: it takes {given.metric.name} from "
            f"{_both(estimate)}. Withhold by the metric itself, or less."
        )
    return [*found, *_few(given, kept, total), *_one_class(given, chosen, now, decided)]


def _nobody_asked(given: Given, withheld: Mask) -> list[str]:
    """Say that nobody is asked, where there was a budget for it."""
    if withheld.any() or not given.selection.budget:
        return []
    return [
        f"Nobody is referred: of no row within the budget is an opinion expected to make "
        f"{given.metric.name} of the final answers better than the model makes it alone."
    ]


def _both(estimate: Estimate) -> str:
    return f"{number(estimate.before.value)} to {number(estimate.after.value)}"


def _of_everybody(metric: Metric, estimate: Estimate, kept: float) -> str:
    """Say what becomes of a mean over kept rows where those referred count as nothing."""
    before, after = number(estimate.before.value), number(kept * estimate.after.value)
    return (
        f"{metric.name} is a mean over the rows that are kept, and fewer of these make it larger: "
        f"over all rows, those withheld counting nothing, it goes from {before} to {after}. "
        f"Choose by a cost, which has a price for the others."
    )


def _too_dear(cost: Cost) -> list[str]:
    """Say that no mistake is as dear as a person, which is why nobody is withheld."""
    said = "Nobody is withheld: of no row is the mistake to be expected as dear as a person"
    if cost.errors is None and cost.value_of_metric is None:
        return [f"{said}, as every mistake costs 1 where `errors` of the cost are not given."]
    return [f"{said}."]


def _few(given: Given, kept: float, total: float) -> list[str]:
    """Say that most rows are withheld, where no budget asked for it, and that few are left."""
    budget, target = given.selection.budget, given.selection.target
    most = 1 - kept / total > _MOST_WITHHELD
    if most and (budget is None or target is not None):
        return [
            f"{share(1 - kept / total)} of the rows are withheld: the figures are of the "
            f"{kept:,.0f} that are left alone. Ask for less, or take scores that tell the classes "
            f"apart better."
        ]
    if most and kept < _FEW_KEPT:
        return [f"Only {kept:,.0f} rows are left, too few for their figures to say much."]
    return []


def _one_class(given: Given, chosen: Chosen, now: BatchSummary, decided: Marks) -> list[str]:
    """Say that all kept rows are predicted to be of one class, though others are among them."""
    rule, (prediction, withheld) = chosen.choice.rule, decided
    if given.metric.ranks and isinstance(rule, Argmax):
        # Of the order alone: nobody looks at predictions.
        return []
    kept = ~withheld
    columns = (prediction if prediction.size else rule.predict(now.compact))[kept]
    if (columns != columns[0]).any():
        return []
    weight = np.ones(len(withheld)) if now.weight is None else now.weight
    others = float((weight * (1 - now.proba[:, columns[0]]))[kept].sum())
    if others < _OTHERS:
        return []
    name = class_in_words(given.classes[columns[0]])
    return [
        f"All rows that are kept are predicted to be {name}, and about {others:,.0f} of them are "
        f"not: {given.metric.name} does not tell. Look at each class by itself, or ask for a "
        f"metric such as balanced-accuracy."
    ]


def _why_nobody(given: Given, chosen: Chosen, now: BatchSummary, decided: Marks) -> list[str]:
    """Say why nothing is withheld though there was a budget for some rows."""
    selection = given.selection
    if selection.cost is not None:
        return _too_dear(selection.cost)
    if selection.budget is None or selection.target is not None:
        return []
    capacity = selection.capacity(now)
    if capacity < now.lightest or not capacity:
        return []
    fewest = _fewest_tied(chosen, now, decided[0])
    if fewest <= capacity:
        return [
            f"Nobody is withheld: to withhold any rows within the budget is not expected to make "
            f"{given.metric.name} better."
        ]
    return [
        f"Nobody is withheld: rows that tie go to a person together or not at all, and of those "
        f"that come first {fewest:,.0f} do, more than the budget allows ({capacity:,.0f}). Take "
        f"a larger budget, or scores that are not rounded."
    ]


def _fewest_tied(chosen: Chosen, now: BatchSummary, prediction: IntArray) -> float:
    """Return the weight of the fewest rows that can be withheld at first."""
    weight = np.ones(len(now.proba)) if now.weight is None else now.weight
    (region, rule), values = chosen.choice, chosen.values
    if values is None:
        columns = prediction if prediction.size else rule.predict(now.compact)
        values = region.score(now.compact, columns)
    if values is None:
        return float(weight[weight > 0].min())
    top = values.max()
    first = values >= top - _ROUNDING * max(abs(top), 1.0)
    return float(weight[first].sum())


def with_undefined(assumption: Assumption, name: str, *values: EstimatedValue) -> Assumption:
    """Add that a metric is not defined, where it is not: silence would pass for an answer."""
    if np.isfinite([one.value for one in values]).all():
        return assumption
    return replace(
        assumption,
        doubts=(
            *assumption.doubts,
            f"{name} is not defined on these rows: a class that it needs is all but absent. Take "
            f"a larger batch, or a metric that does without.",
        ),
    )


def warn_of(assumption: Assumption | None) -> None:
    """Warn once of everything that speaks against the figures for a batch."""
    if assumption is not None and assumption.doubts:
        warn_user(" ".join(assumption.doubts), AssumptionWarning, ways=[_KNOWN])


def warn_of_scale(values: NDArray[Any], calibrator: Calibrator, labelled: LabelledSummary) -> None:
    """Warn of a batch of logits that look like probabilities, where the validation logits did not.

    Those of the validation data are not kept; but what the calibrator makes of logits in [0, 1]
    has a range, and calibrated validation rows beyond it came from elsewhere.
    """
    if calibrator.scale != "logits" or len(values) < _FEWEST_LOOKED_AT:
        return
    if values.dtype.kind != "f" or not (values.min() >= 0 and values.max() <= 1):
        return
    if values.ndim == 2 and np.abs(values.sum(axis=1) - 1).max() > _SUM_OF_PROBABILITIES:
        return
    n_classes = labelled.proba.shape[1]
    ends = np.array([0.0, 1.0]) if values.ndim == 1 else np.eye(n_classes)
    reach = both_columns(calibrator.compact(ends))
    beyond = (labelled.proba < reach.min(axis=0) - 1e-9) | (
        labelled.proba > reach.max(axis=0) + 1e-9
    )
    if beyond.any():
        warn_user(
            'Every one of `scores` is in [0, 1], though scale="logits" was fitted on logits that '
            "went beyond. If these are probabilities, pass the logits that the classifier gives "
            'before its softmax or sigmoid, or fit with scale="probabilities" on probabilities.',
            AssumptionWarning,
            ways=[*_SCALES, Way("", python="pass the logits")],
        )
