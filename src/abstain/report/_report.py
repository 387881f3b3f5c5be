"""Report: the page about a batch of decisions, as facts, JSON or HTML.

Everything the page says is one dict of plain data that JSON can hold.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from abstain import shift
from abstain._files import sha256_of
from abstain._inputs import FloatArray, IntArray, check_whole, read_scores
from abstain._logs import logger, repeated_work, stopwatch
from abstain._numerics import plain
from abstain._words import chance, metric_title, share
from abstain.decisions import Decisions, check_decisions
from abstain.evaluation import operating_point
from abstain.metrics import ExpectedCost
from abstain.policy import arms_in_words
from abstain.report._cases import PageRows, cases
from abstain.report._html import render
from abstain.report._model_card import model_card
from abstain.report._page import Page, versions
from abstain.report._steps import slider
from abstain.report._trust import DOUBTFUL, NOT_CHECKED, PLAUSIBLE, read_validation, trust
from abstain.report._view import View
from abstain.shift import WORLDS_IN_WORDS, Assumption
from abstain.summaries import BatchSummary, LabelledSummary, summarise

# 5: all rows are counted, those without a score first; the rule's own threshold.
SCHEMA_VERSION = 5

_logger = logger("report")


@dataclass(frozen=True, eq=False, repr=False)
class Report(Page):
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

    def to_html(self) -> str:
        """Return the page."""
        return render(self.facts)

    def model_card(self) -> str:
        """Return a section for the card of the model, as Markdown."""
        return model_card(self.facts)

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
        "promised": arms_in_words(report.decisions),
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
        "team": decisions.policy.team and decisions.policy.team.in_words,
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
    return {
        "command": report.command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "calibration": report.decisions.policy.calibrator.name,
        "versions": versions(),
        "inputs": {os.fspath(path): sha256_of(path) for path in paths},
    }


# A share that moved by less of itself is said to be what it was.
_HARDLY_MOVED = 0.1
_NOT_ADAPTED = (
    "The probabilities were not adapted; the class proportions now are what their mean says."
)


def movement(
    view: View,
    labelled: LabelledSummary | None,
    scores_target: Any,
    positions: IntArray | None = None,
) -> dict[str, Any]:
    """Return class proportions before and after, and what tests say about the change.

    Without validation data there are the proportions alone. ``positions`` are those of the rows
    among ``scores_target``, where these are not all.
    """
    decisions = view.decisions
    names = [str(name) for name in decisions.classes.tolist()]
    batch = None if labelled is None else _unadapted(decisions, scores_target, positions)
    assumption, current = decisions.assumption, decisions.current_priors
    adapted = assumption is None or assumption.assumed not in ("same-given-score", "no-shift")
    facts: dict[str, Any] = {"interval": None, "test": None, "check": None}
    if labelled is not None and batch is not None:
        moves = decisions.source_priors, decisions.priors
        facts |= shift.shift_facts(labelled, batch, names, *moves)
    now = decisions.priors
    if current is not None:
        # What the command line prints too.
        now, facts["interval"] = current.values, plain(current.interval)
    elif not adapted:
        now = view.whole.class_sums / view.whole.class_sums.sum()
    return {
        **facts,
        "adapted": adapted,
        "classes": names,
        "validation": decisions.source_priors,
        "target": now,
        "verdict": verdict_on_shift(assumption, facts["check"], labelled is not None),
        "meaning": _NOT_ADAPTED if not adapted else _in_words(names, decisions.source_priors, now),
    }


def _unadapted(
    decisions: Decisions, scores_target: Any, positions: IntArray | None
) -> BatchSummary | None:
    """Return the batch as it was before it was adapted; None where that cannot be told."""
    policy = decisions.policy
    if scores_target is None:
        calibrated = decisions.calibrated
    else:
        given = read_scores(scores_target, policy.order, scale=policy.calibrator.scale).values
        calibrated = policy.calibrator.compact(given if positions is None else given[positions])
    return None if calibrated is None else summarise(calibrated, decisions.sample_weight)


def _in_words(names: list[str], before: FloatArray, after: FloatArray) -> str:
    k = shift.most_moved(before, after)
    if abs(after[k] - before[k]) < min(0.005, _HARDLY_MOVED * before[k]):
        return "The class proportions are estimated to be what they were at validation."
    verb = "more" if after[k] > before[k] else "less"
    points = shares_in_words(before[k], after[k])
    return (
        f"Class {names[k]} is estimated to be {verb} frequent than at validation: "
        f"{share(before[k])} then, {share(after[k])} now, {points}."
    )


def shares_in_words(before: float, after: float) -> str:
    """Return by how much a share moved, as the two figures beside it say it.

    Examples
    --------
    >>> shares_in_words(0.1004, 0.1668)  # 10.0% and 16.7%
    '6.7 percentage points more'
    """
    shown = [share(part)[:-1] for part in (before, after)]
    points = float(shown[1]) - float(shown[0])
    decimals = max(len(text.partition(".")[2]) for text in shown)
    return f"{abs(points):.{decimals}f} percentage points {'less' if points < 0 else 'more'}"


def verdict_on_shift(
    assumption: Assumption | None, check: dict[str, Any] | None, has_labels: bool
) -> dict[str, str]:
    """Return whether what the figures rest on explains the scores.

    Parameters
    ----------
    assumption : Assumption or None
        What was assumed when it was decided, with the check that was made then.
    check : dict or None
        The check as made for this page, from the validation rows it was given.
    has_labels : bool
        Whether it was given any.
    """
    if assumption is not None and assumption.worlds is not None:
        state = PLAUSIBLE if assumption.fits else DOUBTFUL
        return {"state": state, "summary": assumption.summary()}
    said = [] if assumption is None else [assumption.summary()]
    states = []
    if assumption is not None and assumption.check is not None and assumption.p_value is not None:
        states.append(PLAUSIBLE if assumption.check.fits else DOUBTFUL)
    if check is not None:
        state = PLAUSIBLE if check["fits"] else DOUBTFUL
        states.append(state if check["degrees_of_freedom"] else NOT_CHECKED)
        # What fits was said with what was assumed; what does not has more to it.
        if not said or not check["fits"]:
            said.append(check["summary"])
    elif not said:
        said.append(
            "A class is estimated to have vanished, and the scores before it did are not at hand."
            if has_labels
            else "There is no validation data with this report to check for label shift."
        )
    # One doubt is enough; and what one of them could not check the other may have.
    state = next((s for s in (DOUBTFUL, PLAUSIBLE) if s in states), NOT_CHECKED)
    return {"state": state, "summary": " ".join(said)}
