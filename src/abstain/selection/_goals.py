"""A target as goals: each a metric with the value it is to reach, and words for what falls short.

Class-conditional rates, sensitivity and specificity, are goals too: they are what screening
guidelines ask for, and what label shift leaves alone, as the class proportions are not in them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np

from abstain import metrics
from abstain._inputs import FloatArray
from abstain.metrics import CellShare, Metric

Target = float | Mapping[str, float]
#: What a target may name that is of predictions as they are: the column whose recall it is.
RATES = {"sensitivity": 1, "specificity": 0}
_MOST_DIGITS = 17


@dataclass(frozen=True)
class Goal:
    """A metric, and the value that it is to reach."""

    metric: Metric
    value: float

    def missed_by(self, value: float) -> float:
        """Return by how much a value misses this one, negative beyond it; infinite if NaN."""
        short = self.value - value if self.metric.greater_is_better else value - self.value
        return float("inf") if np.isnan(short) else short

    def shortfall(self, interval: tuple[float, float]) -> float:
        """Return by how much the worse end of an interval misses the value; infinite if NaN."""
        low, high = interval
        return self.missed_by(low if self.metric.greater_is_better else high)

    def reached(self, values: FloatArray) -> FloatArray:
        """Tell for each of some values whether it is good enough: 1 or 0, NaN where undefined."""
        better = values >= self.value if self.metric.greater_is_better else values <= self.value
        return np.where(np.isfinite(values), better, np.nan)


def goals_of(target: Target, metric: Metric) -> dict[str, Goal]:
    """Return what a target asks for, by name."""
    if not isinstance(target, Mapping):
        return {metric.name: Goal(metric, target)}
    return {
        name: Goal(CellShare(name) if name in RATES else metrics.get(name), value)
        for name, value in target.items()
    }


def raised_target(target: Target, metric: Metric, by: Mapping[str, float]) -> Target:
    """Return a target that asks for more of each goal, as far as there is more."""
    raised = {}
    for name, goal in goals_of(target, metric).items():
        sign = 1.0 if goal.metric.greater_is_better else -1.0
        raised[name] = float(np.clip(goal.value + sign * by[name], *goal.metric.value_range))
    return raised if isinstance(target, Mapping) else raised[metric.name]


def shown_short(value: float, goal: float, *, digits: int = 4) -> str:
    """Return a value in the fewest digits that still show it on its own side of a goal.

    Examples
    --------
    >>> shown_short(0.99987, 0.9999), shown_short(0.91234, 0.9999)
    ('0.99987', '0.9123')
    """
    for count in range(digits, _MOST_DIGITS):
        shown = f"{value:.{count}g}"
        if not math.isfinite(value) or (float(shown) - goal) * (value - goal) > 0:
            return shown
    return repr(value)


def instead_of(value: float, goal: float) -> str:
    """Say what to ask for instead: what a value reaches, and how far that is from the goal.

    Examples
    --------
    >>> instead_of(0.99987, 0.9999)
    '0.99987 (0.00003 less)'
    >>> instead_of(0.1234567, 0.1)
    '0.1235 (0.0235 more)'
    """
    if not math.isfinite(value):
        return "something else"
    unit = Decimal(1).scaleb(int(Decimal(shown_short(value, goal)).as_tuple().exponent))
    rounding = ROUND_FLOOR if value < goal else ROUND_CEILING
    asked = Decimal(repr(value)).quantize(unit, rounding=rounding)
    apart = abs(Decimal(repr(goal)) - asked)
    return f"{asked:f} ({apart:f} {'less' if value < goal else 'more'})"
