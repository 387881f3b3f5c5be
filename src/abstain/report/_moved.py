"""What moved: class proportions then and now, the shift test, and whether it is label shift."""

from typing import Any

import numpy as np
from sklearn.base import clone

from abstain import shift
from abstain._inputs import FloatArray, read_scores
from abstain._numerics import plain
from abstain.decisions import Decisions
from abstain.policy import Policy
from abstain.report._view import View
from abstain.summaries import LabelledSummary, Summary, summarise

__all__ = ["moved"]

_NOT_ADAPTED = (
    "The probabilities were not adapted; the class proportions now are what their mean says."
)


def moved(view: View, labelled: LabelledSummary | None, scores_target: Any) -> dict[str, Any]:
    """Return class proportions before and after, and what tests say about the change.

    Without validation data there are the proportions alone.
    """
    decisions = view.decisions
    names = [str(name) for name in decisions.classes.tolist()]
    batch = None if labelled is None else _unadapted(view, scores_target)
    assumption = decisions.assumption
    adapted = assumption is None or assumption.assumed in ("label-shift", "known-proportions")
    facts: dict[str, Any] = {"interval": None, "test": None, "check": None}
    if labelled is not None and batch is not None:
        estimator = clone(decisions.policy.shift or shift.get("em"))
        facts = shift.shift_facts(estimator, labelled, batch, names, confidence=decisions.level)
        other = estimator.other()
        if other is not None and estimator.assumed != "label-shift":
            # A close check may come out otherwise here; what was assumed stays assumed.
            facts["interval"] = plain(other.priors_interval(decisions.level))
    sums = view.whole.class_sums
    if not adapted:
        # That of the estimator is about proportions that were not taken.
        facts["interval"] = None
    return {
        **facts,
        "adapted": adapted,
        "classes": names,
        "validation": decisions.source_priors,
        "target": decisions.priors if adapted else sums / sums.sum(),
        "meaning": _NOT_ADAPTED
        if not adapted
        else _in_words(names, decisions.source_priors, decisions.priors),
    }


def _unadapted(view: View, scores_target: Any) -> Summary | None:
    """Return the batch as it was before it was adapted; None where that cannot be told."""
    decisions: Decisions[Policy] = view.decisions
    policy = decisions.policy
    if scores_target is not None:
        given = read_scores(scores_target, policy.classes).values
        return summarise(policy.calibrator.compact(given), decisions.sample_weight)
    if (policy.priors <= 0).any() or (policy.source_priors <= 0).any():
        return None
    return view.whole.adapted(policy.source_priors / policy.priors)


def _in_words(names: list[str], before: FloatArray, after: FloatArray) -> str:
    # Of two classes, which mirror each other, people think of the positive one.
    k = 1 if len(names) == 2 else int(np.argmax(np.abs(after - before)))
    if abs(after[k] - before[k]) < 0.005:
        return "The class proportions are estimated to be what they were at validation."
    verb = "more" if after[k] > before[k] else "less"
    return (
        f"Class {names[k]} is estimated to be {verb} frequent than at validation: "
        f"{before[k]:.1%} then, {after[k]:.1%} now."
    )
