"""Selection: how much to withhold and by what order, as one object that a policy can carry.

A budget (the paper's Section 3), a target or a cost; by the metric's own choice or by a
metric-agnostic score (its Section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, get_args

import numpy as np

from abstain import metrics, scores
from abstain._inputs import FloatArray, IntArray, Mask, check_budget, from_percent, whole_rows
from abstain._schema import LONG_NAME, NAME, Either, Keys, MapOf, Number, OneOf
from abstain.exceptions import ArgumentError, Way
from abstain.metrics import BudgetCurve, Decision, Metric, check_decision
from abstain.regions import Choice, Region, ScoreThreshold, score_threshold
from abstain.rules import Argmax, DecisionRule
from abstain.selection._class_thresholds import choose_class_thresholds
from abstain.selection._cost import COST_KEYS, Cost
from abstain.selection._decision import as_now, own_choice, rule_for
from abstain.selection._goals import Target
from abstain.selection._target import (
    Family,
    Memory,
    check_stored_target,
    check_target,
    choose_for_target,
)
from abstain.summaries import BatchSummary, LabelledSummary

Score = str | Callable[..., FloatArray]

#: The region that a score gives for a capacity, and which rows that withholds.
Regions = Callable[[float], tuple[Region, Mask]]
# A score knows no predictions.
_NOT_READ: IntArray = np.empty(0, dtype=np.intp)

#: What a policy file holds of a selection.
KEYS: Keys = {
    "budget": Either(null=None, number=Number(0, 2**53)),
    "target": Either(null=None, number=Number(), object=MapOf(Number(), name=LONG_NAME)),
    "cost": Either(null=None, object=COST_KEYS),
    "score": Either(null=None, text=NAME, object={"own": NAME}),
    "decision": OneOf(*get_args(Decision)),
    "arms?": MapOf(Number(0, 1, open=True), name=NAME),
}


@dataclass(frozen=True)
class Selection:
    """How much to withhold, and in which order.

    Parameters
    ----------
    budget : float or int, optional
        The largest fraction, or count, that may be withheld.
    target : float or dict, optional
        The value of the metric to reach with as few withheld as possible; with a budget, with no
        more than that, and then what is best within it where the target takes more.
    cost : Cost, optional
        What abstaining and errors cost.
    score : str or callable, optional
        Withhold by this score of uncertainty instead of by the metric.
    decision : {"auto", "argmax", "optimal"}
        How the kept rows are predicted: as the most probable class; as the class that suits the
        metric best; or, by ``"auto"``, the latter where it is expected to help. With a score the
        rule is fitted to what the score leaves.
    arms : dict, optional
        Release and act on as many as these promises allow, and give the rest to a person.
    """

    budget: float | None = None
    target: Target | None = None
    cost: Cost | None = None
    score: Score | None = None
    decision: Decision = "auto"
    arms: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        """Take what is written as a percentage for the number it is."""
        target = self.target
        if isinstance(target, Mapping):
            target = {name: from_percent(value) for name, value in target.items()}
        if isinstance(self.arms, Mapping):
            arms = {name: from_percent(value) for name, value in self.arms.items()}
            object.__setattr__(self, "arms", arms)
        object.__setattr__(self, "budget", from_percent(self.budget))
        object.__setattr__(self, "target", from_percent(target))

    def check(self, metric: Metric) -> None:
        """Raise if the parameters do not go together or are not what they should be."""
        self._check_goal()
        check_decision(self.decision)
        if self.target is not None:
            check_target(self.target, metric)
        if self.cost is not None and not isinstance(self.cost, Cost):
            raise TypeError(
                f"`cost` must be a Cost, such as Cost(abstain=40, errors=[[0, 300], [9000, 0]]); "
                f"got {self.cost!r}."
            )
        if self.score is not None:
            scores.get(self.score)

    def _check_goal(self) -> None:
        """Raise if there is not one goal, or a budget that caps a target."""
        given = self._given()
        if len(given) != 1 and given != ["budget", "target"]:
            raise ArgumentError(
                f"Pass exactly one of `budget`, `target`, `cost`, `arms`; "
                f"got {' and '.join(given) if given else 'none of them'}. A budget may cap a "
                f"target.",
                given[0] if given else "budget",
                ways=[Way("", python="pass exactly")],
            )
        if self.budget is not None:
            check_budget(self.budget)
        if self.score is not None and (self.cost is not None or self.arms is not None):
            raise ArgumentError(
                f"`score` has no part in a decision by `{given[0]}`; leave it out.", "score"
            )

    def _given(self) -> list[str]:
        names = ("budget", "target", "cost", "arms")
        return [name for name in names if getattr(self, name) is not None]

    def check_stored(self, metric: Metric, n_classes: int) -> None:
        """Raise if what a policy file says does not go together; no file is opened for it.

        A score or a metric of its maker's need not be known yet.
        """
        if len(self._given()) != 1 and self._given() != ["budget", "target"]:
            raise ValueError(
                f"`selection` must have one of budget, target, cost and arms, or a target within "
                f"a budget; it has {len(self._given())}"
            )
        self._check_goal()
        if self.cost is not None:
            self.cost.check_n_classes(n_classes)
        if self.target is not None:
            check_stored_target(self.target, metric, n_classes)

    def capacity(self, summary: BatchSummary) -> float:
        """Return the largest weight of a batch that the budget allows to withhold."""
        return summary.capacity(check_budget(self.budget or 0.0))

    def allowed(self, total: float, *, counted: bool) -> float | None:
        """Return how much of a batch of some weight may be withheld; None without a budget."""
        if self.budget is None:
            return None
        budget = check_budget(self.budget)
        if isinstance(budget, int):
            return float(budget)
        return float(whole_rows(budget * total)) if counted else budget * total

    def after(self, used: float, total: float, *, counted: bool) -> Self:
        """Return the selection for the rest of a batch, part of whose budget is used up.

        Parameters
        ----------
        used : float
            The weight that is withheld already, whatever else is.
        total : float
            The weight of the batch, this part included.
        counted : bool
            Whether each row counts once.
        """
        allowed, rest = self.allowed(total, counted=counted), total - used
        # A count of the whole batch or more is refused where any is compared with its batch.
        if allowed is None or not used or allowed >= total:
            return self
        left = max(allowed - used, 0.0)
        # One row is a fraction, as a count of 1 could be meant either way.
        whole = counted and left >= 2
        return replace(self, budget=int(left) if whole else left / rest)

    def nothing(self) -> Self:
        """Return the selection that withholds nothing."""
        return replace(self, budget=0.0)

    def choose(
        self,
        metric: Metric,
        summary: BatchSummary,
        *,
        seed: int = 0,
        labelled: LabelledSummary | None = None,
        weights: FloatArray | None = None,
        tried: Memory | None = None,
    ) -> Choice:
        """Choose whom to withhold.

        Parameters
        ----------
        metric : Metric
            What to make as good as possible.
        summary : BatchSummary
            The batch, adapted.
        seed : int
            Seeds a random score.
        labelled : LabelledSummary, optional
            The validation data, which ``score="class-thresholds"`` needs, and which check what
            ``decision="auto"`` fits to the metric.
        weights : ndarray of shape (n_classes,), optional
            Target over source proportions, for the same.
        tried : dict, optional
            What searches for a target looked at before on the same summary.

        Returns
        -------
        Choice
        """
        now = as_now(labelled, weights)
        if self.cost is not None:
            return self.cost.choose_for(summary, metric, decision=self.decision, labelled=now)
        by_score = None
        if self.score is not None:
            by_score = self.family(metric, summary, seed, labelled, weights)
        if self.target is not None:
            return choose_for_target(
                metric,
                self.target,
                summary,
                decision=self.decision,
                family=by_score,
                labelled=now,
                tried=tried,
            )
        capacity = self.capacity(summary)
        if by_score is None:
            return own_choice(metric, summary, capacity, self.decision, now)
        return by_score(capacity)

    def curve(
        self,
        metric: Metric,
        summary: BatchSummary,
        budgets: Sequence[float],
        *,
        seed: int = 0,
        labelled: LabelledSummary | None = None,
        weights: FloatArray | None = None,
    ) -> BudgetCurve:
        """Choose for each of many budgets, in the order that this selection has."""
        capacities = [summary.capacity(budget) for budget in budgets]
        if self.score is None and metric.ranks:
            points = metric.curve_on(summary, capacities, self.decision)
        else:
            family = self.family(metric, summary, seed, labelled, weights)
            points = [metric.point_on(summary, family(capacity)) for capacity in capacities]
        return BudgetCurve(np.asarray(budgets, dtype=np.float64), points)

    def family(
        self,
        metric: Metric,
        summary: BatchSummary,
        seed: int,
        labelled: LabelledSummary | None = None,
        weights: FloatArray | None = None,
    ) -> Family:
        """Return what would be withheld for each capacity."""
        now = as_now(labelled, weights)
        if self.score is None:
            return lambda capacity: own_choice(metric, summary, capacity, self.decision, now)
        if self.score == scores.CLASS_THRESHOLDS:
            regions = _class_thresholds(metric, summary, now)
        else:
            regions = _by_score(self.score, summary, {"seed": seed, **metric.for_scores})

        def family(capacity: float) -> Choice:
            region, withheld = regions(capacity)
            return Choice(region, rule_for(metric, summary, withheld, self.decision, now))

        return family

    def rule(
        self,
        metric: Metric,
        summary: BatchSummary,
        withheld: Mask,
        labelled: LabelledSummary | None = None,
        weights: FloatArray | None = None,
    ) -> DecisionRule:
        """Return how to predict what is kept, where something else says what is withheld."""
        return rule_for(metric, summary, withheld, self.decision, as_now(labelled, weights))

    def to_dict(self) -> dict[str, Any]:
        """Return the selection as plain data."""
        target = dict(self.target) if isinstance(self.target, Mapping) else self.target
        return {
            "budget": self.budget,
            "target": target,
            "cost": None if self.cost is None else self.cost.to_dict(),
            "score": None if self.score is None else scores.to_plain(self.score),
            "decision": self.decision,
            **({} if self.arms is None else {"arms": dict(self.arms)}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the selection that ``to_dict`` described."""
        cost, score = data["cost"], data["score"]
        return cls(
            **{
                **data,
                "cost": None if cost is None else Cost.from_dict(cost),
                "score": None if score is None else scores.from_plain(score),
            }
        )

    def describe(self) -> str:
        """Say in a few words how much was to be withheld."""
        text = ""
        if self.budget is not None:
            share = 0 < self.budget < 1 and not isinstance(self.budget, int)
            text = f"a budget of {f'{self.budget:.4g} of the rows' if share else self.budget}"
        if self.target is not None:
            goals = self.target if isinstance(self.target, Mapping) else {"": self.target}
            asked = "a target of " + ", ".join(f"{key} {goals[key]:g}".strip() for key in goals)
            text = asked if self.budget is None else f"{asked}, within {text}"
        if self.cost is not None:
            text = "least cost"
        if self.arms is not None:
            asked = ", ".join(f"{name} {value:g}" for name, value in self.arms.items())
            text = f"arms that promise {asked}"
        if self.score is None:
            return text
        return f"{text}, by {self.score if isinstance(self.score, str) else 'your own score'}"

    def settled(self, choice: Choice) -> Self:
        """Return the selection for choosing again by a policy, without the labels that settled it.

        With Python's own numbers, which JSON can hold, and no files. Where argmax was chosen it
        stays: a policy no longer has the rows that may have denied another rule.
        """
        budget = self.budget.item() if isinstance(self.budget, np.generic) else self.budget
        target = self.target
        if isinstance(target, Mapping):
            target = {metrics.whole_name(name): value for name, value in target.items()}
        decision: Decision = "argmax" if choice.rule == Argmax() else self.decision
        return replace(self, budget=budget, target=target, decision=decision)


