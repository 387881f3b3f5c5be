"""A target as goals: each a metric with the value it is to reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from abstain import metrics
from abstain._inputs import FloatArray
from abstain.metrics import Metric
from abstain.selection._rates import RATES, Rate
from abstain.selection._target import Target

__all__ = ["Goal", "goals_of", "raised_target"]


@dataclass(frozen=True)
class Goal:
    """A metric, and the value that it is to reach."""

    metric: Metric
    value: float

    def shortfall(self, interval: tuple[float, float]) -> float:
        """Return by how much the worse end of an interval misses the value; infinite if NaN."""
        low, high = interval
        short = self.value - low if self.metric.greater_is_better else high - self.value
        return float("inf") if np.isnan(short) else short

    def reached(self, values: FloatArray) -> FloatArray:
        """Tell for each of some values whether it is good enough: 1 or 0, NaN where undefined."""
        better = values >= self.value if self.metric.greater_is_better else values <= self.value
        return np.where(np.isfinite(values), better, np.nan)


def goals_of(target: Target, metric: Metric) -> dict[str, Goal]:
    """Return what a target asks for, by name."""
    if not isinstance(target, Mapping):
        return {metric.name: Goal(metric, target)}
    return {
        name: Goal(Rate(name) if name in RATES else metrics.get(name), value)
        for name, value in target.items()
    }


def raised_target(target: Target, metric: Metric, by: Mapping[str, float]) -> Target:
    """Return a target that asks for more of each goal, as far as there is more."""
    raised = {}
    for name, goal in goals_of(target, metric).items():
        sign = 1.0 if goal.metric.greater_is_better else -1.0
        raised[name] = float(np.clip(goal.value + sign * by[name], *goal.metric.value_range))
    return raised if isinstance(target, Mapping) else raised[metric.name]
