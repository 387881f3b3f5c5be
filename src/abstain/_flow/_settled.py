"""What is settled on a summary, and edges that no row is near."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from abstain._flow._basis import Basis
from abstain._inputs import FloatArray, IntArray, Mask
from abstain.certificates import Certificate
from abstain.estimation import (
    drawn_choice,
)
from abstain.exceptions import TargetUnreachable
from abstain.metrics import Metric
from abstain.regions import Choice
from abstain.selection import Memory, Selection, goals_of, raised_target
from abstain.summaries import (
    BatchSummary,
    LabelledSummary,
    RowSummary,
)

__all__ = ["Settled", "as_certified", "cleared", "surely_reached", "within"]

# Times that a target is raised until the interval reaches it.
_RAISES = 8
# A region that reads no predictions is given none.
_NOT_READ: IntArray = np.empty(0, dtype=np.intp)
# By how much at most at a time, and when it is not worth raising any more.
_MOST_RAISED = 0.25
_LEAST_RAISED = 1e-3


@dataclass(frozen=True, eq=False)
class Settled:
    """What is settled on a summary: proportions, the batch adapted to them, and the choice."""

    basis: Basis
    now: BatchSummary
    choice: Choice
    certificate: Certificate | None = None
    withheld: Mask | None = None
    values: FloatArray | None = None

    def placed(self, order: IntArray, weight: FloatArray | None) -> Settled:
        """Return the same with the rows where they stood before they were put in an order."""
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return replace(
            self,
            now=RowSummary(self.now.proba[back], weight),
            withheld=None if self.withheld is None else self.withheld[back],
            values=None if self.values is None else self.values[back],
        )

    def moved_by_bins(self, metric: Metric) -> float:
        return metric.coarseness(self.now, metric._point(self.now, self.choice).withheld)


def surely_reached(
    found: Settled,
    metric: Metric,
    selection: Selection,
    labelled: LabelledSummary,
    level: float,
    seed: int,
) -> tuple[Settled, float]:
    """Withhold more until the interval reaches the target; else the surest, and say how sure.

    The search for a target knows what is expected; how sure that is only the interval tells. So
    the search is asked for as much more as the interval falls short, or for half of that where
    there is not as much to be had.
    """
    how: dict[str, Any] = {"replicates": found.basis.replicates, "seed": seed}
    target = selection.target or 0.0
    asked = goals_of(target, metric)
    weights = found.basis.estimator.weights_
    raised = step = dict.fromkeys(asked, 0.0)
    surest = found, -1.0
    tried: Memory = {}
    for _ in range(_RAISES):
        short, reached = {}, np.ones(1)
        for name, goal in asked.items():
            drawn = drawn_choice(goal.metric, found.now, found.choice, **how)
            short[name] = goal.shortfall(drawn.estimate(level).after.interval)
            reached = reached * goal.reached(drawn.after)
        sure = float(np.nanmean(reached)) if np.isfinite(reached).any() else 0.0
        if max(short.values()) <= 0:
            return found, sure
        surest = max(surest, (found, sure), key=lambda one: one[1])
        step = {name: float(np.clip(short[name], 0.0, _MOST_RAISED)) for name in asked}
        while max(step.values()) > _LEAST_RAISED:
            more = {name: raised[name] + step[name] for name in asked}
            try:
                choice = replace(selection, target=raised_target(target, metric, more)).choose(
                    metric,
                    found.now,
                    seed=seed,
                    labelled=labelled,
                    weights=weights,
                    tried=tried,
                )
                break
            except TargetUnreachable:
                step = {name: by / 2 for name, by in step.items()}
        else:
            break
        raised, found = more, replace(found, choice=choice)
    return surest


def cleared(
    choice: Choice, proba: FloatArray, *, outwards: bool
) -> tuple[Choice, IntArray | None, Mask]:
    """Return the choice with its edges away from all rows, and the rows it withholds.

    With the predictions, where those had to be made. So what is decided about a row hangs on no
    last digit, which another processor or another library may see otherwise.
    """
    rule, prediction = choice.rule.cleared(proba), None
    if choice.region.reads_prediction:
        prediction = choice.rule.predict(proba)
        # What is withheld was chosen for these predictions.
        if rule != choice.rule and not np.array_equal(rule.predict(proba), prediction):
            rule = choice.rule
    read = _NOT_READ if prediction is None else prediction
    region, abstain = choice.region.cleared(proba, read, outwards=outwards)
    return Choice(region, rule), prediction, abstain


def as_certified(
    choice: Choice, proba: FloatArray, *, outwards: bool
) -> tuple[Choice, IntArray | None, Mask]:
    """Return the choice as it is, which is what the labels prove something of."""
    if choice.region.reads_prediction:
        return choice, *choice.apply(proba)
    return choice, None, choice.withheld(proba)


def within(
    most: float, choice: Choice, abstain: Mask, proba: FloatArray, weight: FloatArray | None
) -> tuple[Choice, Mask]:
    """Return the choice and the rows it withholds, never more than the budget.

    Bins are chosen whole; a row within a rounding of an edge may still fall on its other side
    once adapted, and then the interval gives way. Other regions have the score of a row for
    their edge, which comes out the same here.
    """
    while abstain.any() and _weight_of(abstain, weight) > most:
        narrower = choice.region.narrowed()
        if narrower is None:
            break
        choice = choice._replace(region=narrower)
        abstain = choice.withheld(proba)
    return choice, abstain


def _weight_of(rows: Mask, weight: FloatArray | None) -> float:
    return float(np.count_nonzero(rows) if weight is None else weight[rows].sum())
