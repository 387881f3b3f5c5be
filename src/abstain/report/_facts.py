"""Everything the page says, as one dict of plain data that JSON can hold."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

import abstain
from abstain._files import sha256_of
from abstain._numerics import plain
from abstain.decisions import Decisions
from abstain.metrics import ExpectedCost
from abstain.report._cases import PageRows, cases
from abstain.report._movement import movement
from abstain.report._steps import slider
from abstain.report._trust import read_validation, trust
from abstain.report._view import View
from abstain.report._words import (
    DOUBTFUL,
    metric_title,
    percent,
    verdict_on_intervals,
)
from abstain.shift import WORLDS_IN_WORDS

if TYPE_CHECKING:
    from abstain.report._report import Report

# 4: what may have happened, with what each world would say, in place of one alternative.
SCHEMA_VERSION = 4
_PACKAGES = ("numpy", "scipy", "scikit-learn")


def facts_of(report: Report) -> dict[str, Any]:
    """Return the facts of a report."""
    rows = PageRows.of(report)
    decisions, groups = rows.decisions, rows.groups
    validation = read_validation(report, decisions)
    known = decisions.policy.source if validation is None else validation.labelled
    trusted = trust(decisions, validation, seed=report.random_state)
    intervals = verdict_on_intervals(trusted)
    view, priced = View.of(decisions), costs(decisions)
    sliding = slider(
        view,
        None if groups is None else groups[1],
        errors=np.asarray(priced["errors"]),
        too_narrow=intervals["state"] == DOUBTFUL,
    )
    facts = {
        "schema_version": SCHEMA_VERSION,
        "title": report.title,
        **_about(view, report.decisions),
        "rows_validation": None if validation is None else len(validation.labelled.proba),
        "assumption": _assumption(decisions),
        "chosen": sliding.chosen,
        "steps": sliding.steps,
        "costs": priced,
        "moved": movement(view, known, report.scores_target, rows.positions),
        "trust": {**trusted, "verdict": intervals},
        "groups": None
        if groups is None
        else {"names": groups[0], "rows": np.bincount(groups[1]).tolist()},
        "reproduce": origin(report),
    }
    # Seven digits are more than a page can show, and keep it small.
    small: dict[str, Any] = plain(facts, digits=7)
    # These are plain already, and may be a million.
    small["cases"] = cases(rows, sliding, id_name=report.id_name, group_name=report.group_name)
    return small


def _about(view: View, came: Decisions) -> dict[str, Any]:
    """Return what the page is about: the metric, the rows, the classes, and what was asked for.

    Of ``came`` no figure is about rows that have no score or whose label is known.
    """
    decisions, set_aside, target = view.decisions, None, None
    if came.scored is not came:
        missing, known = (
            np.zeros(len(came), dtype=bool) if mask is None else mask
            for mask in (came.missing, came.known)
        )
        set_aside = {"no_score": int((missing & ~known).sum()), "label_known": int(known.sum())}
    selection, sure = decisions.policy.selection, decisions.reached
    if selection is not None and selection.target is not None and sure is not None:
        asked = selection.target
        goals = asked if isinstance(asked, Mapping) else {metric_title(decisions.metric): asked}
        named = " and ".join(f"{name} {value:g}" for name, value in goals.items())
        chance = "more than 99%" if sure > 0.99 else percent(round(sure, 2))
        target = f"Asked for: {named}. The rest reaches it with a probability of {chance}."
    n, metric, positive = len(decisions), decisions.metric, decisions.positive
    before = decisions.estimate.before
    return {
        "metric": {
            "name": metric.name,
            "title": metric_title(metric),
            "summary": metric.summary,
            "greater_is_better": metric.greater_is_better,
        },
        "rows": n,
        "rows_drawn": n if view.rows is None else len(view.rows),
        "weight": view.whole.total,
        "classes": [str(name) for name in decisions.classes.tolist()],
        "positive": None if positive is None else str(positive),
        "level": decisions.level,
        "before": {"value": before.value, "interval": before.interval},
        "target": target,
        "set_aside": set_aside,
    }


def _assumption(decisions: Decisions) -> dict[str, Any] | None:
    """Return what the figures rest on, what speaks against it, and what each world would say."""
    assumption, each = decisions.assumption, decisions.alternative
    if assumption is None:
        return None
    worlds = None
    if assumption.worlds is not None and each is not None:
        worlds = [
            {"name": one, "title": WORLDS_IN_WORDS[one], "weight": weight, **each[one].to_dict()}
            for one, weight in assumption.worlds.items()
        ]
    return {
        "assumed": assumption.assumed,
        "summary": assumption.summary(),
        "p_value": assumption.p_value,
        "doubts": list(assumption.doubts),
        "worlds": worlds,
    }


def costs(decisions: Decisions) -> dict[str, Any]:
    """Return the cost of each kind of error and of a referral: where the page's calculator starts.

    From the cost that the decisions were made with, or from a metric that is a cost; else every
    error costs 1 and a referral nothing, for the reader to change on the page.
    """
    k = len(decisions.classes)
    errors, abstain = 1.0 - np.eye(k), np.zeros(k)
    selection, metric = decisions.policy.selection, decisions.policy.metric
    cost = None if selection is None else selection.cost
    if cost is not None:
        abstain = np.broadcast_to(np.asarray(cost.abstain, dtype=np.float64), (k,))
        errors = errors if cost.errors is None else cost.errors
    elif isinstance(metric, ExpectedCost):
        errors = np.asarray(metric.costs)
    given = cost is not None or isinstance(metric, ExpectedCost)
    return {"errors": errors.tolist(), "abstain": float(abstain.mean()), "given": given}


def origin(report: Report) -> dict[str, Any]:
    """Return what it takes to make the page again: command, versions, what the inputs were."""
    inputs = report.inputs
    paths = [inputs] if isinstance(inputs, str | os.PathLike) else inputs
    versions = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {
        "command": report.command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "calibration": report.decisions.policy.calibrator.name,
        "versions": {
            "abstain": abstain.__version__,
            "python": platform.python_version(),
            **versions,
        },
        "inputs": {os.fspath(path): sha256_of(path) for path in paths},
    }
