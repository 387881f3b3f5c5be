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
from abstain._inputs import check_labels, check_same_length
from abstain.decisions import Decisions
from abstain.report._cases import cases, group_numbers
from abstain.report._costs import costs
from abstain.report._moved import calibrated_target, moved
from abstain.report._steps import LARGE, budget_steps, step_facts
from abstain.report._trust import trust
from abstain.report._words import metric_title

__all__ = ["summarise"]

SCHEMA_VERSION = 1
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def summarise(
    decisions: Decisions,
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
    proba_val = codes_val = None
    if scores_val is not None and y_val is not None:
        proba_val = policy.calibrator.predict_proba(scores_val)
        codes_val = check_labels(
            y_val, classes=decisions.classes, n_rows=len(proba_val), name="y_val"
        )
    grouped = group_numbers(groups, n)
    steps, chosen = budget_steps(decisions)
    target = calibrated_target(decisions, scores_target)
    estimate = decisions.estimate
    facts = {
        "schema_version": SCHEMA_VERSION,
        "title": title,
        "metric": _metric(decisions),
        "rows": n,
        "rows_drawn": min(n, LARGE),
        "rows_validation": None if codes_val is None else len(codes_val),
        "classes": [str(name) for name in decisions.classes.tolist()],
        "before": {"value": estimate.before.value, "interval": list(estimate.before.interval)},
        "chosen": chosen,
        "steps": step_facts(decisions, steps, chosen, None if grouped is None else grouped[1]),
        "costs": costs(decisions),
        "moved": moved(decisions, proba_val, codes_val, target),
        "trust": trust(decisions, scores_val, codes_val, seed=random_state),
        "groups": None
        if grouped is None
        else {"names": grouped[0], "rows": np.bincount(grouped[1]).tolist()},
        "cases": cases(
            decisions,
            steps,
            chosen,
            ids=names,
            id_name=id_name,
            groups=grouped,
            group_name=group_name,
        ),
        "reproduce": _provenance(command, inputs, policy.calibrator),
    }
    plain: dict[str, Any] = _plain(facts)
    return plain


def _metric(decisions: Decisions) -> dict[str, Any]:
    metric = decisions.policy.metric
    return {
        "name": metric.name,
        "title": metric_title(metric),
        "summary": metric.summary,
        "greater_is_better": metric.greater_is_better,
    }


def _provenance(
    command: str | None, inputs: Sequence[str | os.PathLike[str]], calibrator: Any
) -> dict[str, Any]:
    return {
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "calibration": getattr(calibrator, "selected_", calibrator.name),
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


def _plain(value: Any) -> Any:
    """Return the value with Python's own numbers; what is not a finite number is None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        # Seven digits are more than a page can show, and keep it small.
        return float(f"{value:.7g}") if np.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)
