"""The budget slider: what each budget would withhold, precomputed for the page.

One step is one position of the slider, with everything on the page that follows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from abstain import baselines
from abstain._inputs import FloatArray, IntArray
from abstain._kernels.confusion import expected_confusion
from abstain.baselines import ScoreThreshold
from abstain.decisions import Decisions, Estimate, EstimatedValue, estimate_metric
from abstain.metrics import RankingMetric
from abstain.policy import Policy
from abstain.regions import Mask, Region
from abstain.report._curves import histogram, roc_points
from abstain.report._words import decimals, headline, metric_title, percent, region_in_words
from abstain.rules import Argmax, DecisionRule, Threshold
from abstain.selection import Selection, budget_capacity
from abstain.shift import ratio_of_priors

__all__ = ["LARGE", "Step", "budget_grid", "budget_steps", "step_facts"]

# Above this many rows the slider has fewer positions, drawn from a random part of the rows.
LARGE = 200_000
_ALTERNATIVES = ("max-probability", "entropy", "js-divergence", "random")


@dataclass(frozen=True, eq=False)
class Step:
    """One position of the slider: a budget, and the rule that it would give.

    Attributes
    ----------
    budget : float
        The largest share that may be withheld.
    abstain : ndarray of bool, shape (n,)
        Which rows are withheld.
    prediction : ndarray of shape (n,)
        The predicted column of each row.
    region : Region
        What is withheld.
    """

    budget: float
    abstain: Mask
    prediction: IntArray
    region: Region

    def only(self, rows: IntArray) -> Self:
        """Return the step of some of the rows."""
        return replace(self, abstain=self.abstain[rows], prediction=self.prediction[rows])


def budget_grid(rate: float, n_rows: int) -> FloatArray:
    """Return the slider's budgets: evenly spaced from 0, with the chosen one among them."""
    top = min(0.9, max(0.3, 2 * rate))
    grid = np.linspace(0.0, top, 41 if n_rows <= LARGE else 21)
    if rate > 0:
        # The first stays 0: nobody withheld is what the others are compared with.
        nearest = 1 + int(np.argmin(np.abs(grid[1:] - rate)))
        grid[nearest] = rate
    return grid


def budget_steps(decisions: Decisions) -> tuple[list[Step], int]:
    """Return the slider's positions and which of them is what was decided."""
    rate = decisions.abstention_rate
    policy, proba = decisions.policy, decisions.proba
    budgets = budget_grid(rate, len(decisions))
    chosen = int(np.argmin(np.abs(budgets - rate)))
    decided = Step(
        float(budgets[chosen]), decisions.abstain, policy.rule.predict(proba), policy.region
    )
    if isinstance(policy.region, ScoreThreshold) and policy.region.score == "dropout-variance":
        # Other budgets would need the draws again.
        nobody = np.zeros(len(decisions), dtype=np.bool_)
        return [Step(0.0, nobody, decided.prediction, policy.region), decided], 1
    steps = []
    for k, (budget, (region, rule)) in enumerate(
        zip(budgets.tolist(), _choices(decisions, budgets), strict=True)
    ):
        if k == chosen:
            steps.append(decided)
            continue
        prediction = rule.predict(proba)
        withheld = (
            region.contains(proba, prediction)
            if budget > 0
            else np.zeros(len(proba), dtype=np.bool_)
        )
        steps.append(Step(budget, withheld, prediction, region))
    return steps, chosen


def _choices(decisions: Decisions, budgets: FloatArray) -> list[tuple[Region, DecisionRule]]:
    """Return region and rule for each budget, ordered the way the decisions were."""
    policy, proba, weight = decisions.policy, decisions.proba, decisions.sample_weight
    selection = policy.selection or _selection_of(policy)
    if (
        isinstance(policy.metric, RankingMetric)
        and selection.score is None
        and selection.decision == "argmax"
    ):
        curve = policy.metric.curve(proba, budgets, sample_weight=weight)
        return [(region, policy.rule) for region in curve.regions]
    family = selection.family(
        policy.metric,
        proba,
        weight,
        decisions.seed,
        source=policy.source,
        weights=ratio_of_priors(policy.priors, policy.source_priors),
    )
    choices = [family(budget_capacity(budget, len(proba), weight)) for budget in budgets.tolist()]
    own = selection.decision == "optimal"
    return [(choice.region, choice.rule if own else policy.rule) for choice in choices]


def _selection_of(policy: Policy) -> Selection:
    """Return the order of a rule that does not carry how it was chosen."""
    score = policy.region.score if isinstance(policy.region, ScoreThreshold) else None
    return Selection(
        score=score, decision="argmax" if isinstance(policy.rule, Argmax) else "optimal"
    )


def step_facts(
    decisions: Decisions, steps: Sequence[Step], chosen: int, groups: IntArray | None
) -> list[dict[str, Any]]:
    """Return what the page shows at each position of the slider.

    Of a very large batch, a random part stands for all in everything but the counts, the rates
    and what was decided.
    """
    rows = _part(len(decisions))
    part = decisions if rows is None else _only(decisions, rows)
    before = decisions.estimate.before
    facts = []
    for k, step in enumerate(steps):
        seen = step if rows is None else step.only(rows)
        if k == chosen:
            after = decisions.estimate.after
        elif not step.abstain.any():
            after = before
        else:
            after = _narrowed(_estimate(part, seen).after, len(part) / len(decisions))
        counted = _counts(decisions, step, before, after)
        drawn = _drawings(part, seen, len(decisions) / len(part))
        facts.append(
            {
                **counted,
                **drawn,
                "groups": None if groups is None else _per_group(groups, step.abstain),
            }
        )
    return facts


