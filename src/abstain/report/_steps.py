"""The budget slider: what each budget would withhold, precomputed for the page.

One step is one position of the slider, with everything on the page that follows it. All come
from one budget curve; the rows are only asked which of them a step withholds. Intervals are drawn
at some positions: by how much the draws differ from what the probabilities alone say changes
slowly with the budget, and is interpolated between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain.decisions import Decisions
from abstain.estimation import EstimatedValue
from abstain.metrics import BudgetCurve, Point
from abstain.report._drawings import confusions, histogram, roc_points
from abstain.report._view import Effect, View
from abstain.report._words import class_in_words, decimals, headline, metric_title, percent
from abstain.selection import Selection
from abstain.shift import ratio_of_priors
from abstain.summaries import BatchSummary

_ALTERNATIVES = ("max-probability", "entropy", "js-divergence", "random")
# Draws are made at every so many positions; fewer of alternatives, of which the middle alone is
# shown, except where the page opens.
EVERY = 4
FEW_DRAWS = 80
# Of more classes than this a draw takes long, and there are fewer.
MANY_CLASSES = 20


class Slider(NamedTuple):
    """The positions of the slider.

    Attributes
    ----------
    steps : list of dict
        What the page shows at each.
    chosen : int
        Which of them is what was decided.
    marks : ndarray of int, shape (n,)
        The binary digit k of a row's number tells whether position k withholds it.
    """

    steps: list[dict[str, Any]]
    chosen: int
    marks: IntArray


def budget_grid(rate: float, n_steps: int) -> FloatArray:
    """Return the slider's budgets: evenly spaced from 0, with the chosen one among them."""
    top = min(0.9, max(0.3, 2 * rate))
    grid = np.linspace(0.0, top, n_steps)
    if rate > 0:
        # The first stays 0: nobody withheld is what the others are compared with.
        nearest = 1 + int(np.argmin(np.abs(grid[1:] - rate)))
        grid[nearest] = rate
    return grid


def slider(
    view: View, groups: IntArray | None, *, errors: FloatArray, too_narrow: bool = False
) -> Slider:
    """Return what the page shows at each position of the slider.

    Parameters
    ----------
    view : View
        What was decided.
    groups : ndarray of int, optional
        The number of each row's group.
    errors : ndarray of shape (n_classes, n_classes)
        What each kind of error costs.
    too_narrow : bool
        Whether intervals are to be marked as too narrow.
    """
    decisions = view.decisions
    rate, estimate = decisions.abstention_rate, decisions.estimate
    budgets = budget_grid(rate, 21 if view.is_large else 41).tolist()
    chosen = int(np.argmin(np.abs(np.array(budgets) - rate)))
    curve = _curve(decisions, view.whole, budgets)
    every = EVERY if len(decisions.classes) <= MANY_CLASSES else 4 * EVERY
    others = _alternatives(view, budgets, chosen, every)
    marks = np.zeros(len(decisions), dtype=np.int64)
    steps, shown, known = [], [], {0: estimate.before}
    for k, point in enumerate(curve.points):
        if k == chosen:
            point = point._replace(choice=decisions.choice)
            prediction, abstain = decisions.columns, decisions.abstain
        else:
            prediction, abstain = point.choice.apply(view.proba)
        effect = view.effect(point.choice, prediction, abstain)
        if k and k != chosen and (k % every == 0 or k == len(budgets) - 1):
            known[k] = view.after(point, (effect.prediction, effect.withheld))
        marks |= abstain.astype(np.int64) << k
        shown.append(abstain)
        steps.append(
            {
                **_drawings(view, point, effect, errors),
                "alternatives": {name: values[k] for name, values in others.items()},
                "groups": None
                if groups is None
                else np.bincount(groups[abstain], minlength=int(groups.max()) + 1).tolist(),
            }
        )
    found = _between(curve.points, known, decisions)
    found[chosen] = estimate.after
    for step, budget, abstain, after in zip(steps, budgets, shown, found, strict=True):
        value = after if abstain.any() else estimate.before
        step |= _counts(decisions, budget, abstain, value, too_narrow)
    return Slider(steps, chosen, marks)


def _between(
    points: Sequence[Point], known: dict[int, EstimatedValue], decisions: Decisions
) -> list[EstimatedValue]:
    """Return the estimates of all points from those of some."""
    own = np.array([point.value for point in points])
    ends = np.full((len(points), 3), np.nan)
    for k, value in known.items():
        ends[k] = value.value, *value.interval
    beyond = ends - own[:, None]
    at = np.flatnonzero(np.isfinite(beyond).all(axis=1))
    if len(at):
        every = np.arange(len(points))
        columns = [own + np.interp(every, at, column) for column in beyond[at].T]
        between = np.clip(np.column_stack(columns), *decisions.metric.value_range)
        unknown = np.setdiff1d(every, list(known))
        ends[unknown] = between[unknown]
    return [
        EstimatedValue(value, (low, high), decisions.level) for value, low, high in ends.tolist()
    ]


