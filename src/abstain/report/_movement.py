"""What moved: class proportions then and now, the shift test, and whether it is label shift."""

from __future__ import annotations

from typing import Any

from abstain import shift
from abstain._inputs import FloatArray, IntArray, read_scores
from abstain._numerics import plain
from abstain._words import share
from abstain.decisions import Decisions
from abstain.report._trust import DOUBTFUL, NOT_CHECKED, PLAUSIBLE
from abstain.report._view import View
from abstain.shift import Assumption
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
