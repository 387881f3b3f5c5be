"""What a run found, and what was asked for: first as plain facts, then as lines for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

import numpy as np

from abstain._numerics import aligned
from abstain._words import class_in_words, estimate, number, places, share, span
from abstain.cli._output import UNDEFINED
from abstain.cli._terminal import in_a_line
from abstain.decisions import Decisions
from abstain.evaluation import as_most_probable, operating_lines, operating_point
from abstain.metrics import ExpectedCost
from abstain.policy import arms_in_words
from abstain.selection import Cost, Selection, goals_of, shown_short

# Of more classes than this those are shown whose proportion moved most.
_MANY_CLASSES = 10
_SHOWN_CLASSES = 8
# Proportions below this have more than three decimals.
_RARE = 0.01
# How probable a world is whose figures are given by themselves.
_WORTH_A_LINE = 0.05
_IF = {
    "nothing": "nothing moved",
    "label": "it is label shift",
    "scores": "the scores alone moved",
    "both": "class proportions and scores moved",
}


def facts(decisions: Decisions, *, stored: bool = False) -> dict[str, Any]:
    """Return what a run found as data; ``stored`` where the rule is one made before."""
    certificate, over = decisions.certificate, decisions.over_capacity
    assumed = decisions.assumption
    each = decisions.alternative if decisions.metric.known else None
    other, point = as_most_probable(decisions.scored), operating_point(decisions)
    rule, last = decisions.choice.rule, class_in_words(decisions.classes[-1])
    predicts, refers = (in_a_line(part.in_words(last)) for part in (rule, decisions.choice.region))
    return {
        "metric": decisions.metric.name,
        "positive": decisions.positive,
        "rows": len(decisions),
        "withheld": int(decisions.abstain.sum()),
        "abstention_rate": decisions.abstention_rate,
        "over_capacity": None if over is None else int(over.sum()),
        "audit": _audit(decisions),
        "classes": decisions.classes.tolist(),
        "priors": _priors(decisions, stored),
        "asked": target_facts(decisions.scored),
        "estimate": asdict(decisions.estimate) if decisions.metric.known else None,
        "before_as_most_probable": other and asdict(other),
        "operating_point": point and point.to_dict(),
        "withhold": decisions.choice.region.to_dict(),
        "refers": refers[:1].upper() + refers[1:],
        "decision": rule.to_dict(),
        "predicts": predicts[:1].upper() + predicts[1:],
        "team": decisions.policy.team and decisions.policy.team.in_words,
        "reached": decisions.reached,
        "arms": decisions.arms and [asdict(arm) for arm in decisions.arms],
        "promised": arms_in_words(decisions),
        "certificate": certificate and certificate.to_dict(),
        "assumption": assumed and {**assumed.to_dict(), "summary": assumed.summary()},
        "alternative": each and {world: asdict(one) for world, one in each.items()},
    }


def _audit(decisions: Decisions) -> dict[str, Any] | None:
    audited, rows = decisions.audited, decisions.audit
    if audited is None or rows is None:
        return None
    return {"share": audited.share, "rows": int(rows.sum()), "secret": audited.keyed}


def _priors(decisions: Decisions, stored: bool) -> dict[str, Any]:
    """Return the class proportions: of validation, those decided with, and those of these rows."""
    current = decisions.current_priors
    found: dict[str, Any] = {
        "validation": decisions.source_priors,
        "target": decisions.priors,
        "stored": decisions.priors if stored else None,
        "estimated": None,
        "interval": None,
        "level": decisions.level,
        "moved": None,
        "why_not": None,
    }
    if current is not None:
        found |= {
            "estimated": current.values,
            "interval": current.interval,
            "moved": current.moved if stored else None,
        }
    else:
        found["why_not"] = _why_not(decisions)
    return found


def _why_not(decisions: Decisions) -> str:
    """Say why the proportions of these rows are not estimated."""
    assumption = decisions.assumption
    if assumption is None or not decisions.replicates:
        return f"{len(decisions):,} rows are too few to tell, or do not tell the classes apart"
    return {
        "known-proportions": "they were given",
        "no-shift": "the rule takes them to stay as they are",
    }.get(assumption.assumed, "they cannot be told")


def lines(found: dict[str, Any]) -> list[str]:
    """Return the facts as lines for people, the answer first."""
    result = [
        f"Withheld {found['withheld']:,} of {found['rows']:,} rows "
        f"({share(found['abstention_rate'])})"
    ]
    if found["over_capacity"]:
        would = found["withheld"] + found["over_capacity"]
        result.append(
            f"The rule would withhold {would:,}: the {found['withheld']:,} most pressing go to a "
            f"person, {found['over_capacity']:,} were let through for lack of capacity"
        )
    result += found["promised"]
    audit = found["audit"]
    if audit is not None:
        result.append(
            f"Audit: {audit['rows']:,} kept rows, {share(audit['share'])} of them drawn by id, "
            f"are to be labelled as well"
            + ("" if audit["secret"] else "; without --key-file anybody can tell which")
        )
    if found["positive"] is not None:
        result.append(f"Positive class: {in_a_line(found['positive'])}")
    if found["withhold"]["kind"] == "interval" and found["withheld"]:
        # Else it is what the metric says; of a window people expect the highest scores.
        result.append(f"{found['refers']}; those above it are kept")
    result += [found["predicts"], *_estimates(found)]
    result += [f"  {found['team']}"] if found["team"] else []
    result += target_lines(found["asked"], found["reached"])
    if found["operating_point"] is not None:
        result += ["", *operating_lines(found["operating_point"])]
    result += ["", *_proportions(found)]
    if found["certificate"] is not None:
        result += _certified(found["certificate"])
    if "back_test" in found:
        result += ["", f"Back-test of the report: {found['back_test']['summary']}"]
    if found["assumption"] is not None:
        result += ["", f"The estimates rest on this. {found['assumption']['summary']}"]
        worlds, each = found["assumption"].get("worlds"), found["alternative"]
        likely = [name for name in each or () if worlds[name] >= _WORTH_A_LINE]
        for name in likely if len(likely) > 1 else ():
            before, after = (estimated(each[name][moment]) for moment in ("before", "after"))
            result.append(f"  If {_IF[name]}: before {before}, after {after}")
    return result


def _estimates(found: dict[str, Any]) -> list[str]:
    """Return the metric before and after abstaining as lines."""
    if found["estimate"] is None:
        return [
            f"Not estimated: {found['metric']} is the policy maker's own metric, which the "
            f"command line does not know"
        ]
    result = [f"Estimated {found['metric']}"]
    for moment in ("before", "after"):
        result.append(f"  {moment:<6}  {estimated(found['estimate'][moment])}")
    other = found["before_as_most_probable"]
    if other is not None:
        result.append(
            f"  Before is with the predictions of this rule; predicted as the most probable class "
            f"it would be {number(other['value'])}"
        )
    return result


def _proportions(found: dict[str, Any]) -> list[str]:
    """Return the class proportions: of validation, those stored in the rule, those of the rows."""
    priors = found["priors"]
    digits = decimals_of(priors["validation"], priors["estimated"])
    columns = {"validation": [f"{value:.{digits}f}" for value in priors["validation"]]}
    now = priors["target"]
    if priors["stored"] is not None:
        columns["made for"] = [f"{value:.{digits}f}" for value in priors["stored"]]
    if priors["estimated"] is not None:
        now = priors["estimated"]
        columns[f"these rows (estimated, {100 * priors['level']:g}% interval)"] = [
            f"{value:.{digits}f} ({span(ends, digits)})"
            for value, ends in zip(now, priors["interval"], strict=True)
        ]
    elif priors["stored"] is None:
        columns["used for these rows"] = [f"{value:.{digits}f}" for value in now]
    then = priors["validation"] if priors["stored"] is None else priors["stored"]
    result = proportion_lines("Class proportions", found["classes"], columns, then=then, now=now)
    if priors["why_not"] is not None:
        result.append(f"  Those of these rows were not estimated: {priors['why_not']}.")
    return result


def estimated(part: dict[str, Any]) -> str:
    """Return an estimated value and its interval."""
    if not isfinite(part["value"]):
        return UNDEFINED
    return estimate(part["value"], part["interval"], part["level"])


def _certified(certificate: dict[str, Any]) -> list[str]:
    result = ["", f"Certified with {certificate['confidence']:.0%} confidence, at any prevalence"]
    if certificate["prior_range"] is not None:
        low, high = (side[-1] for side in certificate["prior_range"])
        result[-1] = result[-1].replace("any prevalence", f"prevalences {low:g} to {high:g}")
    for name, bound in certificate["bounds"].items():
        observed = "-" if bound["observed"] is None else f"{bound['observed']:.4f}"
        result.append(
            f"  {name:<18}  {bound['value']:.4f}  (observed {observed} on {bound['n']:,} labels)"
        )
    return result


def decimals_of(*proportions: Sequence[float] | None) -> int:
    """Return how many decimals class proportions need, of which one may be rare."""
    rarest = min(value for each in proportions if each is not None for value in each if value > 0)
    return places([rarest], 3) if rarest < _RARE else 3


def proportion_lines(
    title: str,
    classes: Sequence[Any],
    columns: Mapping[str, Sequence[str]],
    *,
    then: Sequence[float],
    now: Sequence[float],
) -> list[str]:
    """Return a title and a row for each class, or for the classes that moved most from then.

    Parameters
    ----------
    title : str
    classes : sequence
        The label of each class.
    columns : mapping of str to sequence of str
        What to show of each class, by the heading.
    then, now : sequence of float
        The proportions that tell which classes moved.
    """
    head = ["class", *columns]
    rows = [
        [in_a_line(name), *cells] for name, *cells in zip(classes, *columns.values(), strict=True)
    ]
    shown = [*range(len(rows))]
    if len(rows) > _MANY_CLASSES:
        moved = np.abs(np.asarray(now, dtype=np.float64) - np.asarray(then, dtype=np.float64))
        shown = np.argsort(-moved, kind="stable")[:_SHOWN_CLASSES].tolist()
        title += ", those that moved most"
    # All but the last are plain numbers.
    table = aligned([head, *(rows[k] for k in shown)], right={*range(1, len(columns))})
    lines = [title, *(f"  {line}" for line in table)]
    more = len(rows) - len(shown)
    return lines if not more else [*lines, f"  ... and {more} more (--json has all)"]


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
    for moment, part_kept, abstain in (
        ("before", 1.0, np.zeros_like(decisions.abstain)),
        ("after", kept, decisions.abstain),
    ):
        referrals = Cost(cost.abstain, np.zeros((n_classes, n_classes))).expected(
            decisions.proba, decisions.columns, abstain, sample_weight=weight
        )
        part = getattr(estimate, moment)
        if cost.value_of_metric is None:
            # A cost of errors is per row that is kept.
            ends = [part_kept * value + referrals for value in (part.value, *part.interval)]
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
