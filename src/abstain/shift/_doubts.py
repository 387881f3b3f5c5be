"""What speaks against a figure without labels, in plain words, and what to do about it.

Nothing in the paper; it rests on label shift and on scores that tell the classes apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from abstain._inputs import FloatArray
from abstain.shift._base import Assumed, ShiftEstimator
from abstain.shift._check import LabelShiftCheck
from abstain.summaries import BatchSummary, LabelledSummary

# Shares of a batch: outside what the validation scores span, or not to be placed by any mixture.
# Uncertain rows oversampled four to one stay below the second on real scores.
_OUTSIDE = 0.1
_MISFIT = 0.4
# A model that tells as many of its validation rows right, and is less sure of so many of the
# batch than of all but a few of these, may have been trained on them.
_ALL_RIGHT, _SELDOM, _UNSURE = 0.99, 0.01, 0.1
# The share of a batch unlike any validation row that is worth a word; and how often chance may
# make a batch look like nothing that was weighed.
_UNSEEN = 0.05
_UNEXPLAINED = 0.01
# By how much of itself a probability of compact validation data may have been rounded.
_ROUNDED = 1e-6
# Expected total variation between the proportions and what they might be as well. It tracks the
# real error.
_OPEN = 0.1
# Proportions that moved this far want a check.
_MOVED = 0.1
# Rows: expected of a class that then is hardly there; labelled of a class; labelled at all.
_EXPECTED = 20
# The share of these that is as good as none.
_NEXT_TO_NONE = 0.1
_FEW_OF_A_CLASS = 10
_FEW_AT_ALL = 50

_DONE_INSTEAD: dict[Assumed, str] = {
    "label-shift": (
        "The probabilities were adapted all the same, so proportions and estimates are not to "
        "be trusted"
    ),
    "known-proportions": (
        "The probabilities were adapted to the given proportions all the same, so estimates are "
        "not to be trusted"
    ),
}


def doubts(
    estimator: ShiftEstimator,
    labelled: LabelledSummary,
    summary: BatchSummary,
    *,
    check: LabelShiftCheck | None,
    classes: Sequence[Any],
    draws: FloatArray | None = None,
) -> tuple[str, ...]:
    """Return what speaks against the estimates for a batch, each with advice; or nothing.

    Parameters
    ----------
    estimator : ShiftEstimator
        Fitted on the two summaries.
    labelled, summary : LabelledSummary and BatchSummary
        Validation data and batch: calibrated, not adapted.
    check : LabelShiftCheck or None
        Whether label shift explains the batch, where that was asked.
    classes : sequence
        The label of each column.
    draws : ndarray of shape (n_draws, n_classes), optional
        Class proportions that the data leave open, where they were drawn already.
    """
    found = [
        *_about_validation(labelled, classes),
        *_about_origin(labelled, summary),
        *_about_scores(labelled, summary, check),
        *_about_fit(estimator, check),
        *_about_proportions(estimator, summary, check, classes, draws),
    ]
    return tuple(found)


def _about_validation(labelled: LabelledSummary, classes: Sequence[Any]) -> list[str]:
    if labelled.codes is None:
        return []
    rows = np.bincount(labelled.codes, weights=labelled.weight, minlength=len(classes))
    total = float(rows.sum())
    if total < len(classes):
        return [
            f"There are fewer labelled rows ({total:.0f}) than classes ({len(classes)}): nothing "
            f"can be said about most classes. Label more rows."
        ]
    found = [*labelled.doubts]
    if total < _FEW_AT_ALL:
        found.append(
            f"There are only {total:.0f} labelled rows; calibration and estimates are guesses. "
            f"Label at least {_FEW_AT_ALL}, better some hundreds."
        )
    few = [
        f"{classes[i]} ({rows[i]:.0f})" for i in np.flatnonzero(rows < _FEW_OF_A_CLASS).tolist()
    ]
    if few:
        found.append(
            f"Too few labelled rows to know what a class looks like: {_listed(few)}. Label at "
            f"least {_FEW_OF_A_CLASS} of each, or merge classes."
        )
    return found


def _about_origin(labelled: LabelledSummary, summary: BatchSummary) -> list[str]:
    """Say that the batch is the labelled rows, or that the model had seen these before."""
    if labelled.codes is None or len(labelled.edges) or len(labelled.codes) < _FEW_AT_ALL:
        return []
    n_classes = labelled.proba.shape[1]
    if labelled.proba.shape == summary.proba.shape and np.array_equal(
        np.sort(labelled.proba[:, -1]), np.sort(summary.proba[:, -1])
    ):
        return [
            "The batch is the validation data: of these the labels are known, and nothing can be "
            "told about other rows. Was one file given as both?"
        ]
    right = float(
        np.average(labelled.proba.argmax(axis=1) == labelled.codes, weights=labelled.weight)
    )
    if right < _ALL_RIGHT:
        return []
    own = np.take_along_axis(labelled.proba, labelled.codes[:, None], axis=1)[:, 0]
    least = np.zeros(n_classes)
    for code in np.unique(labelled.codes).tolist():
        least[code] = np.quantile(own[labelled.codes == code], _SELDOM)
    unsure = summary.proba.max(axis=1) < least[summary.proba.argmax(axis=1)]
    share = float(np.average(unsure, weights=summary.weight))
    if share < _UNSURE:
        return []
    return [
        f"The scores tell {right:.1%} of the validation rows right, and {share:.0%} of the batch "
        f"is less certain than nearly all of these. Was the model trained on the validation rows? "
        f"Then calibrate on rows that it was not."
    ]


def _about_scores(
    labelled: LabelledSummary, summary: BatchSummary, check: LabelShiftCheck | None
) -> list[str]:
    ask = "Were the same model, the same `scale` and the same order of columns used?"
    outside = 0.0
    # Rows that were joined no longer tell how far they reached.
    if not len(labelled.edges):
        rows = labelled.proba if labelled.weight is None else labelled.proba[labelled.weight > 0]
        # Of compact validation data the ends have fewer digits than the rows that stand at them.
        low, high = rows.min(axis=0) * (1 - _ROUNDED), rows.max(axis=0) * (1 + _ROUNDED)
        beyond = np.zeros(len(summary.proba), dtype=bool)
        for column, least, most in zip(summary.proba.T, low, high, strict=True):
            beyond |= (column < least) | (column > most)
        outside = float(np.average(beyond, weights=summary.weight))
    if outside > _OUTSIDE:
        return [
            f"{outside:.0%} of the batch scores outside the range of the validation data, as if "
            f"by another model. {ask}"
        ]
    if check is not None and not check.fits and check.misfit > _MISFIT:
        return [
            f"The scores look like those of another model: {check.misfit:.0%} of the batch is "
            f"where no mixture of the validation data's classes would have it. {ask}"
        ]
    return []


def _about_fit(estimator: ShiftEstimator, check: LabelShiftCheck | None) -> list[str]:
    """Say what nothing that was assumed explains, and what nobody has seen the like of."""
    found, worlds = [], estimator.worlds_
    # Without a shift nothing rests on what the classes look like.
    if check is not None and not check.fits and estimator.assumed in _DONE_INSTEAD:
        chance = "p below 0.001" if check.p_value < 1e-3 else f"p = {check.p_value:.3f}"
        found.append(
            f"Label shift does not explain the batch: no mixture of the validation data's classes "
            f"scores like it ({chance}). {_DONE_INSTEAD[estimator.assumed]}. Label some rows of "
            f"the batch and calibrate on them."
        )
    if worlds is not None and worlds.unseen > _UNSEEN:
        found.append(
            f"{worlds.unseen:.0%} of the batch scores where no validation row does: what they are "
            f"is a guess, and the intervals say so. Label some of these rows."
        )
    if worlds is not None and worlds.p_value < _UNEXPLAINED:
        chance = "below 0.001" if worlds.p_value < 1e-3 else f"{worlds.p_value:.3f}"
        found.append(
            f"Nothing that was weighed explains the batch: neither moved class proportions nor a "
            f"moved mix of scores, nor both (p {chance}). Do not trust the figures: these may be "
            f"scores of another model. Were the same model, the same `scale` and the same order "
            f"of columns used? If so, label some rows of the batch and calibrate on them."
        )
    return found


def _about_proportions(
    estimator: ShiftEstimator,
    summary: BatchSummary,
    check: LabelShiftCheck | None,
    classes: Sequence[Any],
    draws: FloatArray | None,
) -> list[str]:
    if estimator.assumed not in ("label-shift", "weighed"):
        return []
    found = []
    if draws is None:
        left_open = estimator.left_open()
    else:
        left_open = float(np.abs(draws - estimator.priors_).sum(axis=1).mean() / 2)
    if left_open > _OPEN:
        found.append(
            f"The class proportions are uncertain: by {left_open:.2f} in total, as the batch has "
            f"few rows ({summary.n_rows}) or its scores hardly tell the classes apart. Take more "
            f"rows or a sharper classifier, or give the proportions with shift=KnownPriors(...)."
        )
    moved = estimator.priors_ - estimator.source_priors_
    found += _about_ends(estimator, summary.total, classes)
    if (
        check is not None
        and check.degrees_of_freedom == 0
        and float(np.abs(moved).sum() / 2) > _MOVED
    ):
        most = int(np.argmax(np.abs(moved)))
        found.append(
            f"The proportions moved (class {classes[most]} from "
            f"{estimator.source_priors_[most]:.2f} to {estimator.priors_[most]:.2f}), but whether "
            f"by label shift cannot be checked: too few rows, or scores with too few values. "
            f"Collect more rows."
        )
    return found


def _about_ends(estimator: ShiftEstimator, total: float, classes: Sequence[Any]) -> list[str]:
    """Say which classes vanished, or that one fills the batch."""
    prior: float = getattr(estimator, "prior_rows", 0.0)
    expected: FloatArray = estimator.source_priors_ * total
    labels = 0.0 if estimator._known is None else float(estimator._known.sum())
    # What a prior alone gives a class is no row of it.
    there = estimator.priors_ * (total + labels + prior) - estimator.source_priors_ * prior
    gone = (there < np.maximum(_NEXT_TO_NONE * expected, 1)) & (expected >= _EXPECTED)
    if not gone.any():
        return []
    advice = "If that cannot be, give the proportions with shift=KnownPriors(...), or label some."
    left, some = np.flatnonzero(~gone & (expected > 0)).tolist(), bool((there[gone] >= 1).any())
    if len(left) == 1:
        most = "nearly the" if some else "the"
        return [f"Class {classes[left[0]]} seems to fill {most} whole batch. {advice}"]
    names = [str(classes[i]) for i in np.flatnonzero(gone).tolist()]
    subject = f"Class {names[0]} seems" if len(names) == 1 else f"Classes {_listed(names)} seem"
    gone_by = "all but vanished" if some else "vanished"
    return [f"{subject} to have {gone_by} from the batch. {advice}"]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
