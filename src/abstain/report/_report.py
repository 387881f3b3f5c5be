"""Report: the page about a batch of decisions, as facts, JSON or HTML.

Everything the page says is one dict of plain data that JSON can hold.
"""

from __future__ import annotations

import html
import json
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import abstain
from abstain._files import sha256_of, write_text
from abstain._inputs import check_whole
from abstain._logs import logger, repeated_work, stopwatch
from abstain._numerics import plain
from abstain._words import chance, metric_title
from abstain.decisions import Decisions, check_decisions
from abstain.evaluation import operating_point
from abstain.metrics import ExpectedCost
from abstain.report._cases import PageRows, cases
from abstain.report._html import render
from abstain.report._movement import movement
from abstain.report._steps import slider
from abstain.report._trust import DOUBTFUL, read_validation, trust
from abstain.report._view import View
from abstain.shift import WORLDS_IN_WORDS
from abstain.summaries import LabelledSummary

# 5: all rows are counted, those without a score first; the rule's own threshold.
SCHEMA_VERSION = 5
_PACKAGES = ("numpy", "scipy", "scikit-learn")

_logger = logger("report")


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A page about a batch of decisions that a clinician can read.

    One self-contained HTML file: it needs no network, prints well, and its budget slider moves
    every figure. In a notebook it shows itself.

    Parameters
    ----------
    decisions : Decisions
        What was decided.
    scores_val, y_val : array-like, optional
        The validation scores and labels, on the scale the decisions were made on. With them the
        page says what moved and how far to trust the estimates.
    labelled : LabelledSummary, optional
        The same, where it is known already: calibrated and not adapted.
    scores_target : array-like, optional
        The scores of the decided rows; needed only where a class is estimated to have vanished.
    ids : array-like of shape (n,), optional
        The name of each row; row numbers when not given. Shown and downloaded exactly as they
        are: text of whatever kind, whole numbers of any size, fractions to their last digit,
        dates. A row without one (None, NaN, NA) is shown without.
    id_name : str
        What the names are.
    groups : array-like of shape (n,), optional
        A group of each row, such as a hospital or a sex, to compare referral rates.
    group_name : str
        What the groups are.
    title : str
        The page's title.
    command : str, optional
        The command that made the decisions, for the reader to repeat.
    inputs : sequence of path
        Files the decisions were made from; the page has their SHA-256.
    random_state : int
        Seeds the back-test.

    Attributes
    ----------
    facts : dict
        Everything the page says, as plain data; computed when first asked for.

    Examples
    --------
    >>> from abstain import Abstainer
    >>> from abstain.datasets import screening_clinic
    >>> from abstain.report import Report
    >>> clinic = screening_clinic(1000, 1000, random_state=0)
    >>> abstainer = Abstainer("auroc", budget=0.2, calibration="platt", scale="logits",
    ...                       random_state=0)
    >>> decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    >>> report = Report(decisions, scores_val=clinic.scores_val, y_val=clinic.y_val)
    >>> report.headline[:31]
    'Refer 200 of 1,000 cases (20%).'
    """

    decisions: Decisions
    _: KW_ONLY
    scores_val: ArrayLike | None = None
    y_val: ArrayLike | None = None
    labelled: LabelledSummary | None = None
    scores_target: ArrayLike | None = None
    ids: ArrayLike | None = None
    id_name: str = "row"
    groups: ArrayLike | None = None
    group_name: str = "group"
    title: str = "Which cases go to a person"
    command: str | None = None
    inputs: Sequence[str | os.PathLike[str]] = ()
    random_state: int = 0

    def __post_init__(self) -> None:
        check_decisions(self.decisions)
        for name in ("title", "id_name", "group_name", "command"):
            text = getattr(self, name)
            if not isinstance(text, str) and not (name == "command" and text is None):
                raise TypeError(f"`{name}` must be text; got {type(text).__name__}.")
        check_whole(self.random_state, name="random_state", least=0, most=2**63 - 1)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Everything the page says, as plain data."""
        lap = stopwatch()
        with repeated_work():
            found = facts_of(self)
        _logger.info("the facts of the page were found in %.2f s", lap())
        return found

    @property
    def headline(self) -> str:
        """The answer, in two sentences."""
        text: str = self.facts["steps"][self.facts["chosen"]]["headline"]
        return text

    def to_json(self) -> str:
        """Return the facts as JSON."""
        return json.dumps(self.facts, allow_nan=False)

    def to_html(self) -> str:
        """Return the page."""
        return render(self.facts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, whole or not at all."""
        write_text(path, self.to_html())

    def _repr_html_(self) -> str:
        # A frame of its own keeps the page's style and the notebook's apart.
        return (
            f'<iframe title="{html.escape(self.facts["title"], quote=True)}" '
            f'srcdoc="{html.escape(self.to_html(), quote=True)}" '
            f'style="width:100%;height:640px;border:1px solid #8888"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Report on {self.decisions!r}>"


def facts_of(report: Report) -> dict[str, Any]:
    """Return the facts of a report."""
    rows = PageRows.of(report)
    decisions, groups = rows.decisions, rows.groups
    validation = read_validation(report, decisions)
    known = decisions.policy.source if validation is None else validation.labelled
    trusted = trust(decisions, validation, seed=report.random_state)
    view, priced = View.of(report.decisions), costs(decisions)
    narrow = trusted["verdict"]["state"] == DOUBTFUL
    sliding = slider(view, rows, errors=np.asarray(priced["errors"]), too_narrow=narrow)
    point = operating_point(decisions)
    facts = {
        "schema_version": SCHEMA_VERSION,
        "title": report.title,
        **_about(view, rows),
        "rows_validation": None if validation is None else len(validation.labelled.proba),
        "assumption": _assumption(decisions),
        "chosen": sliding.chosen,
        "steps": sliding.steps,
        "operating_point": None if point is None else point.to_dict(),
        "costs": priced,
        "moved": movement(view, known, report.scores_target, rows.positions),
        "trust": trusted,
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


def _about(view: View, rows: PageRows) -> dict[str, Any]:
    """Return what the page is about: the metric, the rows, the classes, and what was asked for."""
    decisions, target = view.decisions, None
    selection, sure = decisions.policy.selection, decisions.reached
    if selection is not None and selection.target is not None and sure is not None:
        asked, title = selection.target, metric_title(decisions.metric.name)
        goals = asked if isinstance(asked, Mapping) else {title: asked}
        named = " and ".join(f"{name} {value:g}" for name, value in goals.items())
        target = f"Asked for: {named}. The rest reaches it with a probability of {chance(sure)}."
    metric, positive, known = decisions.metric, decisions.positive, len(rows) - len(rows.at)
    aside = {"no_score": len(rows.missing), "label_known": known - len(rows.missing)}
    return {
        "metric": {
            "name": metric.name,
            "title": metric_title(metric.name),
            "summary": metric.summary,
            "greater_is_better": metric.greater_is_better,
            "places": view.places,
        },
        "rows": len(rows),
        "rows_scored": len(decisions),
        "rows_drawn": len(decisions) if view.rows is None else len(view.rows),
        "weight": view.total,
        "classes": [str(name) for name in decisions.classes.tolist()],
        "positive": None if positive is None else str(positive),
        "level": decisions.level,
        "before": {
            "value": view.before.value,
            "interval": view.before.interval,
            "by_rule": view.by_rule,
        },
        "target": target,
        "set_aside": aside if known else None,
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