def _curve(decisions: Decisions, summary: BatchSummary, budgets: list[float]) -> BudgetCurve:
    """Return the choice for each budget, in the order in which the decisions were made."""
    policy, values = decisions.policy, decisions.values
    selection = policy.selection or Selection(score=decisions.choice.region.order)
    if values is not None:
        # No probability tells this score, but every row has its own.
        selection = replace(selection, score=lambda proba: values)
    return selection.curve(
        decisions.metric,
        summary,
        budgets,
        seed=decisions.seed,
        labelled=policy.source,
        weights=ratio_of_priors(policy.priors, policy.source_priors),
    )


def _alternatives(
    view: View, budgets: list[float], chosen: int, every: int
) -> dict[str, list[float]]:
    """Return the metric if rows were withheld by scores that do not know the metric."""
    names = [*_ALTERNATIVES]
    if len(view.decisions.classes) == 2:
        # With two classes it orders rows as the largest probability does.
        names.remove("entropy")
    found: dict[str, list[float]] = {}
    first: EstimatedValue | None = None
    for name in names:
        selection = Selection(score=name, decision="argmax")
        points = selection.curve(view.decisions.metric, view.drawn, budgets).points
        known: dict[int, EstimatedValue] = {}
        for k in sorted({*range(0, len(points), every), chosen}):
            # None of them withholds anything at first, so that is the same for all.
            if k == 0 and first is not None:
                known[0] = first
                continue
            decided = points[k].choice.apply(view.drawn.proba)
            whole = k in (0, chosen) and len(view.decisions.classes) <= MANY_CLASSES
            n_draws = None if whole else FEW_DRAWS
            known[k] = view.after(points[k], decided, n_draws=n_draws)
        first = known[0]
        found[name] = [each.value for each in _between(points, known, view.decisions)]
    return found


def _counts(
    decisions: Decisions, budget: float, abstain: Mask, after: EstimatedValue, too_narrow: bool
) -> dict[str, Any]:
    """Return how many are withheld and what that is worth, in numbers and in words."""
    rate = float(np.average(abstain, weights=decisions.sample_weight))
    withheld = int(np.count_nonzero(abstain))
    low, high = after.interval
    return {
        "budget": budget,
        "withheld": withheld,
        "rate": rate,
        "value": after.value,
        "interval": [low, high],
        "headline": headline(
            metric_title(decisions.metric),
            withheld=withheld,
            rows=len(decisions),
            rate=rate,
            before=decisions.estimate.before.value,
            after=after,
            too_narrow=too_narrow,
        ),
        "text": {
            "budget": percent(budget),
            "withheld": f"{withheld:,}",
            "rate": percent(rate),
            "value": decimals(after.value),
            "interval": f"{decimals(low)} to {decimals(high)}"
            + (" (too narrow)" if too_narrow else ""),
        },
    }


def _drawings(view: View, point: Point, effect: Effect, errors: FloatArray) -> dict[str, Any]:
    """Return what is drawn, and which cases it is about."""
    decisions = view.decisions
    # The words of a score from outside are those of the rule that was decided by.
    region = point.choice.region if decisions.values is None else decisions.choice.region
    names = [str(name) for name in decisions.classes.tolist()]
    score, label = None, f"p({names[-1]})"
    if len(names) > 2:
        score = view.score(region, effect)
        label = "probability of the predicted class" if score is None else region.score_label
    rule, positive = point.choice.rule, class_in_words(names[-1])
    threshold = rule.threshold
    kept, sums = effect.kept, effect.kept.class_sums
    mass = kept.proba if kept.weight is None else kept.proba * kept.weight[:, None]
    # The expected confusion matrix of what is kept, as the rule predicts it.
    matrix = mass.T @ np.eye(len(names))[effect.prediction[~effect.withheld]]
    matrix *= view.whole.total / view.drawn.total
    return {
        "region": region.in_words(positive),
        "rule": rule.in_words(positive),
        **confusions(matrix),
        "error_cost": float((matrix * errors).sum()),
        "threshold": threshold if threshold is None else min(max(threshold, 0.0), 1.0),
        "proportions": (sums / sums.sum()).tolist() if sums.sum() > 0 else None,
        "histogram": histogram(effect, score, label, len(decisions)),
        "roc": roc_points(kept),
    }
