"""The smallest abstention whose estimated metric reaches a target.

The other way round from the paper's bounded abstention (its Section 3): the quality is given and
the number of examples for people is what is asked for. A metric need not improve with every
example withheld, so nothing here bisects where it could miss a smaller answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn

import numpy as np

from abstain import metrics
from abstain.exceptions import ArgumentError, TargetUnreachable, Way
from abstain.metrics import Decision, Metric, RankingMetric, SensitivityAtSpecificity
from abstain.regions import Choice
from abstain.selection._decision import own_choice
from abstain.selection._goals import RATES, Goal, Target, goals_of, instead_of, shown_short
from abstain.selection._window_search import smallest_window
from abstain.summaries import BatchSummary, LabelledSummary

#: What would be withheld for a capacity; the metric's own choice, or that of a score.
Family = Callable[[float], Choice]

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
    several = isinstance(target, Mapping)
    if several and not target:
        raise ArgumentError(
            "`target` names nothing; pass e.g. {'sensitivity': 0.85}.",
            "target",
            ways=[Way("target", python="pass e.g. {'sensitivity': 0.85}")],
        )
    checked = {
        name: _checked_value(goal.value, goal.metric.value_range, f"`target` for {name!r}")
        for name, goal in goals_of(target, metric).items()
    }
    return checked if several else checked[metric.name]


def check_stored_target(target: Target, metric: Metric, n_classes: int) -> None:
    """Raise if a target in a policy file cannot be one; no file is opened for its names."""
    for name, value in target.items() if isinstance(target, Mapping) else [("", target)]:
        if name in RATES:
            if n_classes != 2:
                raise ArgumentError(
                    f"`target` {name!r} is of two classes; there are {n_classes}", "target"
                )
            _checked_value(value, (0.0, 1.0), f"`target` for {name!r}")
            continue
        of = metrics.from_name(name) if name else metric
        if of is not None:
            of.check_n_classes(n_classes)
            _checked_value(value, of.value_range, f"`target` for {name[:60] or of.name[:60]!r}")


def choose_for_target(
    metric: Metric,
    target: Target,
    summary: BatchSummary,
    *,
    decision: Decision = "auto",
    family: Family | None = None,
    labelled: LabelledSummary | None = None,
    tried: Memory | None = None,
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
    summary : BatchSummary
        The batch, adapted.
    decision : {"auto", "argmax", "optimal"}
        How the rest is predicted.
    family : callable, optional
        What would be withheld for a capacity, in place of the metric's own choice.
    labelled : LabelledSummary, optional
        The validation data as they would look now, which check what ``"auto"`` fits.
    tried : dict, optional
        What was looked at before on the same summary, and is now, so that raising a target does
        not begin anew.

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
    if family is None and isinstance(target, Mapping) and {*RATES} <= target.keys():
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
            return own_choice(own, summary, capacity, way, labelled)

    goals, seen = goals_of(target, metric), {} if tried is None else tried
    return _Scan(goals, summary, family, metric.name, seen).smallest()


def _checked_value(value: float, bounds: tuple[float, float], what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{what} must be a number; got {value!r}.")
    low, high = bounds
    if not low <= value <= high:
        raise ValueError(f"{what} must be in [{low:g}, {high:g}], its range; got {value!r}.")
    return float(value)


def _by_windows(
    metric: RankingMetric, target: float, summary: BatchSummary, decision: Decision
) -> Choice:
    atoms = metric.atoms_of(summary)
    found, best = smallest_window(metric, atoms, target - TOLERANCE)
    if found is not None:
        return metric.as_choice(atoms, found.start, found.end, decision)
    if best is None:
        raise TargetUnreachable(f"{metric.name} is not defined on these rows: a class is absent.")
    raise TargetUnreachable(
        f"No abstention brings {metric.name} to {target:.15g}: the best is "
        f"{shown_short(best.value, target)}, with {best.weight / atoms.total:.1%} withheld. "
        f"{_what_helps({metric.name: best.value}, {metric.name: target})}"
    )


def _what_helps(best: Mapping[str, float], goals: Mapping[str, float]) -> str:
    """Say what to ask for instead of goals that are out of reach, and what might reach them."""
    asked = ", ".join(
        f"{'' if len(best) == 1 else f'{name} '}{instead_of(best[name], goal)}"
        for name, goal in goals.items()
    )
    return (
        f"Ask for {asked}. To reach what was asked takes a better classifier, or a larger batch "
        f"with more rows that it is sure of."
    )


@dataclass(frozen=True)
class Tried:
    """What a capacity gives: the choice, its weight, and each goal's value."""

    choice: Choice
    weight: float
    values: dict[str, float]


