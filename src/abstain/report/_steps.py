"""The budget slider: what each budget would withhold, precomputed for the page.

One step is one position of the slider, with everything on the page that follows it. All come
from one budget curve; the rows are only asked which of them a step withholds.
"""

from typing import Any, NamedTuple

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain.decisions import Decisions
from abstain.estimation import EstimatedValue
from abstain.metrics import BudgetCurve, Point
from abstain.policy import Policy
from abstain.report._drawings import confusion, histogram, proportions, roc_points
from abstain.report._view import Seen, View
from abstain.report._words import decimals, headline, metric_title, percent
from abstain.selection import Selection
from abstain.shift import ratio_of_priors
from abstain.summaries import Summary

__all__ = ["Slider", "budget_grid", "slider"]

_ALTERNATIVES = ("max-probability", "entropy", "js-divergence", "random")


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


def slider(view: View, groups: IntArray | None) -> Slider:
    """Return what the page shows at each position of the slider."""
    decisions = view.decisions
    rate, estimate = decisions.abstention_rate, decisions.estimate
    budgets = budget_grid(rate, 21 if view.is_large else 41).tolist()
    chosen = int(np.argmin(np.abs(np.array(budgets) - rate)))
    curve = _curve(decisions, view.whole, budgets)
    others = _alternatives(view, budgets)
    marks = np.zeros(len(decisions), dtype=np.int64)
    steps = []
    for k, point in enumerate(curve.points):
        if k == chosen:
            point = point._replace(choice=decisions.choice)
            prediction, abstain = decisions.columns, decisions.abstain
        else:
            prediction, abstain = point.choice.apply(view.proba)
        seen = view.seen(point.choice, prediction, abstain)
        if k == chosen:
            after = estimate.after
        else:
            after = view.after(point, seen) if abstain.any() else estimate.before
        marks |= abstain.astype(np.int64) << k
        steps.append(
            {
                **_counts(decisions, budgets[k], abstain, after),
                **_drawings(view, point, seen),
                "alternatives": {name: values[k] for name, values in others.items()},
                "groups": None if groups is None else _per_group(groups, abstain),
            }
        )
    return Slider(steps, chosen, marks)


def _curve(decisions: Decisions[Policy], summary: Summary, budgets: list[float]) -> BudgetCurve:
    """Return the choice for each budget, in the order in which the decisions were made."""
    policy, values = decisions.policy, decisions.values
    selection = policy.selection or Selection(score=decisions.choice.region.order)
    if values is not None:
        # No probability tells this score, but every row has its own.
        selection = Selection(score=lambda proba: values)
    return selection.curve(
        decisions.metric,
        summary,
        budgets,
        seed=decisions.seed,
        labelled=policy.source,
        weights=ratio_of_priors(policy.priors, policy.source_priors),
    )


def _alternatives(view: View, budgets: list[float]) -> dict[str, list[float]]:
    """Return the metric if rows were withheld by scores that do not know the metric."""
    names = [*_ALTERNATIVES]
    if len(view.decisions.classes) == 2:
        # With two classes it orders rows as the largest probability does.
        names.remove("entropy")
    metric = view.decisions.metric
    return {
        name: Selection(score=name).curve(metric, view.drawn, budgets).values.tolist()
        for name in names
    }


def _counts(
    decisions: Decisions[Policy], budget: float, abstain: Mask, after: EstimatedValue
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
            after=after.value,
            interval=after.interval,
        ),
        "text": {
            "budget": percent(budget),
            "withheld": f"{withheld:,}",
            "rate": percent(rate),
            "value": decimals(after.value),
            "interval": f"{decimals(low)} to {decimals(high)}",
        },
    }


def _drawings(view: View, point: Point, seen: Seen) -> dict[str, Any]:
    """Return what is drawn, and which cases it is about."""
    decisions = view.decisions
    # The words of a score from outside are those of the rule that was decided by.
    region = point.choice.region if decisions.values is None else decisions.choice.region
    names = [str(name) for name in decisions.classes.tolist()]
    matrix, threshold = confusion(decisions.metric, seen)
    score, label = None, f"probability of {names[-1]}"
    if len(names) > 2:
        score = view.score(region, seen)
        label = "probability of the predicted class" if score is None else region.score_label
    positive = f"class {names[-1]}" if names[-1].lstrip("-").isdigit() else names[-1]
    return {
        "region": region.in_words(positive),
        "confusion": (matrix * (view.whole.total / view.drawn.total)).tolist(),
        "threshold": threshold,
        "proportions": proportions(seen.kept),
        "histogram": histogram(seen, score, label, len(decisions)),
        "roc": roc_points(seen.kept),
    }


def _per_group(groups: IntArray, abstain: Mask) -> list[int]:
    counts: list[int] = np.bincount(groups[abstain], minlength=int(groups.max()) + 1).tolist()
    return counts
