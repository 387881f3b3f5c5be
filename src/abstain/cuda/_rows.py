"""The operations of a rule carried out on rows of a device, with the arrays of NumPy or CuPy."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from abstain._inputs import ROW_SUM_TOLERANCE
from abstain.calibration import Calibrator
from abstain.policy import Policy, decided
from abstain.program import Arrays, carried_out, given


def unfit(xp: Any, calibrator: Calibrator, scores: Any) -> tuple[Any, Any]:
    """Tell which rows have no score, and which have one that cannot be."""
    gaps = xp.isnan(scores)
    wrong = xp.isinf(scores)
    if calibrator.scale == "probabilities":
        wrong |= (scores < 0) | (scores > 1)
    if scores.ndim == 1:
        return gaps, wrong
    gaps, wrong = gaps.any(axis=1), wrong.any(axis=1)
    if calibrator.scale == "probabilities":
        wrong |= xp.abs(scores.sum(axis=1) - 1) > ROW_SUM_TOLERANCE
    return gaps, wrong & ~gaps


def calibrated(xp: Any, calibrator: Calibrator, scores: Any) -> Any:
    """Return probabilities in double precision, of two classes those of the positive one."""
    columns, smallest = _columns(xp, calibrator, scores)
    rows = given(len(columns))
    (proba,) = carried_out(Arrays(xp), [calibrator.stated(rows, smallest)], {rows: columns})
    return xp.ascontiguousarray(proba.T)


def made_of(
    xp: Any, policy: Policy, scores: Any, what: Literal["proba", "prediction", "abstain"]
) -> Any:
    """Return what a policy makes of rows: probabilities, places of classes, or who is withheld."""
    columns, smallest = _columns(xp, policy.calibrator, scores)
    rows = given(len(columns))
    wanted = getattr(decided(policy, rows, smallest), what)
    return carried_out(Arrays(xp), [wanted], {rows: columns})[0].T


def _columns(xp: Any, calibrator: Calibrator, scores: Any) -> tuple[Any, float]:
    """Return scores in double precision with a row for each class, and their least step."""
    # The smallest step of the precision that probabilities came in, as in memory.
    smallest = float(np.finfo(np.float32 if scores.dtype.itemsize < 8 else np.float64).eps)
    scores = scores.astype(xp.float64)
    given_in = calibrator.scale == "probabilities"
    if scores.ndim == 1:
        return xp.stack([1.0 - scores if given_in else xp.zeros_like(scores), scores]), smallest
    columns = xp.ascontiguousarray(scores.T)
    return columns / columns.sum(axis=0) if given_in else columns, smallest
