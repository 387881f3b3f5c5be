"""What moved: class proportions then and now, the shift test, and whether it is label shift."""

from typing import Any

import numpy as np
from sklearn.base import clone

from abstain import shift
from abstain._inputs import FloatArray, IntArray
from abstain._kernels.adapt import adapted
from abstain.decisions import Decisions

__all__ = ["calibrated_target", "moved"]


def calibrated_target(decisions: Decisions, scores_target: Any) -> FloatArray | None:
    """Return the target's probabilities as they were before they were adapted."""
    policy = decisions.policy
    if scores_target is not None:
        return policy.calibrator.predict_proba(scores_target)
    if (policy.priors <= 0).any() or (policy.source_priors <= 0).any():
        return None
    return adapted(decisions.proba, policy.source_priors / policy.priors)


def moved(
    decisions: Decisions,
    proba_val: FloatArray | None,
    codes_val: IntArray | None,
    target: FloatArray | None,
) -> dict[str, Any]:
    """Return class proportions before and after, and what tests say about the change.

    Without validation data there are the proportions alone.
    """
    names = [str(name) for name in decisions.classes.tolist()]
    facts: dict[str, Any] = {
        "classes": names,
        "validation": decisions.source_priors.tolist(),
        "target": decisions.priors.tolist(),
        "interval": None,
        "test": None,
        "check": None,
        "meaning": _in_words(names, decisions.source_priors, decisions.priors),
    }
    if proba_val is None or codes_val is None or target is None:
        return facts
    estimator = clone(decisions.policy.shift or shift.get("em"))
    estimator.fit(proba_val, target, codes_val, sample_weight_target=decisions.sample_weight)
    facts["interval"] = np.asarray(estimator.priors_interval(0.9)).tolist()
    test = shift.detect_shift(
        proba_val, target, sample_weight_target=decisions.sample_weight, classes=names
    )
    check = shift.check_label_shift(
        proba_val,
        target,
        codes_val,
        sample_weight_target=decisions.sample_weight,
        classes=names,
        warn=False,
    )
    facts["test"] = {
        "shifted": bool(test.shifted),
        "p_value": test.p_value,
        "summary": test.summary(),
    }
    facts["check"] = {
        "fits": bool(check.fits),
        "p_value": check.p_value,
        "summary": check.summary(),
    }
    return facts


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
