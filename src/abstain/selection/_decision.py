"""How the kept rows are predicted: by argmax, or by a rule fitted to the metric where that helps.

A fitted rule is as good as the probabilities it is fitted on. Where labelled validation data are
at hand, weighted to the batch's class proportions, they have the last word about it: on six real
sets that took what ``"auto"`` makes worse from 6 of 400 cells to 1, and left what it makes better.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from abstain._inputs import FloatArray, Mask
from abstain.metrics import Decision, Metric, helps
from abstain.regions import Choice, Interval
from abstain.rules import Argmax, DecisionRule
from abstain.summaries import BatchSummary, LabelledSummary, RowSummary


def as_now(labelled: LabelledSummary | None, weights: FloatArray | None) -> LabelledSummary | None:
    """Return the validation data as they would look with the batch's class proportions."""
    if labelled is None or weights is None:
        return None
    moved = weights[labelled.labels]
    return replace(
        labelled.at(weights), weight=moved if labelled.weight is None else moved * labelled.weight
    )


def own_choice(
    metric: Metric,
    summary: BatchSummary,
    capacity: float,
    decision: Decision,
    labelled: LabelledSummary | None = None,
) -> Choice:
    """Return what the metric would withhold and predict.

    Parameters
    ----------
    metric : Metric
        What to make as good as possible.
    summary : BatchSummary
        The batch, adapted.
    capacity : float
        The largest weight that may be withheld.
    decision : {"auto", "argmax", "optimal"}
        How the rest is predicted.
    labelled : LabelledSummary, optional
        The validation data as they would look now. With ``"auto"`` a rule fitted to the metric
        must help on them too.
    """
    choice = metric.choose_on(summary, capacity, decision)
    if labelled is None or not _in_question(metric, decision, choice.rule, labelled):
        return choice
    plain = metric.choose_on(summary, capacity, "argmax")
    return choice if _confirmed(metric, choice, plain, labelled) else plain


def rule_for(
    metric: Metric,
    summary: BatchSummary,
    withheld: Mask,
    decision: Decision,
    labelled: LabelledSummary | None = None,
) -> DecisionRule:
    """Return how to predict what a score that does not know the metric leaves.

    Parameters
    ----------
    metric : Metric
        What the predictions should serve.
    summary : BatchSummary
        The batch, adapted.
    withheld : ndarray of bool
        What is withheld of it.
    decision : {"auto", "argmax", "optimal"}
        How the rest is predicted.
    labelled : LabelledSummary, optional
        As of :func:`own_choice`.
    """
    if decision == "argmax" or withheld.all():
        return Argmax()
    rule = metric.rule_on(summary.only(~withheld), decision)
    if labelled is not None and _in_question(metric, decision, rule, labelled):
        fitted, plain = (Choice(Interval.empty(), one) for one in (rule, Argmax()))
        if not _confirmed(metric, fitted, plain, labelled):
            return Argmax()
    return rule


def _in_question(
    metric: Metric, decision: Decision, rule: DecisionRule, labelled: LabelledSummary
) -> bool:
    """Tell whether a rule was fitted because that seemed to help, and labels can judge it.

    The compact ones of a policy cannot: their rows are joined by the most probable class, and
    are too few to tell how another would do.
    """
    if metric.resolved(decision) != "auto" or isinstance(rule, Argmax):
        return False
    if metric.of_team:
        # The rows that the model keeps cannot judge what predicts after opinions as well.
        return False
    return not labelled.edges.size


def _confirmed(metric: Metric, fitted: Choice, plain: Choice, labelled: LabelledSummary) -> bool:
    """Tell whether labels say, too, that a fitted rule helps."""
    return helps(_worth(metric, fitted, labelled), _worth(metric, plain, labelled))


def _worth(metric: Metric, choice: Choice, labelled: LabelledSummary) -> float:
    """Return the metric of what a choice keeps of labelled rows, such that more is better."""
    prediction, withheld = choice.apply(labelled.proba)
    kept = ~withheld
    if not kept.any():
        return -np.inf
    rows = RowSummary(labelled.proba, labelled.weight).only(kept)
    value = metric.observed_on(labelled.labels[kept], rows, prediction[kept])
    value = value if metric.greater_is_better else -value
    return -np.inf if np.isnan(value) else value
