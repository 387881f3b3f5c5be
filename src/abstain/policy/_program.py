"""A policy as operations on columns: what ``Policy.apply`` does to the scores of a row.

Whatever decides elsewhere carries out these and no others: ONNX, SQL, plain Python, a GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abstain._inputs import ROW_SUM_TOLERANCE, WIDEST_LOGIT
from abstain.program import (
    Value,
    adapted,
    block,
    both_columns,
    maximum,
    minimum,
    only_where,
    where,
)
from abstain.team import hanging

if TYPE_CHECKING:
    from abstain.policy._policy import Policy

_FARTHEST = float(np.finfo(np.float64).max)
# A probability above this is in no row that sums to 1, and of fewer the sum is a number.
_LARGEST_PROBA = 2.0


class Decided(NamedTuple):
    """What a policy makes of a row.

    Attributes
    ----------
    proba : Value
        Calibrated, adapted probabilities, a column for each class.
    prediction : Value
        The place of the predicted class.
    abstain : Value
        Whether the rule withholds it.
    """

    proba: Value
    prediction: Value
    abstain: Value


def score_columns(policy: Policy, columns: int | None) -> int:
    """Return how many score columns come in: as many as classes, or 1 for the positive of two."""
    n_classes = len(policy.classes)
    if columns is None:
        return n_classes
    if columns != n_classes and not (columns == 1 and n_classes == 2):
        raise ValueError(
            f"`columns` must be {n_classes}, one per class{', or 1' if n_classes == 2 else ''}; "
            f"got {columns}."
        )
    if columns == 1:
        policy.order.need_positive("`columns` is 1: the score is that of the positive class")
    return columns


def stated(policy: Policy, scores: Value, *, smallest: float) -> tuple[Value, Decided]:
    """State which rows have scores that are any, and what a policy makes of them.

    Parameters
    ----------
    policy : Policy
        The rule.
    scores : Value
        A column for each class in the order of ``policy.columns``, or one of the positive class.
    smallest : float
        The least step of the precision that the scores have, which a probability of 0 stands for.
    """
    checked, fit = _checked(policy, scores)
    return fit, decided(policy, checked, smallest)


def decided(policy: Policy, scores: Value, smallest: float) -> Decided:
    """State what a policy makes of scores that are fit, a column for each class in their order."""
    calibrated = policy.calibrator.stated(scores, smallest)
    proba = both_columns(adapted(calibrated, policy.ratios))
    prediction = policy.rule.operations(proba)
    return Decided(proba, prediction, policy.region.operations(proba, prediction))


def answered(policy: Policy, made: Decided, opinion: Value, name: str = "") -> Value:
    """State the place of the final answer to a row that is referred, after an opinion."""
    team = policy.team
    if team is None or team.answer == "replace":
        return opinion
    reviewer = team.who(name)
    base, hangs = reviewer.base, reviewer.dependence_
    # What an answer has in common for all classes goes out of the posterior.
    shares, _ = hanging(made.proba, base, hangs, policy.ratios)
    marks = opinion.is_any_of(range(len(base)))
    each = [where(marks[a], 1.0, 0.0) for a in range(len(base))]
    joint = shares * (block(*each) @ base.T)
    total = joint.total()
    # Where no class could have been answered so, the answer is all there is.
    known = where(total > 0.0, joint / where(total > 0.0, total, 1.0), block(*each))
    return policy.rule.operations(known)


def _checked(policy: Policy, scores: Value) -> tuple[Value, Value]:
    """Return scores with a column per class in the order of the classes, and which rows have any.

    As ``check_scores`` does: a row that it would refuse has none.
    """
    given = policy.calibrator.scale == "probabilities"
    largest = 1.0 if scores.width == 1 else _LARGEST_PROBA
    least, most = (0.0, largest) if given else (-_FARTHEST, _FARTHEST)
    fit: Value = (scores >= least).all() & (scores <= most).all()
    scores = only_where(fit, scores)
    if scores.width == 1:
        own = scores[0] if given else _narrowed(scores[0])
        return block(1.0 - own if given else own - own, own), fit
    places = [policy.columns.tolist().index(label) for label in policy.classes.tolist()]
    if places != sorted(places):
        scores = scores[places]
    if not given:
        return _tamed(scores), fit
    total = scores.total()
    off = abs(total - 1.0)
    fit = fit & (off <= ROW_SUM_TOLERANCE)
    # Rows whose sum differs from 1 by rounding alone stay as they are.
    exact = off <= 4 * np.finfo(np.float64).eps
    return only_where(fit, scores / where(exact, 1.0, total)), fit


def _tamed(logits: Value) -> Value:
    """Return logits none of which is beyond the widest, and no difference beyond all numbers."""
    highest = logits.largest()
    far = where(abs(highest) > WIDEST_LOGIT, highest, 0.0)
    apart = (logits < -WIDEST_LOGIT) & (highest > 0.0)
    return _narrowed(where(apart, -WIDEST_LOGIT, logits - far))


def _narrowed(logits: Value) -> Value:
    return minimum(maximum(logits, -WIDEST_LOGIT), WIDEST_LOGIT)
