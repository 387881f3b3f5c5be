"""What a report is given of the validation data: scores and labels, or what is left of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from abstain._inputs import FloatArray, IntArray, Scale, check_labels, read_scores
from abstain.decisions import Decisions
from abstain.summaries import LabelledSummary


class Validation(NamedTuple):
    """Labelled rows.

    Attributes
    ----------
    labelled : LabelledSummary
        Calibrated, not adapted.
    scores : ndarray
        What a back-test calibrates again: the scores themselves or, where they are not at hand,
        probabilities by calibrators that had not seen the rows.
    scale : str
        The scale of the scores.
    codes : ndarray of int
        The true column of each row of the scores.
    weight : ndarray or None
        How much each row of the scores counts.
    """

    labelled: LabelledSummary
    scores: Any
    scale: Scale
    codes: IntArray
    weight: FloatArray | None = None

    @property
    def is_compact(self) -> bool:
        """Whether cells stand for the rows, of which nothing can be drawn."""
        return len(self.labelled.edges) > 0


def read_validation(
    decisions: Decisions,
    scores_val: Any,
    y_val: Any,
    labelled: LabelledSummary | None,
) -> Validation | None:
    """Return the labelled rows, checked; None where none were given."""
    if (scores_val is None) != (y_val is None):
        raise ValueError("Pass `scores_val` and `y_val` together, or neither of them.")
    calibrator = decisions.policy.calibrator
    if scores_val is not None:
        if labelled is not None:
            raise ValueError("Pass `scores_val` and `y_val`, or `labelled`, not both.")
        order = decisions.policy.order
        scores = read_scores(scores_val, order, scale=calibrator.scale).values
        proba = calibrator.predict_proba(scores)
        codes = check_labels(y_val, classes=decisions.classes, n_rows=len(proba), name="y_val")
        return Validation(LabelledSummary(proba, codes), scores, calibrator.scale, codes)
    if labelled is None:
        return None
    unseen = labelled if labelled.held_out is None else labelled.held_out
    return Validation(labelled, unseen.proba, "probabilities", unseen.labels, unseen.weight)
