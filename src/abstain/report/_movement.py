"""What moved: class proportions then and now, the shift test, and whether it is label shift."""

from __future__ import annotations

from typing import Any

from abstain import shift
from abstain._inputs import FloatArray, IntArray, read_scores
from abstain._numerics import plain
from abstain.decisions import Decisions
from abstain.report._view import View
from abstain.report._words import share, shares_in_words, verdict_on_shift
from abstain.summaries import BatchSummary, LabelledSummary, summarise

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
    if abs(after[k] - before[k]) < 0.005:
        return "The class proportions are estimated to be what they were at validation."
    verb = "more" if after[k] > before[k] else "less"
    points = shares_in_words(before[k], after[k])
    return (
        f"Class {names[k]} is estimated to be {verb} frequent than at validation: "
        f"{share(before[k])} then, {share(after[k])} now, {points}."
    )