#: By the metric that orders the rows, and the capacity.
Memory = dict[tuple[str, float], Tried | None]


@dataclass(frozen=True)
class _Scan:
    """A search along a family of choices, from the smallest capacity up."""

    goals: dict[str, Goal]
    summary: BatchSummary
    family: Family
    order: str
    tried: Memory

    def smallest(self) -> Choice:
        n, total = self.summary.n_rows, self.summary.total
        counted = self.summary.counted and n <= _MOST_COUNTS
        steps = n if counted else _COARSE
        best: Tried | None = None
        for k in range(steps):
            tried = self._try(total * k / steps)
            if tried is not None and self._reached(tried):
                if not counted and k > 0:
                    tried = self._refined(total * (k - 1) / steps, total * k / steps, tried)
                return tried.choice
            if tried is not None and (best is None or self._short(tried) < self._short(best)):
                best = tried
        self._give_up(best)

    def _refined(self, low: float, high: float, found: Tried) -> Tried:
        """Look between two capacities, finer and finer, for an earlier one that does."""
        unit = 1.0 if self.summary.counted else 1e-6 * self.summary.total
        while high - low > unit:
            steps = int(min(_FINE, np.ceil((high - low) / unit)))
            marks = np.linspace(low, high, steps + 1)
            for before, mark in pairwise(marks[:-1]):
                tried = self._try(float(mark))
                if tried is not None and self._reached(tried):
                    found, low, high = tried, float(before), float(mark)
                    break
            else:
                low = float(marks[-2])
        return found

    def _short(self, tried: Tried) -> float:
        """Return by how much the worst of the goals is missed."""
        return max(0.0, *(goal.missed_by(tried.values[name]) for name, goal in self.goals.items()))

    def _reached(self, tried: Tried) -> bool:
        return self._short(tried) <= TOLERANCE

    def _try(self, capacity: float) -> Tried | None:
        key = self.order, capacity
        if key not in self.tried:
            self.tried[key] = self._try_anew(capacity)
        return self.tried[key]

    def _try_anew(self, capacity: float) -> Tried | None:
        choice = self.family(capacity)
        summary = self.summary
        prediction, withheld = choice.apply(summary.proba)
        if withheld.all():
            return None
        kept = ~withheld
        values = {
            name: goal.metric.after_on(summary, choice, prediction, withheld)
            for name, goal in self.goals.items()
        }
        return Tried(choice, summary.total - summary.only(kept).total, values)

    def _give_up(self, best: Tried | None) -> NoReturn:
        goals = {name: goal.value for name, goal in self.goals.items()}
        wanted = ", ".join(f"{name} {goal:.15g}" for name, goal in goals.items())
        if best is None or not np.isfinite(self._short(best)):
            raise TargetUnreachable(f"No abstention leaves {wanted} defined: a class is absent.")
        got = ", ".join(
            f"{name} {shown_short(value, goals[name])}" for name, value in best.values.items()
        )
        missed = {
            name: goals[name]
            for name, goal in self.goals.items()
            if goal.missed_by(best.values[name]) > TOLERANCE
        }
        raise TargetUnreachable(
            f"No abstention reaches {wanted}: the best is {got}, "
            f"with {best.weight / self.summary.total:.1%} withheld. "
            f"{_what_helps(best.values, missed)}"
        )
