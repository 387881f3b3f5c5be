"""What moved: class proportions then and now, how sure that is, and whether it is label shift.

One table for the report and the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from abstain._inputs import FloatArray
from abstain._numerics import plain
from abstain.shift._base import ShiftEstimator
from abstain.shift._check import label_shift_check
from abstain.shift._detect import shift_test
from abstain.summaries import BatchSummary, LabelledSummary

CONFIDENCE = 0.9


def shift_facts(
    estimator: ShiftEstimator,
    source: LabelledSummary,
    target: BatchSummary,
    classes: Sequence[Any],
    *,
    level: float = 0.05,
    confidence: float = CONFIDENCE,
) -> dict[str, Any]:
    """Return what moved between validation data and a batch, as plain data.

    Parameters
    ----------
    estimator : ShiftEstimator
        How the class proportions are estimated; fitted here.
    source, target : LabelledSummary and BatchSummary
        Calibrated, not adapted.
    classes : sequence
        The label of each column.
    level : float
        The rate of false alarms accepted by the test for a shift.
    confidence : float
        How often the intervals of the proportions are to hold.
    """
    estimator.fit_summaries(source, target)
    test = shift_test(source, target, level=level, classes=classes)
    check = label_shift_check(source, target, classes=classes)
    facts: dict[str, Any] = plain(
        {
            "classes": [*classes],
            "validation": estimator.source_priors_,
            "target": estimator.priors_,
            "interval": estimator.priors_interval(confidence),
            "confidence": confidence,
            "test": {
                "shifted": test.shifted,
                "p_value": test.p_value,
                "statistic": test.statistic,
                "summary": test.finding()
                + (_most_moved(classes, estimator) if test.shifted else ""),
                "finding": test.finding(),
            },
            "check": {"fits": check.fits, **check.to_dict(), "summary": check.summary()},
        }
    )
    return facts


def _most_moved(classes: Sequence[Any], estimator: ShiftEstimator) -> str:
    """Name the class that moved most, with the figures that stand beside it: no third one."""
    before, after = estimator.source_priors_, estimator.priors_
    column = most_moved(before, after)
    return (
        f" Most moved class {classes[column]}: {before[column]:.1%} then, {after[column]:.1%} now."
    )


def most_moved(before: FloatArray, after: FloatArray) -> int:
    """Return the column whose share moved most; of two, which mirror each other, the positive."""
    return 1 if len(before) == 2 else int(np.argmax(np.abs(after - before)))
