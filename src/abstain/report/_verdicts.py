"""Verdicts of the page: plausible, doubtful, or not checked, and why."""

from __future__ import annotations

from typing import Any

from abstain.report._words import percent
from abstain.shift import Assumption

PLAUSIBLE, DOUBTFUL, NOT_CHECKED = "plausible", "doubtful", "not checked"


def verdict_on_shift(
    assumption: Assumption | None, check: dict[str, Any] | None, has_labels: bool
) -> dict[str, str]:
    """Return whether label shift explains the scores.

    Parameters
    ----------
    assumption : Assumption or None
        What was assumed when it was decided, with the check that was made then.
    check : dict or None
        The check as made for this page, from the validation rows it was given.
    has_labels : bool
        Whether it was given any.
    """
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


def verdict_on_intervals(trust: dict[str, Any]) -> dict[str, str]:
    """Return whether the intervals hold as often as they say, by the back-test."""
    test = trust["back_test"]
    if test is None:
        return {"state": NOT_CHECKED, "summary": trust["reason"]}
    held = (
        f"{test['inside']} of {len(test['points'])} intervals held the realised value, where "
        f"{percent(test['level'])} are meant to."
    )
    if not test["points"]:
        return {
            "state": NOT_CHECKED,
            "summary": "In no batch of the back-test could anything be estimated.",
        }
    if test["too_few"]:
        return {
            "state": DOUBTFUL,
            "summary": f"{held} That is fewer than chance explains: take the intervals on this "
            f"page as too narrow for these data. More validation rows would help.",
        }
    return {"state": PLAUSIBLE, "summary": held}
