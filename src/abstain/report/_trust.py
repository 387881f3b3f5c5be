"""How far to trust it: calibration on held-out labels, and a back-test under simulated shifts.

The validation data are cut in two. One half calibrates; of the other, a batch with other class
proportions is drawn, decided about as if without labels, and then compared with its labels. Every
two batches have a cut of their own, or the luck of one would be counted many times. Folds of all
rows would be cheaper than halves and are no test: what one fold's calibrator gets wrong the
labelled rows of the others take back with the opposite sign.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import bdtr

from abstain import shift
from abstain._inputs import (
    FIT_LOGITS,
    CheckedScores,
    FloatArray,
    IntArray,
    Mask,
    both_columns,
    check_labels,
    read_scores,
)
from abstain._numerics import clone, clopper_pearson
from abstain._words import percent
from abstain.calibration import expected_calibration_error
from abstain.deciding import Batch, Given, decide, labelled_rows
from abstain.decisions import Decisions
from abstain.evaluation import JudgedRows, dirichlet_priors, shifted_rows
from abstain.exceptions import AbstainError, AssumptionWarning, RepairWarning
from abstain.selection import Selection
from abstain.summaries import LabelledSummary, compact
from abstain.team import TeamMetric

if TYPE_CHECKING:
    from abstain.policy import Policy
    from abstain.report._report import Report

#: What a verdict says.
PLAUSIBLE, DOUBTFUL, NOT_CHECKED = "plausible", "doubtful", "not checked"
MOST_ROWS = 3_000
FEWEST_PER_CLASS = 10
N_SHIFTS = 12
N_BINS = 10
# So few intervals that held are no accident.
UNLIKELY = 0.05


class Validation(NamedTuple):
    """Labelled rows that a report is given.

    Attributes
    ----------
    labelled : LabelledSummary
        Calibrated, not adapted.
    scores : CheckedScores
        What a back-test calibrates again: the scores themselves or, where they are not at hand,
        probabilities by calibrators that had not seen the rows.
    codes : ndarray of int
        The true column of each row of the scores.
    weight : ndarray or None
        How much each row of the scores counts.
    """

    labelled: LabelledSummary
    scores: CheckedScores
    codes: IntArray
    weight: FloatArray | None = None


def read_validation(report: Report, decisions: Decisions) -> Validation | None:
    """Return the labelled rows of a report, checked; None where none were given."""
    scores_val, y_val, labelled = report.scores_val, report.y_val, report.labelled
    if (scores_val is None) != (y_val is None):
        raise ValueError("Pass `scores_val` and `y_val` together, or neither of them.")
    if scores_val is None or y_val is None:
        if labelled is None:
            return None
        unseen = labelled.held_out or labelled
        scores = CheckedScores.of(unseen.proba, scale="probabilities")
        return Validation(labelled, scores, unseen.labels, unseen.weight)
    if labelled is not None:
        raise ValueError("Pass `scores_val` and `y_val`, or `labelled`, not both.")
    policy, classes = decisions.policy, decisions.classes
    scale = policy.calibrator.scale
    values = read_scores(scores_val, policy.order, scale=scale).values
    scores = CheckedScores.of(values, scale=scale, n_classes=len(classes), remedy=FIT_LOGITS)
    codes = check_labels(y_val, classes=classes, n_rows=len(values), name="y_val")
    proba = both_columns(policy.calibrator.picked.compact_checked(scores))
    return Validation(LabelledSummary(proba, codes), scores, codes)


def trust(decisions: Decisions, validation: Validation | None, *, seed: int) -> dict[str, Any]:
    """Return a reliability diagram, a back-test and the certificate, as far as there are data."""
    certificate, names = decisions.certificate, [str(name) for name in decisions.classes.tolist()]
    reason, facts = None, {"reliability": None, "back_test": None}
    if validation is None:
        reason = (
            "There is no validation data with this report: pass scores_val and y_val to it, the "
            "scores and labels that the rule was made from."
        )
    # Cells that stand for rows: nothing can be drawn of them.
    elif len(validation.labelled.edges):
        reason = (
            "A back-test needs the validation rows; only sums over them came with this report."
        )
    # One class alone cannot become rarer or more frequent.
    elif (_movable(validation.codes, len(names))).sum() < 2:
        reason = (
            f"A back-test needs two classes with {2 * FEWEST_PER_CLASS} validation rows or more."
        )
    else:
        facts = _tests(decisions, validation, names, seed)
    told = {**facts, "reason": reason, "certificate": certificate and str(certificate)}
    return {**told, "verdict": verdict_on_intervals(told)}


def _movable(codes: IntArray, n_classes: int) -> Mask:
    """Return of which classes there are enough rows to make them rarer or more frequent."""
    return np.bincount(codes, minlength=n_classes) >= 2 * FEWEST_PER_CLASS


@dataclass(frozen=True, eq=False)
class _Fold:
    """What one half gives to decide by, and the other half, calibrated by it, to test that on."""

    labelled: LabelledSummary
    unseen: LabelledSummary


def _folds(policy: Policy, validation: Validation, rng: np.random.Generator) -> Iterator[_Fold]:
    """Fit on each half of the validation data, to test on the other."""
    scores, codes, weight = validation.scores, validation.codes, validation.weight
    # The rows of each class are dealt to two halves in turn, of at most so many rows in all.
    order = _some_rows(rng.permutation(len(codes)), codes, len(policy.classes))
    order = order[np.argsort(codes[order], kind="stable")]
    for known, testing in ((order[::2], order[1::2]), (order[1::2], order[::2])):
        own, part = scores.part(known), None if weight is None else weight[known]
        calibrator = clone(policy.calibrator.picked).set_params(scale=scores.scale)
        with warnings.catch_warnings():
            # That a half lacks a rare class is said with the back-test.
            warnings.simplefilter("ignore", RepairWarning)
            calibrator.fit_checked(own.logits, codes[known], part, policy.classes)
            labelled = labelled_rows(calibrator.picked, own, codes[known], part)
        proba = both_columns(calibrator.picked.compact_checked(scores.part(testing)))
        others = None if weight is None else weight[testing]
        yield _Fold(labelled, LabelledSummary(proba, codes[testing], others))


def _some_rows(order: IntArray, codes: IntArray, n_classes: int) -> IntArray:
    """Return the first of many rows, and with them enough of each class that is rare."""
    some, least = order[:MOST_ROWS], MOST_ROWS // (10 * n_classes)
    for k in np.flatnonzero(np.bincount(codes[some], minlength=n_classes) < least).tolist():
        some = np.append(some[codes[some] != k], order[codes[order] == k][:least])
    return some


def _tests(
    decisions: Decisions, validation: Validation, names: list[str], seed: int
) -> dict[str, Any]:
    """Return the reliability diagram of the first cut, and a back-test on all."""
    rng = np.random.default_rng(seed)
    cuts = [_folds(decisions.policy, validation, rng) for _ in range(N_SHIFTS // 2)]
    folds = [fold for cut in cuts for fold in cut]
    first, second = (fold.unseen for fold in folds[:2])
    proba = np.concatenate([first.proba, second.proba])
    codes = np.concatenate([first.labels, second.labels])
    movable = _movable(validation.codes, len(names))
    tested = _back_test(decisions, folds, movable, rng)
    tested["left_out"] = [names[k] for k in np.flatnonzero(~movable)]
    return {
        "reliability": _reliability(proba, codes, decisions.level, names),
        "back_test": tested,
    }


def _back_test(
    decisions: Decisions, folds: list[_Fold], movable: Mask, rng: np.random.Generator
) -> dict[str, Any]:
    points = []
    for fold, shifted in zip(folds, _shifts(decisions, movable, rng), strict=True):
        codes = fold.unseen.labels
        # A class too small to be moved keeps the share it has.
        own = np.bincount(codes, minlength=len(movable)) / len(codes)
        priors = np.where(movable, 0.0, own)
        priors[movable] = shifted * (1 - priors.sum())
        # Each row at most once: a batch of repeated rows would vary more than a real one does.
        drawn = shifted_rows(codes, priors[np.unique(codes)], replace=False, random_state=rng)
        point = _tested(decisions, fold, drawn)
        if point is not None:
            points.append({"priors": priors.tolist(), "rows": len(drawn), **point})
    sizes = [point["rows"] for point in points]
    gaps = [abs(point["estimated"] - point["realised"]) for point in points]
    inside = sum(point["inside"] for point in points)
    chance = float(bdtr(inside, len(points), decisions.level)) if points else 1.0
    return {
        "points": points,
        "undecided": N_SHIFTS - len(points),
        "inside": inside,
        # Fewer than chance would have it, were the intervals what they are meant to be.
        "too_few": chance < UNLIKELY,
        "mean_gap": float(np.mean(gaps)) if gaps else None,
        "largest_gap": max(gaps, default=None),
        "level": decisions.level,
        "rows": [min(sizes, default=0), max(sizes, default=0)],
    }


def _tested(decisions: Decisions, fold: _Fold, drawn: IntArray) -> dict[str, Any] | None:
    """Decide about a drawn batch without its labels, then compare with them."""
    policy, metric = decisions.policy, decisions.metric
    selection = policy.selection or Selection(score=decisions.choice.region.order)
    again = Selection(
        budget=min(decisions.abstention_rate, 0.99),
        # A score from outside would need its draws again.
        score=selection.score if decisions.values is None else None,
        decision=selection.decision,
    )
    estimator = shift.get(policy.shift or "auto")
    given = Given(
        fold.labelled, estimator, metric, again, decisions.classes, level=decisions.level
    )
    unseen = fold.unseen
    proba, codes = np.ascontiguousarray(compact(unseen.proba[drawn])), unseen.labels[drawn]
    weight = None if unseen.weight is None else unseen.weight[drawn]
    try:
        with warnings.catch_warnings():
            # What speaks against a simulated batch is no news about the real one.
            warnings.simplefilter("ignore", AssumptionWarning)
            warnings.simplefilter("ignore", RepairWarning)
            found = decide(given, Batch.of_rows(proba, weight, metric, again))
    except AbstainError:
        # A draw that a shift cannot be told from says nothing about the others.
        return None
    kept, after = ~found.abstain, found.estimate.after
    final, columns = found.proba, found.columns
    if isinstance(found.metric, TeamMetric):
        # What readers would have said is drawn, as they were measured.
        team = found.metric.for_choice(found.choice)
        final, columns = team.played(codes, final, columns, found.abstain, len(drawn))
        kept = np.ones_like(kept)
    weight = None if weight is None else weight[kept]
    part = JudgedRows(codes[kept], final[kept], columns[kept], weight)
    realised = part.value(metric)
    if not np.isfinite([realised, after.value]).all():
        return None
    return {
        "estimated": after.value,
        "interval": [*after.interval],
        "realised": realised,
        "inside": after.holds(realised),
    }


def _shifts(decisions: Decisions, movable: Mask, rng: np.random.Generator) -> list[FloatArray]:
    """Return proportions of the classes that can be moved: as then, as now, and around them."""
    then, now = decisions.source_priors[movable], decisions.priors[movable]
    # Where none of them is left now, as then is all that there is.
    then, now = (one / one.sum() for one in (then, now if now.sum() > 0 else then))
    shifts = [then, now]
    if len(then) == 2:
        odds = then[1] / max(then[0], 1e-12) * np.geomspace(1 / 6, 6, N_SHIFTS - 2)
        positive = np.clip(odds / (1 + odds), 0.02, 0.98)
        return shifts + [np.array([1 - p, p]) for p in positive]
    drawn = [dirichlet_priors(len(then), random_state=rng) for _ in range(N_SHIFTS - 2)]
    # Half of what was, so that no class all but vanishes.
    return shifts + [0.5 * then + 0.5 * other for other in drawn]


def _reliability(
    proba: FloatArray, codes: IntArray, level: float, names: list[str]
) -> dict[str, Any]:
    """Return observed frequencies in bins of equal mass, with intervals."""
    binary = len(names) == 2
    values = proba[:, 1] if binary else proba.max(axis=1)
    happened = codes == 1 if binary else codes == np.argmax(proba, axis=1)
    parts = np.array_split(np.argsort(values, kind="stable"), N_BINS)
    bins = [
        {
            "probability": values[part].mean(),
            "frequency": happened[part].mean(),
            "interval": clopper_pearson(happened[part].sum(), len(part), (1 - level) / 2),
            "rows": len(part),
        }
        for part in parts
        if len(part)
    ]
    return {
        "what": f"p({names[1]})" if binary else "probability of the most likely class",
        "bins": bins,
        "error": expected_calibration_error(codes, proba, classes=range(len(names))),
        "rows": len(codes),
    }


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
