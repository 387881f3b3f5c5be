"""What was asked for beside what was got: targets and costs, as facts and as lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from abstain._words import class_in_words
from abstain.decisions import Decisions
from abstain.metrics import ExpectedCost
from abstain.selection import Cost, Selection, goals_of, shown_short

_MOST_COSTS = 6


def target_facts(decisions: Decisions) -> dict[str, Any]:
    """Return what the rule was asked for and what it is expected to give on these rows."""
    selection: Selection | None = getattr(decisions.policy, "selection", None)
    if selection is None:
        return {"budget": None, "targets": None, "cost": None}
    targets = None
    if selection.target is not None:
        targets = []
        for name, goal in goals_of(selection.target, decisions.metric).items():
            after = decisions.estimate.after
            if name != decisions.metric.name:
                after = decisions.judged(metric=goal.metric).estimate.after
            sign = 1.0 if goal.metric.greater_is_better else -1.0
            targets.append(
                {
                    "metric": name,
                    "bound": "at least" if sign > 0 else "at most",
                    "asked": goal.value,
                    "value": after.value,
                    "interval": after.interval,
                    "level": after.level,
                    "reached": bool(sign * (after.value - goal.value) >= 0),
                    "surely": bool(goal.shortfall(after.interval) <= 0),
                }
            )
    return {
        "budget": selection.budget,
        "targets": targets,
        "cost": None if selection.cost is None else _costs(decisions, selection.cost),
    }


def target_lines(asked: dict[str, Any], reached: float | None) -> list[str]:
    """Return the same as lines for people."""
    result = []
    if asked["targets"]:
        result.append("Asked for, and estimated on the rows that are kept")
        width = max(len(one["metric"]) for one in asked["targets"])
        for one in asked["targets"]:
            result.append(
                f"  {one['metric']:<{width}}  {one['bound']} {one['asked']:.15g}: {_result(one)}"
            )
    if reached is not None:
        result.append(f"The target is reached with probability {reached:.2f} by the estimate")
    if asked["cost"] is not None:
        result += _cost_lines(asked["cost"])
    return result


def _cost_lines(cost: dict[str, Any]) -> list[str]:
    worth = cost["value_of_metric"] is not None
    lines = [
        f"Costs: {cost['words']}",
        "Worth of the metric less referrals" if worth else "Expected cost, errors and referrals",
    ]
    for moment in ("before", "after"):
        part = cost[moment]
        low, high = part["interval"]
        lines.append(
            f"  {moment:<6}  {money(part['per_row'])} per row ({100 * part['level']:g}% interval "
            f"{money(low)} to {money(high)}), {money(part['total'])} in all"
        )
    parts = cost["after"]
    own = f"the metric {money(parts['metric'])}" if worth else f"errors {money(parts['errors'])}"
    sign = "-" if worth else ""
    return [
        *lines,
        f"          of which {own}, referrals {sign}{money(parts['referrals'])} per row",
    ]


def money(value: float) -> str:
    """Return an amount in few digits, whole where it is large."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"


def _result(one: dict[str, Any]) -> str:
    if not np.isfinite(one["value"]):
        return "not defined on these rows"
    value, low, high = (
        shown_short(number, one["asked"])
        if abs(number - one["asked"]) < 5e-5 and number != one["asked"]
        else f"{number:.4f}"
        for number in (one["value"], *one["interval"])
    )
    level = f"{100 * one['level']:g}%"
    if one["surely"]:
        said = "reached, and so is all of the interval"
    elif one["reached"]:
        said = "reached by the estimate, not by all of the interval"
    else:
        said = "not reached"
    return f"{value} ({level} interval {low} to {high}), {said}"


def _costs(decisions: Decisions, cost: Cost) -> dict[str, Any]:
    """Return what the rows cost if all are predicted, and as it is decided, as estimated."""
    n_classes = len(decisions.classes)
    weight = decisions.sample_weight
    total = float(len(decisions) if weight is None else weight.sum())
    found: dict[str, Any] = {
        "words": _in_words(cost, decisions.classes.tolist(), decisions.positive),
        "abstain": cost.abstain,
        "errors": cost.errors,
        "value_of_metric": cost.value_of_metric,
    }
    estimate, sign, worth = decisions.estimate, 1.0, cost.value_of_metric
    if worth is None:
        errors = 1 - np.eye(n_classes) if cost.errors is None else cost.errors
        judged = decisions.judged(metric=ExpectedCost(errors))
        estimate, worth = judged.estimate, 1.0
    elif not decisions.metric.greater_is_better:
        sign = -1.0
    kept = 1 - decisions.abstention_rate
    for moment, share, abstain in (
        ("before", 1.0, np.zeros_like(decisions.abstain)),
        ("after", kept, decisions.abstain),
    ):
        referrals = Cost(cost.abstain, np.zeros((n_classes, n_classes))).expected(
            decisions.proba, decisions.columns, abstain, sample_weight=weight
        )
        part = getattr(estimate, moment)
        if cost.value_of_metric is None:
            # A cost of errors is per row that is kept.
            ends = [share * value + referrals for value in (part.value, *part.interval)]
            own = {"errors": ends[0] - referrals}
        else:
            ends = [sign * worth * value - referrals for value in (part.value, *part.interval)]
            own = {"metric": ends[0] + referrals}
        found[moment] = {
            "per_row": ends[0],
            "interval": sorted(ends[1:]),
            "level": part.level,
            "total": ends[0] * total,
            "referrals": referrals,
            **own,
        }
    return found


def _in_words(cost: Cost, classes: Sequence[Any], positive: Any) -> str:
    """Name what errors and referrals cost by the classes."""
    names = [class_in_words(label) for label in classes]
    costs = np.atleast_1d(np.asarray(cost.abstain, dtype=np.float64)).tolist()
    if len(costs) == 1:
        referral = f"a referral {money(costs[0])}"
    else:
        listed = [f"{name} {money(one)}" for name, one in zip(names, costs, strict=True)]
        referral = f"referring {_listed(listed)}"
    if cost.value_of_metric is not None:
        return f"a metric of 1 is worth {money(cost.value_of_metric)} per row, {referral}"
    if cost.errors is None:
        return f"every error costs 1, {referral}"
    errors = cost.errors.tolist()
    if len(names) == 2 and positive is not None and errors[0][0] == errors[1][1] == 0:
        return (
            f"missing {names[1]} costs {money(errors[1][0])}, a false alarm "
            f"{money(errors[0][1])}, {referral}"
        )
    listed = [
        f"{names[i]} predicted as {names[j]} {money(one)}"
        for i, row in enumerate(errors)
        for j, one in enumerate(row)
        if one != 0
    ]
    return f"{_listed(listed)}, {referral}"


def _listed(listed: list[str]) -> str:
    more = len(listed) - _MOST_COSTS
    said = ", ".join(listed[:_MOST_COSTS])
    return said if more <= 0 else f"{said}, and {more} more (--json has all)"