def _by_score(score: Score, summary: BatchSummary, known: Mapping[str, Any]) -> Regions:
    """Return the regions that withhold the highest scores within a capacity.

    The class proportions that a score compares with are those of the batch; they are kept in the
    region.
    """
    priors = (summary.class_sums / summary.class_sums.sum()).tolist()
    known = {"priors": priors, **known}
    wanted = sorted(scores.told(score))
    if not {*wanted} <= {*known}:
        raise ArgumentError(
            f"`score` {score!r} needs answers of readers on labelled rows: pass "
            f"fit(..., reviewer=...) and a `team`.",
            "score",
            ways=[Way("Abstainer(team)", python="pass fit(..., reviewer=...) and a `team`")],
        )
    parameters, least = {name: known[name] for name in wanted}, scores.least(score)
    everything = ScoreThreshold(score, threshold=-np.inf, parameters=parameters)
    values = everything.score(summary.proba, _NOT_READ)

    def regions(capacity: float) -> tuple[Region, Mask]:
        threshold = max(score_threshold(values, capacity, summary.weight), least)
        return replace(everything, threshold=threshold), values >= threshold

    return regions


def _class_thresholds(
    metric: Metric, summary: BatchSummary, labelled: LabelledSummary | None
) -> Regions:
    if labelled is None:
        raise ArgumentError(
            '`score` "class-thresholds" needs the labelled validation data.', "score"
        )

    def regions(capacity: float) -> tuple[Region, Mask]:
        region = choose_class_thresholds(metric, summary, capacity, labelled)
        return region, region.contains(summary.compact, _NOT_READ)

    return regions
