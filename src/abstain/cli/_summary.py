"""What a run found, first as plain facts, then as lines for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

import numpy as np

from abstain._numerics import aligned
from abstain._words import class_in_words, estimate, number, share
from abstain.cli._output import UNDEFINED
from abstain.cli._targets import target_facts, target_lines
from abstain.cli._terminal import in_a_line
from abstain.decisions import Decisions
from abstain.evaluation import as_most_probable, operating_lines, operating_point

# Of more classes than this those are shown whose proportion moved most.
_MANY_CLASSES = 10
_SHOWN_CLASSES = 8
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
    predicts = in_a_line(rule.in_words(last))
    return {
        "metric": decisions.metric.name,
        "positive": decisions.positive,
        "rows": len(decisions),
        "withheld": int(decisions.abstain.sum()),
        "abstention_rate": decisions.abstention_rate,
        "over_capacity": None if over is None else int(over.sum()),
        "classes": decisions.classes.tolist(),
        "priors": _priors(decisions, stored),
        "asked": target_facts(decisions.scored),
        "estimate": asdict(decisions.estimate) if decisions.metric.known else None,
        "before_as_most_probable": other and asdict(other),
        "operating_point": point and point.to_dict(),
        "withhold": decisions.choice.region.to_dict(),
        "decision": rule.to_dict(),
        "predicts": predicts[:1].upper() + predicts[1:],
        "reached": decisions.reached,
        "certificate": certificate and certificate.to_dict(),
        "assumption": assumed and {**assumed.to_dict(), "summary": assumed.summary()},
        "alternative": each and {world: asdict(one) for world, one in each.items()},
    }


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
    if found["positive"] is not None:
        result.append(f"Positive class: {in_a_line(found['positive'])}")
    result.append(found["predicts"])
    if found["estimate"] is None:
        result.append(
            f"Not estimated: {found['metric']} is the policy maker's own metric, which the "
            f"command line does not know"
        )
    else:
        result.append(f"Estimated {found['metric']}")
        for moment in ("before", "after"):
            result.append(f"  {moment:<6}  {estimated(found['estimate'][moment])}")
    other = found["before_as_most_probable"]
    if other is not None:
        result.append(
            f"  Before is with the predictions of this rule; predicted as the most probable class "
            f"it would be {number(other['value'])}"
        )
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


def _proportions(found: dict[str, Any]) -> list[str]:
    """Return the class proportions: of validation, those stored in the rule, those of the rows."""
    priors = found["priors"]
    columns = {"validation": [f"{value:.3f}" for value in priors["validation"]]}
    now = priors["target"]
    if priors["stored"] is not None:
        columns["made for"] = [f"{value:.3f}" for value in priors["stored"]]
    if priors["estimated"] is not None:
        now = priors["estimated"]
        columns[f"these rows (estimated, {100 * priors['level']:g}% interval)"] = [
            f"{value:.3f} ({low:.3f} to {high:.3f})"
            for value, (low, high) in zip(now, priors["interval"], strict=True)
        ]
    elif priors["stored"] is None:
        columns["used for these rows"] = [f"{value:.3f}" for value in now]
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
