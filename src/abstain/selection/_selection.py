"""Selection: how much to withhold and by what order, as one object that a policy can carry.

A budget (the paper's Section 3), a target or a cost; by the metric's own choice or by a
metric-agnostic score (its Section 4).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, get_args

import numpy as np

from abstain import baselines
from abstain._inputs import FloatArray
from abstain.metrics import Choice, Decision, Metric
from abstain.regions import Region
from abstain.rules import Argmax
from abstain.selection._budget import budget_capacity
from abstain.selection._cost import Cost
from abstain.selection._source import Source
from abstain.selection._target import Family, Target, check_target, choose_for_target
from abstain.shift import adapt_proba

__all__ = ["Selection"]

Score = str | Callable[..., FloatArray]


@dataclass(frozen=True)
class Selection:
    """How much to withhold, and in which order.

    Parameters
    ----------
    budget : float or int, optional
        The largest fraction, or count, that may be withheld.
    target : float or dict, optional
        The value of the metric to reach with as few withheld as possible.
    cost : Cost, optional
        What abstaining and errors cost.
    score : str or callable, optional
        Withhold by this score of uncertainty instead of by the metric.
    decision : {"argmax", "optimal"}
        How the kept rows are predicted.
    """

    budget: float | None = None
    target: Target | None = None
    cost: Cost | None = None
    score: Score | None = None
    decision: Decision = "argmax"

    def check(self, metric: Metric) -> None:
        """Raise if the parameters do not go together or are not what they should be."""
        given = [name for name in ("budget", "target", "cost") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"Pass exactly one of `budget`, `target`, `cost`; "
                f"got {' and '.join(given) if given else 'none of them'}."
            )
        if self.decision not in get_args(Decision):
            raise ValueError(f'`decision` must be "argmax" or "optimal"; got {self.decision!r}.')
        if self.budget is not None:
            budget_capacity(self.budget, 1)
        if self.target is not None:
            check_target(self.target, metric)
        if self.cost is not None and not isinstance(self.cost, Cost):
            raise TypeError(
                f"`cost` must be a Cost, such as Cost(abstain=40, errors=[[0, 300], [9000, 0]]); "
                f"got {self.cost!r}."
            )
        if self.score is not None:
            baselines.get(self.score)
            if self.cost is not None:
                raise ValueError("`score` has no part in a decision by `cost`; leave it out.")

    def choose(
        self,
        metric: Metric,
        proba: FloatArray,
        *,
        sample_weight: FloatArray | None = None,
        seed: int = 0,
        source: Source | None = None,
        weights: FloatArray | None = None,
    ) -> Choice:
        """Choose whom to withhold.

        Parameters
        ----------
        metric : Metric
            What to make as good as possible.
        proba : ndarray of shape (n, n_classes)
            Calibrated, adapted probabilities.
        sample_weight : ndarray of shape (n,), optional
            How much each row counts.
        seed : int
            Seeds a random score.
        source : Source, optional
            The labelled source, which ``score="class-thresholds"`` needs.
        weights : ndarray of shape (n_classes,), optional
            Target over source proportions, for the same.

        Returns
        -------
        Choice
        """
        if self.cost is not None:
            return self.cost.choose(
                proba, metric, sample_weight=sample_weight, decision=self.decision
            )
        family = self.family(metric, proba, sample_weight, seed, source, weights)
        if self.target is not None:
            return choose_for_target(
                metric,
                self.target,
                proba,
                sample_weight=sample_weight,
                decision=self.decision,
                family=None if self.score is None else family,
            )
        return family(budget_capacity(self.budget or 0.0, len(proba), sample_weight))

    def family(
        self,
        metric: Metric,
        proba: FloatArray,
        sample_weight: FloatArray | None,
        seed: int,
        source: Source | None = None,
        weights: FloatArray | None = None,
    ) -> Family:
        """Return what would be withheld for each capacity."""
        if self.score is None:
            return lambda capacity: metric.choose(
                proba, capacity, sample_weight=sample_weight, decision=self.decision
            )
        score = self.score
        if score == "class-thresholds":
            return self._class_thresholds(metric, proba, sample_weight, source, weights)

        def by_score(capacity: float) -> Choice:
            region: Region = baselines.choose_by_score(
                score, proba, capacity, sample_weight=sample_weight, seed=seed
            )
            return Choice(region=region, rule=Argmax())

        return by_score

    def _class_thresholds(
        self,
        metric: Metric,
        proba: FloatArray,
        sample_weight: FloatArray | None,
        source: Source | None,
        weights: FloatArray | None,
    ) -> Family:
        if source is None or weights is None:
            raise ValueError('`score` "class-thresholds" needs the labelled source.')
        # The validation data as they would look with the target's class proportions.
        moved = weights[source.codes]
        proba_val = adapt_proba(source.proba, weights)
        weight_val = moved if source.weight is None else moved * source.weight

        def by_class(capacity: float) -> Choice:
            region: Region = baselines.choose_class_thresholds(
                metric,
                proba,
                capacity,
                y_val=source.codes,
                proba_val=proba_val,
                sample_weight=sample_weight,
                sample_weight_val=weight_val,
            )
            return Choice(region=region, rule=Argmax())

        return by_class

    def to_dict(self) -> dict[str, Any]:
        """Return the selection as plain data."""
        target = dict(self.target) if isinstance(self.target, Mapping) else self.target
        return {
            "budget": self.budget,
            "target": target,
            "cost": None if self.cost is None else self.cost.to_dict(),
            # A function cannot be stored; the region says so when it is the one in use.
            "score": self.score if isinstance(self.score, str) else None,
            "decision": self.decision,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the selection that ``to_dict`` described."""
        cost = data["cost"]
        return cls(**{**data, "cost": None if cost is None else Cost.from_dict(cost)})

    def plain(self) -> Self:
        """Return the selection with Python's own numbers, which JSON can hold."""
        budget = self.budget.item() if isinstance(self.budget, np.generic) else self.budget
        return replace(self, budget=budget)