def _part(n_rows: int) -> IntArray | None:
    """Return the rows that stand for all of them; None for all."""
    if n_rows <= LARGE:
        return None
    return np.sort(np.random.default_rng(0).choice(n_rows, LARGE, replace=False))


def _only(decisions: Decisions, rows: IntArray) -> Decisions:
    weight = decisions.sample_weight
    return replace(
        decisions,
        abstain=decisions.abstain[rows],
        proba=decisions.proba[rows],
        prediction=decisions.prediction[rows],
        sample_weight=None if weight is None else weight[rows],
    )


def _narrowed(estimated: EstimatedValue, share: float) -> EstimatedValue:
    """Return the interval for the whole from that of a part: noise falls with its root."""
    low, high = (
        estimated.value + (end - estimated.value) * float(np.sqrt(share))
        for end in estimated.interval
    )
    return EstimatedValue(estimated.value, (low, high))


def _counts(
    decisions: Decisions, step: Step, before: EstimatedValue, after: EstimatedValue
) -> dict[str, Any]:
    """Return how many are withheld and what that is worth, in numbers and in words."""
    rate = float(np.average(step.abstain, weights=decisions.sample_weight))
    withheld = int(step.abstain.sum())
    return {
        "budget": step.budget,
        "withheld": withheld,
        "rate": rate,
        "value": after.value,
        "interval": list(after.interval),
        "headline": headline(
            metric_title(decisions.policy.metric),
            withheld=withheld,
            rows=len(decisions),
            rate=rate,
            before=before.value,
            after=after.value,
            interval=after.interval,
        ),
        "text": _text(step, withheld, rate, after),
        "region": region_in_words(step.region, _positive(decisions)),
    }


def _drawings(decisions: Decisions, step: Step, factor: float) -> dict[str, Any]:
    """Return what is drawn; counts are multiplied by the factor."""
    prediction, threshold = _shown_prediction(decisions, step)
    shown = histogram(decisions, step.abstain, step.prediction, step.region)
    for name in ("all", "withheld"):
        shown[name] = [round(count * factor) for count in shown[name]]
    return {
        "confusion": (_confusion(decisions, step, prediction) * factor).tolist(),
        "threshold": threshold,
        "proportions": _kept_proportions(decisions, step.abstain),
        "histogram": shown,
        "roc": roc_points(decisions, ~step.abstain),
        "alternatives": _alternatives(decisions, step),
    }


def _estimate(decisions: Decisions, step: Step) -> Estimate:
    return estimate_metric(
        decisions.policy.metric,
        decisions.proba,
        step.prediction,
        step.abstain,
        sample_weight=decisions.sample_weight,
        seed=decisions.seed,
        prior_ratios=(
            None
            if decisions.prior_draws is None
            else [ratio_of_priors(drawn, decisions.priors) for drawn in decisions.prior_draws]
        ),
    )


def _text(step: Step, withheld: int, rate: float, after: EstimatedValue) -> dict[str, str]:
    return {
        "budget": percent(step.budget),
        "withheld": f"{withheld:,}",
        "rate": percent(rate),
        "value": decimals(after.value),
        "interval": f"{decimals(after.interval[0])} to {decimals(after.interval[1])}",
    }


def _positive(decisions: Decisions) -> str:
    name = str(decisions.classes[-1])
    return f"class {name}" if name.lstrip("-").isdigit() else name


def _shown_prediction(decisions: Decisions, step: Step) -> tuple[IntArray, float | None]:
    """Return predictions for the confusion matrix, and their threshold where there is one.

    A metric of an operating point, such as sensitivity at a specificity, is about the
    predictions at that point, which moves with what is kept.
    """
    proba, kept, metric = decisions.proba, ~step.abstain, decisions.policy.metric
    if not isinstance(metric, RankingMetric):
        return step.prediction, None
    weight = decisions.sample_weight
    choice = metric.choose(
        proba[kept],
        0.0,
        sample_weight=None if weight is None else weight[kept],
        decision="optimal",
    )
    if not isinstance(choice.rule, Threshold):
        return step.prediction, None
    return choice.rule.predict(proba), min(choice.rule.threshold, 1.0)


def _confusion(decisions: Decisions, step: Step, prediction: IntArray) -> FloatArray:
    weight = decisions.sample_weight
    return expected_confusion(
        decisions.proba, prediction, np.empty(0) if weight is None else weight, ~step.abstain
    )


def _kept_proportions(decisions: Decisions, abstain: Mask) -> list[float] | None:
    if abstain.all():
        return None
    weight = decisions.sample_weight
    rows = ~abstain
    proportions: list[float] = np.average(
        decisions.proba[rows], axis=0, weights=None if weight is None else weight[rows]
    ).tolist()
    return proportions


def _alternatives(decisions: Decisions, step: Step) -> dict[str, float]:
    """Return the metric if rows were withheld by scores that do not know the metric."""
    proba, weight = decisions.proba, decisions.sample_weight
    metric, rule = decisions.policy.metric, Argmax()
    prediction = rule.predict(proba)
    capacity = budget_capacity(step.budget, len(proba), weight)
    values = {}
    for name in _ALTERNATIVES:
        if name == "entropy" and proba.shape[1] == 2:
            # With two classes it orders rows as the largest probability does.
            continue
        region = baselines.choose_by_score(name, proba, capacity, sample_weight=weight, seed=0)
        kept = ~region.contains(proba, prediction)
        values[name] = metric.expected(
            proba[kept],
            prediction=prediction[kept],
            sample_weight=None if weight is None else weight[kept],
        )
    return values


def _per_group(groups: IntArray, abstain: Mask) -> list[int]:
    counts: list[int] = np.bincount(groups[abstain], minlength=int(groups.max()) + 1).tolist()
    return counts
