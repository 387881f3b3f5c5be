"""The smallest abstention whose estimated metric reaches a target.

The other way round from the paper's bounded abstention (its Section 3): the quality is given and
the number of examples for people is what is asked for. A metric need not improve with every
example withheld, so nothing here bisects where it could miss a smaller answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn

import numpy as np

from abstain import metrics
from abstain.exceptions import TargetUnreachable
from abstain.metrics import Decision, Metric, RankingMetric, SensitivityAtSpecificity
from abstain.regions import Choice
from abstain.selection._rates import RATES, expected_rate
from abstain.selection._window_search import smallest_window
from abstain.summaries import Summary

__all__ = ["Family", "Target", "check_target", "choose_for_target"]

Target = float | Mapping[str, float]
#: What would be withheld for a capacity; the metric's own choice, or that of a score.
Family = Callable[[float], Choice]
Goal = tuple[str | Metric, float]

# A value this little short of its target is there: sums in another order differ by as much.
TOLERANCE = 1e-12
# Up to this many rows every count is tried; beyond, this many capacities, then those between.
_MOST_COUNTS = 512
_COARSE = 128
_FINE = 16


def check_target(target: Target, metric: Metric) -> Target:
    """Return a target, or raise where it is outside what the metric can be.

    Parameters
    ----------
    target : float or dict
        The value to reach for ``metric``; or one for each of several names, which are
        ``"sensitivity"``, ``"specificity"`` or registered metrics.
    metric : Metric
        The metric that a single number is for.
    """
    if not isinstance(target, Mapping):
        return _checked_value(target, metric.value_range, f"`target` for {metric.name!r}")
    if not target:
        raise ValueError("`target` names nothing; pass e.g. {'sensitivity': 0.85}.")
    checked = {}
    for name, value in target.items():
        bounds = (0.0, 1.0) if name in RATES else metrics.get(name).value_range
        checked[name] = _checked_value(value, bounds, f"`target` for {name!r}")
    return checked


def choose_for_target(
    metric: Metric,
    target: Target,
    summary: Summary,
    *,
    decision: Decision = "argmax",
    family: Family | None = None,
) -> Choice:
    """Choose as little as possible to withhold so that the rest reaches a target.

    Parameters
    ----------
    metric : Metric
        What the target is for; with several targets, what orders the rows.
    target : float or dict
        The value to reach: at least this, or at most this where lower is better. With
        ``"sensitivity"`` and ``"specificity"`` together the threshold of the decision is free
        and becomes part of the rule.
    summary : Summary
        The batch, adapted.
    decision : {"argmax", "optimal"}
        How the rest is predicted.
    family : callable, optional
        What would be withheld for a capacity, in place of the metric's own choice.

    Returns
    -------
    Choice

    Raises
    ------
    TargetUnreachable
        If no abstention reaches it; the message says the best there is, and where.

    Notes
    -----
    For a ranking metric every window is looked at (see ``smallest_window``). Otherwise
    the metric's choice for every count is, up to 512 rows; beyond, 128 evenly spaced counts and
    then those before the first that reaches the target.
    """
    target = check_target(target, metric)
    if isinstance(target, Mapping) and set(target) == {metric.name}:
        target = target[metric.name]
    if family is None and isinstance(target, Mapping) and target.keys() >= RATES.keys():
        metric, decision = SensitivityAtSpecificity(target["specificity"]), "optimal"
        if len(target) == len(RATES):
            target = target["sensitivity"]
    if family is None:
        if (
            isinstance(metric, RankingMetric)
            and metric.method == "deterministic"
            and not isinstance(target, Mapping)
        ):
            return _by_windows(metric, target, summary, decision)
        own, way = metric, decision

        def family(capacity: float) -> Choice:
            return own._choose(summary, capacity, way)

    goals: list[Goal] = (
        [(metric, target)] if not isinstance(target, Mapping) else [*target.items()]
    )
    return _Scan(goals, summary, family).smallest()


def _checked_value(value: float, bounds: tuple[float, float], what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{what} must be a number; got {value!r}.")
    low, high = bounds
    if not low <= value <= high:
        raise ValueError(f"{what} must be in [{low:g}, {high:g}], its range; got {value!r}.")
    return float(value)


def _by_windows(
    metric: RankingMetric, target: float, summary: Summary, decision: Decision
) -> Choice:
    found, best = smallest_window(metric, summary, target - TOLERANCE, decision=decision)
    if found is not None:
        return found.choice
    if best is None:
        raise TargetUnreachable(f"{metric.name} is not defined on these rows: a class is absent.")
    raise TargetUnreachable(
        f"No abstention brings {metric.name} to {target:g}: the best is {best.value:.4g}, "
        f"with {best.abstention:.1%} withheld. Ask for less, or for a better classifier."
    )


@dataclass(frozen=True)
class _Tried:
    """What a capacity gives: the choice, its weight, and each goal's value."""

    choice: Choice
    weight: float
    values: dict[str, float]
    shortfall: float

    @property
    def reached(self) -> bool:
        return self.shortfall <= TOLERANCE


