"""How far to trust it: calibration on held-out labels, and a back-test under simulated shifts.

The validation data are cut in two. One half calibrates; of the other, a batch with other class
proportions is drawn, decided about as if without labels, and then compared with its labels. Every
batch has a cut of its own, or the luck of one would be counted many times.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import bdtr
from sklearn.base import clone

from abstain import shift
from abstain._inputs import (
    FIT_LOGITS,
    CheckedScores,
    FloatArray,
    IntArray,
    Mask,
    both_columns,
    check_labels,
    check_seed,
    read_scores,
)
from abstain._numerics import clopper_pearson
from abstain.calibration import expected_calibration_error
from abstain.deciding import Batch, Given, decide, labelled_rows
from abstain.decisions import Decisions
from abstain.evaluation import JudgedRows, dirichlet_priors, shifted_rows
from abstain.exceptions import AbstainError, AssumptionWarning, RepairWarning
from abstain.selection import Selection
from abstain.summaries import LabelledSummary

if TYPE_CHECKING:
    from abstain.report._report import Report

MOST_ROWS = 3_000
FEWEST_PER_CLASS = 10
N_SHIFTS = 12
N_BINS = 10
# So few intervals that held are no accident.
UNLIKELY = 0.05


def trust(decisions: Decisions, validation: Validation | None, *, seed: int) -> dict[str, Any]:
    """Return a reliability diagram, a back-test and the certificate, as far as there are data."""
    certificate = decisions.certificate
    facts: dict[str, Any] = {
        "reliability": None,
        "back_test": None,
        "reason": None,
        "certificate": None if certificate is None else str(certificate),
    }
    if validation is None:
        facts["reason"] = (
            "There is no validation data with this report: pass scores_val and y_val to it, the "
            "scores and labels that the rule was made from."
        )
        return facts
    # Cells that stand for rows: nothing can be drawn of them.
    if len(validation.labelled.edges):
        facts["reason"] = (
            "A back-test needs the validation rows; only sums over them came with this report."
        )
        return facts
    codes = validation.codes
    rows = np.bincount(codes, minlength=len(decisions.classes))
    movable = rows >= 2 * FEWEST_PER_CLASS
    # One class alone cannot become rarer or more frequent.
    if movable.sum() < 2:
        facts["reason"] = (
            f"A back-test needs two classes with {2 * FEWEST_PER_CLASS} validation rows or more."
        )
        return facts
    rng = np.random.default_rng(seed)
    folds = [fold for _ in range(N_SHIFTS // 2) for fold in _folds(decisions, validation, rng)]
    both = folds[:2]
    facts["reliability"] = _reliability(
        np.concatenate([both_columns(fold.proba) for fold in both]),
        np.concatenate([fold.codes for fold in both]),
        decisions.level,
        [str(name) for name in decisions.classes.tolist()],
    )
    facts["back_test"] = _back_test(decisions, folds, movable, rng)
    return facts


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
    calibrator, classes = decisions.policy.calibrator, decisions.classes
    if scores_val is not None and y_val is not None:
        if labelled is not None:
            raise ValueError("Pass `scores_val` and `y_val`, or `labelled`, not both.")
        values = read_scores(scores_val, decisions.policy.order, scale=calibrator.scale).values
        scores = CheckedScores.of(
            values, scale=calibrator.scale, n_classes=len(classes), remedy=FIT_LOGITS
        )
        proba = both_columns(calibrator.picked.compact_checked(scores))
        codes = check_labels(y_val, classes=classes, n_rows=len(proba), name="y_val")
        return Validation(LabelledSummary(proba, codes), scores, codes)
    if labelled is None:
        return None
    unseen = labelled if labelled.held_out is None else labelled.held_out
    scores = CheckedScores.of(unseen.proba, scale="probabilities")
    return Validation(labelled, scores, unseen.labels, unseen.weight)


@dataclass(frozen=True, eq=False)
class _Fold:
    """What one half gives to decide by, and the other half, calibrated by it, to test that on."""

    given: Given
    proba: FloatArray
    codes: IntArray
    weight: FloatArray | None


def _folds(
    decisions: Decisions, validation: Validation, rng: np.random.Generator
) -> Iterator[_Fold]:
    """Fit on each half of the validation data, to test on the other."""
    scores, codes, weight = validation.scores, validation.codes, validation.weight
    policy, classes = decisions.policy, decisions.classes
    selection = policy.selection or Selection(score=decisions.choice.region.order)
    again = Selection(
        budget=min(decisions.abstention_rate, 0.99),
        # A score from outside would need its draws again.
        score=selection.score if decisions.values is None else None,
        decision=selection.decision,
    )
    # The rows of each class are dealt to two halves in turn, of at most so many rows in all.
    order = rng.permutation(len(codes))[:MOST_ROWS]
    order = order[np.argsort(codes[order], kind="stable")]
    halves = order[::2], order[1::2]
    weights = [None if weight is None else weight[half] for half in halves]
    for fitting, testing in ((0, 1), (1, 0)):
        rows, labels, part = scores.part(halves[fitting]), codes[halves[fitting]], weights[fitting]
        calibrator = clone(policy.calibrator.picked).set_params(scale=scores.scale)
        with warnings.catch_warnings():
            # That a half lacks a rare class is said with the back-test.
            warnings.simplefilter("ignore", RepairWarning)
            calibrator = calibrator.fit_checked(rows.logits, labels, part, classes).picked
            labelled = labelled_rows(calibrator, rows, labels, part)
        estimator = shift.get(policy.shift or "auto")
        given = Given(
            labelled,
            estimator,
            decisions.metric,
            again,
            classes,
            seed=check_seed(0),
            level=decisions.level,
        )
        proba = calibrator.compact_checked(scores.part(halves[testing]))
        yield _Fold(given, proba, codes[halves[testing]], weights[testing])


def _back_test(
    decisions: Decisions, folds: list[_Fold], movable: Mask, rng: np.random.Generator
) -> dict[str, Any]:
    points = []
    for fold, shifted in zip(folds, _shifts(decisions, movable, rng), strict=True):
        # A class too small to be moved keeps the share it has.
        own = np.bincount(fold.codes, minlength=len(movable)) / len(fold.codes)
        priors = np.where(movable, 0.0, own)
        priors[movable] = shifted * (1 - priors.sum())
        # Each row at most once: a batch of repeated rows would vary more than a real one does.
        present = np.unique(fold.codes)
        rows = shifted_rows(fold.codes, priors[present], replace=False, random_state=rng)
        point = _tested(fold, rows)
        if point is not None:
            points.append({"priors": priors.tolist(), "rows": len(rows), **point})
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
        "left_out": [
            str(name)
            for name, moves in zip(decisions.classes.tolist(), movable.tolist(), strict=True)
            if not moves
        ],
        "mean_gap": float(np.mean(gaps)) if gaps else None,
        "largest_gap": max(gaps, default=None),
        "level": decisions.level,
        "rows": [min(sizes, default=0), max(sizes, default=0)],
    }


def _tested(fold: _Fold, rows: IntArray) -> dict[str, Any] | None:
    """Decide about a drawn batch without its labels, then compare with them."""
    given, weight = fold.given, None if fold.weight is None else fold.weight[rows]
    try:
        with warnings.catch_warnings():
            # What speaks against a simulated batch is no news about the real one.
            warnings.simplefilter("ignore", AssumptionWarning)
            warnings.simplefilter("ignore", RepairWarning)
            batch = Batch.of_rows(fold.proba[rows], weight, given.metric, given.selection)
            found = decide(given, batch)
    except AbstainError:
        # A draw that a shift cannot be told from says nothing about the others.
        return None
    kept, after = ~found.abstain, found.estimate.after
    kept_weight = None if weight is None else weight[kept]
    part = JudgedRows(fold.codes[rows[kept]], found.proba[kept], found.columns[kept], kept_weight)
    realised = part.value(given.metric)
    if not np.isfinite([realised, after.value]).all():
        return None
    low, high = after.interval
    return {
        "estimated": after.value,
        "interval": [low, high],
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
    binary = proba.shape[1] == 2
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
        "error": expected_calibration_error(codes, proba, classes=range(proba.shape[1])),
        "rows": len(codes),
    }
