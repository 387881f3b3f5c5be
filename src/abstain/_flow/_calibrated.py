"""Rows calibrated, and adapted where they stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from abstain._inputs import Aside, FloatArray, IntArray, both_columns
from abstain._kernels.adapt import adapted, adapted_positive
from abstain.calibration import Calibrator, held_out
from abstain.summaries import (
    LabelledSummary,
)

__all__ = ["adapted_in_place", "calibrated_apart", "labelled_rows"]


def labelled_rows(
    calibrator: Calibrator, scores: Any, codes: IntArray, weight: FloatArray | None
) -> LabelledSummary:
    """Return labelled rows calibrated, and by calibrators that did not see them as well."""
    again = held_out(calibrator, scores, codes, weight)
    proba = both_columns(calibrator.compact(scores))
    if again is None:
        return LabelledSummary(proba, codes, weight)
    rows, apart, parts = again
    unseen = LabelledSummary(apart, codes[rows], parts, numbers=rows)
    return LabelledSummary(proba, codes, weight, held_out=unseen)


def calibrated_apart(
    calibrator: Calibrator, values: Any, aside: Aside
) -> tuple[FloatArray, FloatArray]:
    """Return the rows to be decided about calibrated and compact, and those of known label."""
    if aside.nothing:
        return calibrator.compact(values), _no_rows(calibrator)
    try:
        return _compact(calibrator, aside.scored(values)), _compact(
            calibrator, aside.labelled(values)
        )
    except ValueError:
        # The message should number rows as they came.
        aside.check(values, scale=calibrator.scale, n_classes=len(calibrator.classes_))
        raise


def _compact(calibrator: Calibrator, values: Any) -> FloatArray:
    return calibrator.compact(values) if len(values) else _no_rows(calibrator)


def _no_rows(calibrator: Calibrator) -> FloatArray:
    n_classes = len(calibrator.classes_)
    return np.empty(0 if n_classes == 2 else (0, n_classes))


def adapted_in_place(proba: FloatArray, ratios: FloatArray) -> FloatArray:
    """Adapt probabilities to other class proportions where they stand, and return them."""
    if proba.ndim == 1:
        return adapted_positive(proba, ratios, out=proba)
    return adapted(proba, ratios, out=proba)
