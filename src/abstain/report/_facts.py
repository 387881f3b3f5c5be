"""Everything the page says, as one dict of plain data that JSON can hold."""

import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import abstain
from abstain._inputs import check_labels, check_same_length, read_scores
from abstain._numerics import plain
from abstain.decisions import Decisions
from abstain.metrics import Metric
from abstain.policy import Policy
from abstain.report._cases import cases, group_numbers
from abstain.report._costs import costs
from abstain.report._moved import moved
from abstain.report._steps import slider
from abstain.report._trust import trust
from abstain.report._view import View
from abstain.report._words import metric_title, percent, value_in_words
from abstain.summaries import LabelledSummary

__all__ = ["facts_of"]

SCHEMA_VERSION = 2
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def facts_of(
    decisions: Decisions[Policy],
    *,
    scores_val: ArrayLike | None = None,
    y_val: ArrayLike | None = None,
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
    n, policy = len(decisions), decisions.policy
    if (scores_val is None) != (y_val is None):
        raise ValueError("Pass `scores_val` and `y_val` together, or neither of them.")
    names = None if ids is None else np.asarray(ids)
    check_same_length(decisions=range(n), ids=names)
    labelled = None
    if scores_val is not None and y_val is not None:
        scores_val = np.asarray(read_scores(scores_val, decisions.classes).values)
        proba_val = policy.calibrator.predict_proba(scores_val)
        codes_val = check_labels(
            y_val, classes=decisions.classes, n_rows=len(proba_val), name="y_val"
        )
        labelled = LabelledSummary(proba_val, codes_val)
    grouped = group_numbers(groups, n)
    view = View(decisions)
    sliding = slider(view, None if grouped is None else grouped[1])
    before = decisions.estimate.before
    facts = {
        "schema_version": SCHEMA_VERSION,
        "title": title,
        "metric": _metric(decisions.metric),
        "rows": n,
        "rows_drawn": n if view.rows is None else len(view.rows),
        "rows_validation": None if labelled is None else len(labelled.proba),
        "classes": [str(name) for name in decisions.classes.tolist()],
        "level": decisions.level,
        "before": {"value": before.value, "interval": before.interval},
        "target": _target(decisions),
        "assumption": _assumption(decisions),
        "chosen": sliding.chosen,
        "steps": sliding.steps,
        "costs": costs(decisions),
        "moved": moved(view, labelled, scores_target),
        "trust": trust(decisions, scores_val, labelled, seed=random_state),
        "groups": None
        if grouped is None
        else {"names": grouped[0], "rows": np.bincount(grouped[1]).tolist()},
        "cases": cases(
            decisions,
            sliding,
            ids=names,
            id_name=id_name,
            groups=grouped,
            group_name=group_name,
        ),
        "reproduce": _provenance(command, inputs, policy.calibrator.name),
    }
    # Seven digits are more than a page can show, and keep it small.
    small: dict[str, Any] = plain(facts, digits=7)
    return small


def _target(decisions: Decisions[Policy]) -> str | None:
    """Say what target was asked for, and how sure it is that the rest reaches it."""
    selection, sure = decisions.policy.selection, decisions.reached
    if selection is None or selection.target is None or sure is None:
        return None
    asked = selection.target
    goals = asked if isinstance(asked, Mapping) else {metric_title(decisions.metric): asked}
    named = " and ".join(f"{name} {value:g}" for name, value in goals.items())
    chance = "more than 99%" if sure > 0.99 else percent(round(sure, 2))
    return f"Asked for: {named}. The rest reaches it with a probability of {chance}."


def _assumption(decisions: Decisions[Policy]) -> dict[str, Any] | None:
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


def _provenance(
    command: str | None, inputs: Sequence[str | os.PathLike[str]], calibration: str
) -> dict[str, Any]:
    return {
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "calibration": calibration,
        "versions": {
            "abstain": abstain.__version__,
            "python": platform.python_version(),
            **{name: found for name in _PACKAGES if (found := _version(name))},
        },
        "inputs": {os.fspath(path): _sha256(Path(path)) for path in inputs},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
