"""Probabilities of labelled rows by calibrators that did not see them.

What a calibrator makes of the rows it was fitted on flatters it; by how much, these tell.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from abstain._inputs import FloatArray, IntArray, to_logits
from abstain._numerics import clone
from abstain.calibration._base import Calibrator
from abstain.calibration._folds import Folds

__all__ = ["held_out"]

_FOLDS = 5
# From so many rows on a few parameters fit none of them in particular.
_MANY_ROWS = 20_000


def held_out(
    calibrator: Calibrator, scores: Any, codes: IntArray, weight: FloatArray | None
) -> tuple[IntArray, FloatArray, FloatArray] | None:
    """Return numbers, probabilities and weights of rows, each held out of a fit.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted on all of them.
    scores : array-like of shape (n,) or (n, n_classes)
    codes : ndarray of shape (n,)
        True columns.
    weight : ndarray of shape (n,) or None

    Returns
    -------
    tuple or None
        Equal rows are one; None where it would make no difference, or a fold cannot be fitted.
    """
    if not calibrator._state or len(codes) >= _MANY_ROWS:
        return None
    counted = np.ones(len(codes)) if weight is None else weight
    present = np.flatnonzero(counted > 0)
    n_classes = len(calibrator.classes_)
    logits = to_logits(scores, scale=calibrator.scale, n_classes=n_classes)
    folds = Folds.deal(logits[present], codes[present], counted[present], _FOLDS)
    rows = present[folds.rows]
    proba = np.empty((len(rows), n_classes))
    again = clone(calibrator)
    again.classes_ = calibrator.classes_
    for fold in range(int(folds.fold.max()) + 1):
        inside = folds.fold == fold
        if inside.all():
            return None
        if inside.any():
            fitted = rows[~inside]
            again._fit(logits[fitted], codes[fitted], folds.weight[~inside])
            proba[inside] = again._proba(logits[rows[inside]])
    return rows, proba, folds.weight
