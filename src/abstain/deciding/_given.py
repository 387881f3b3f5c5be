"""What a decision is made from besides the batch: one frozen value, the same for every way in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain import calibration as calibrations
from abstain._inputs import CheckedScores, FloatArray, IntArray, both_columns, check_time
from abstain._numerics import ROUNDING, clone
from abstain.calibration import Calibrator, held_out
from abstain.deciding._validation import validation_doubts
from abstain.estimation import LEVEL
from abstain.exceptions import ArgumentError, Way
from abstain.metrics import Metric
from abstain.selection import Selection
from abstain.shift import ShiftEstimator
from abstain.summaries import LabelledSummary


@dataclass(frozen=True, eq=False)
class Proof:
    """What a certificate is to be made of.

    Attributes
    ----------
    labelled : LabelledSummary
        Validation data that nothing was fitted on, or in the order of their scores, calibrated.
    confidence : float
        How sure it is to be.
    prior_range : pair or None
        The range of class proportions for what depends on them.
    groups : ndarray of shape (n,) or None
        The group of each row, where what is promised is to hold in every group.
    """

    labelled: LabelledSummary
    confidence: float
    prior_range: tuple[ArrayLike, ArrayLike] | None = None
    groups: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Given:
    """What a decision about any batch is made from.

    Attributes
    ----------
    labelled : LabelledSummary
        The validation data, calibrated.
    shift : ShiftEstimator
        How the class proportions of a batch are estimated.
    metric : Metric
        What to make as good as possible.
    selection : Selection
        How much to withhold, by what order.
    classes : ndarray of shape (n_classes,)
        The label of each column, for what is said about them.
    seed : int
        Seeds whatever is drawn.
    level : float
        How often the intervals are to hold.
    proof : Proof or None
        What a certificate is to be made of, where one was asked for.
    """

    labelled: LabelledSummary
    shift: ShiftEstimator
    metric: Metric
    selection: Selection
    classes: NDArray[Any]
    seed: int = 0
    level: float = LEVEL
    proof: Proof | None = None

    def at_time(self, time: Any) -> Self:
        """Return the same for a batch of a time, which hangs on what is known of times."""
        if time is None:
            return self
        if self.labelled.drift is None:
            raise ArgumentError(
                "`time` of a batch tells how far it is from the validation rows, of which no time "
                "is known; give theirs as well.",
                "time",
            )
        mean = float(check_time(time, np.size(time)).mean())
        drift = self.labelled.drift.at(mean)
        return replace(self, labelled=replace(self.labelled, drift=drift))


def calibrated(
    calibration: Calibrator | str,
    shift: ShiftEstimator,
    scores: CheckedScores,
    codes: IntArray,
    weight: FloatArray | None,
    classes: NDArray[Any],
) -> tuple[Calibrator, LabelledSummary]:
    """Fit the calibrator that suits a shift on labelled rows; return it, and the rows calibrated.

    One that looks at the data to choose among others has chosen by then: its ``picked``.
    """
    calibrator = clone(
        calibrations.get(calibration, scale=scores.scale, estimating_shift=shift.name != "none")
    )
    calibrator.fit_checked(scores.logits, codes, weight, classes)
    labelled = labelled_rows(calibrator, scores, codes, weight)
    doubts = validation_doubts(scores.logits, codes, weight, classes)
    return calibrator, replace(labelled, doubts=doubts)


def labelled_rows(
    calibrator: Calibrator, scores: CheckedScores, codes: IntArray, weight: FloatArray | None
) -> LabelledSummary:
    """Return labelled rows calibrated, and by calibrators that did not see them as well."""
    again = held_out(calibrator, scores.logits, codes, weight)
    proba = both_columns(calibrator.picked.compact_checked(scores))
    if again is None:
        return LabelledSummary(proba, codes, weight)
    rows, apart, parts = again
    unseen = LabelledSummary(apart, codes[rows], parts, numbers=rows)
    return LabelledSummary(proba, codes, weight, held_out=unseen)


def check_order_kept(logits: FloatArray, proba: FloatArray) -> None:
    """Raise if calibrated probabilities of two classes are in another order than their scores.

    What is proved by all labels is of thresholds on the scores, which no label has moved.
    """
    scores, p = logits[:, 1] - logits[:, 0], proba[:, 1]
    steps = np.diff(p[np.argsort(scores, kind="stable")])
    if len(steps) and min(steps.max(), -steps.min()) > ROUNDING:
        raise ArgumentError(
            "`calibration` orders rows otherwise than their scores do, by the labels that are to "
            'prove something of that order. Pass one that keeps it, such as calibration="platt".',
            "calibration",
            ways=[Way("calibration", "platt", 'calibration="platt"')],
        )
