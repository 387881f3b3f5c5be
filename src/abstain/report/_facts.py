"""Everything the page says, as one dict of plain data that JSON can hold."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import row_names
from abstain._numerics import plain
from abstain.decisions import Decisions
from abstain.metrics import Metric
from abstain.report._cases import cases, group_numbers
from abstain.report._costs import costs
from abstain.report._moved import moved
from abstain.report._origin import origin
from abstain.report._steps import slider
from abstain.report._trust import trust
from abstain.report._validation import read_validation
from abstain.report._verdicts import DOUBTFUL, verdict_on_intervals
from abstain.report._view import View
from abstain.report._words import metric_title, percent, value_in_words
from abstain.summaries import LabelledSummary

# 3: verdicts, the positive class, confusions of many classes as a list of the largest.
SCHEMA_VERSION = 3


def facts_of(
    decisions: Decisions,
    *,
    scores_val: ArrayLike | None = None,
    y_val: ArrayLike | None = None,
    labelled: LabelledSummary | None = None,
    scores_target: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    id_name: str = "row",
    groups: ArrayLike | None = None,
    group_name: str = "group",
    title: str = "Which cases go to a person",
    command: str | None = None,
    inputs: Sequence[str | os.PathLike[str]] = (),
    random_state: int = 0,
) -> dict[str, Any]:
    """Return the facts of a report; the parameters are those of :class:`abstain.report.Report`."""
    n = len(decisions)
    names = None if ids is None else row_names(ids, n_rows=n, name="ids")
    grouped = group_numbers(groups, n)
    positions, aside = None, _set_aside(decisions)
    if aside is not None:
        # Every figure is about the rows that have a score and no known label.
        at, came = decisions.scored_at, decisions.rows
        positions = at if came is None else came[at]
        names = positions.tolist() if names is None else [names[k] for k in at.tolist()]
        grouped = None if grouped is None else (grouped[0], grouped[1][at])
        decisions = decisions.scored
    validation = read_validation(decisions, scores_val, y_val, labelled)
    known = decisions.policy.source if validation is None else validation.labelled
    trusted = trust(decisions, validation, seed=random_state)
    intervals = verdict_on_intervals(trusted)
    view, priced = View(decisions), costs(decisions)
    sliding = slider(
        view,
        None if grouped is None else grouped[1],
        errors=np.asarray(priced["errors"]),
        too_narrow=intervals["state"] == DOUBTFUL,
    )
    facts = {
        "schema_version": SCHEMA_VERSION,
        "title": title,
        **_about(view),
        "set_aside": aside,
        "rows_validation": None if validation is None else len(validation.labelled.proba),
        "assumption": _assumption(decisions),
        "chosen": sliding.chosen,
        "steps": sliding.steps,
        "costs": priced,
        "moved": moved(view, known, scores_target, positions),
        "trust": {**trusted, "verdict": intervals},
        "groups": None
        if grouped is None
        else {"names": grouped[0], "rows": np.bincount(grouped[1]).tolist()},
        "reproduce": origin(command, inputs, decisions.policy.calibrator.name),
    }
    # Seven digits are more than a page can show, and keep it small.
    small: dict[str, Any] = plain(facts, digits=7)
    # These are plain already, and may be a million.
    small["cases"] = cases(
        decisions, sliding, ids=names, id_name=id_name, groups=grouped, group_name=group_name
    )
    return small


def _set_aside(decisions: Decisions) -> dict[str, int] | None:
    """Return how many rows no figure is about: without a score, or of known label."""
    if decisions.scored is decisions:
        return None
    missing, known = (
        np.zeros(len(decisions), dtype=bool) if mask is None else mask
        for mask in (decisions.missing, decisions.known)
    )
    return {"no_score": int((missing & ~known).sum()), "label_known": int(known.sum())}


def _about(view: View) -> dict[str, Any]:
    """Return what the page is about: the metric, the rows, the classes."""
    decisions = view.decisions
    n, before, positive = len(decisions), decisions.estimate.before, decisions.positive
    return {
        "metric": _metric(decisions.metric),
        "rows": n,
        "rows_drawn": n if view.rows is None else len(view.rows),
        "weight": view.whole.total,
        "classes": [str(name) for name in decisions.classes.tolist()],
        "positive": None if positive is None else str(positive),
        "level": decisions.level,
        "before": {"value": before.value, "interval": before.interval},
        "target": _target(decisions),
    }


def _target(decisions: Decisions) -> str | None:
    """Say what target was asked for, and how sure it is that the rest reaches it."""
    selection, sure = decisions.policy.selection, decisions.reached
    if selection is None or selection.target is None or sure is None:
        return None
    asked = selection.target
    goals = asked if isinstance(asked, Mapping) else {metric_title(decisions.metric): asked}
    named = " and ".join(f"{name} {value:g}" for name, value in goals.items())
    chance = "more than 99%" if sure > 0.99 else percent(round(sure, 2))
    return f"Asked for: {named}. The rest reaches it with a probability of {chance}."


def _assumption(decisions: Decisions) -> dict[str, Any] | None:
    """Return what the figures rest on, what speaks against it, and what they are otherwise."""
    assumption, other = decisions.assumption, decisions.alternative
    if assumption is None:
        return None
    if assumption.assumed == "label-shift":
        otherwise = "If each score meant what it did on the validation data instead"
    else:
        otherwise = "If class proportions had moved instead, and each class looked as it did"
    return {
        "assumed": assumption.assumed,
        "summary": assumption.summary(),
        "p_value": assumption.p_value,
        "doubts": list(assumption.doubts),
        "alternative": None
        if other is None
        else {
            **other.to_dict(),
            "summary": (
                f"{otherwise}, the estimated {metric_title(decisions.metric)} would be "
                f"{value_in_words(other.before)} with nobody referred, and "
                f"{value_in_words(other.after)} on the rest."
            ),
        },
    }


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "title": metric_title(metric),
        "summary": metric.summary,
        "greater_is_better": metric.greater_is_better,
    }