@dataclass(frozen=True)
class _Scan:
    """A search along a family of choices, from the smallest capacity up."""

    goals: list[Goal]
    summary: Summary
    family: Family

    def smallest(self) -> Choice:
        n, total = self.summary.n_rows, self.summary.total
        counted = self.summary.counted and n <= _MOST_COUNTS
        steps = n if counted else _COARSE
        best: _Tried | None = None
        for k in range(steps):
            tried = self._try(total * k / steps)
            if tried is not None and tried.reached:
                if not counted and k > 0:
                    tried = self._refined(total * (k - 1) / steps, total * k / steps, tried)
                return tried.choice
            if tried is not None and (best is None or tried.shortfall < best.shortfall):
                best = tried
        self._give_up(best)

    def _refined(self, low: float, high: float, found: _Tried) -> _Tried:
        """Look between two capacities, finer and finer, for an earlier one that does."""
        unit = 1.0 if self.summary.counted else 1e-6 * self.summary.total
        while high - low > unit:
            steps = int(min(_FINE, np.ceil((high - low) / unit)))
            marks = np.linspace(low, high, steps + 1)
            for before, mark in pairwise(marks[:-1]):
                tried = self._try(float(mark))
                if tried is not None and tried.reached:
                    found, low, high = tried, float(before), float(mark)
                    break
            else:
                low = float(marks[-2])
        return found

    def _try(self, capacity: float) -> _Tried | None:
        choice = self.family(capacity)
        summary = self.summary
        prediction, withheld = choice.apply(summary.proba)
        if withheld.all():
            return None
        kept = ~withheld
        rest, columns = summary.only(kept), prediction[kept]
        values, shortfall = {}, 0.0
        for name, goal in self.goals:
            sign = 1.0
            if isinstance(name, str) and name in RATES:
                value = expected_rate(name, summary, prediction, kept)
            else:
                metric = metrics.get(name)
                sign = 1.0 if metric.greater_is_better else -1.0
                value = metric._expected(rest, columns)
                name = metric.name
            values[name] = value
            shortfall = max(shortfall, np.inf if np.isnan(value) else sign * (goal - value))
        return _Tried(choice, summary.total - rest.total, values, shortfall)

    def _give_up(self, best: _Tried | None) -> NoReturn:
        wanted = ", ".join(
            f"{name if isinstance(name, str) else name.name} {goal:g}" for name, goal in self.goals
        )
        if best is None or not np.isfinite(best.shortfall):
            raise TargetUnreachable(f"No abstention leaves {wanted} defined: a class is absent.")
        got = ", ".join(f"{name} {value:.4g}" for name, value in best.values.items())
        raise TargetUnreachable(
            f"No abstention reaches {wanted}: the best is {got}, "
            f"with {best.weight / self.summary.total:.1%} withheld. Ask for less, or for a better "
            f"classifier."
        )
