"""What moved: class proportions then and now, how sure that is, and whether it is label shift.

One table for the report and the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from abstain._inputs import FloatArray
from abstain._numerics import plain
from abstain.shift._check import label_shift_check
from abstain.shift._detect import shift_test
from abstain.summaries import BatchSummary, LabelledSummary


def shift_facts(
    source: LabelledSummary,
    target: BatchSummary,
    classes: Sequence[Any],
    before: FloatArray,
    now: FloatArray,
    *,
    level: float = 0.05,
) -> dict[str, Any]:
    """Return whether validation data and a batch differ, and by label shift, as plain data.

    Parameters
    ----------
    source, target : LabelledSummary and BatchSummary
        Calibrated, not adapted.
    classes : sequence
        The label of each column.
    before, now : ndarray of shape (n_classes,)
        Class proportions of both, for what is said of them.
    level : float
        The rate of false alarms accepted by the test for a shift.
    """
    test = shift_test(source, target, level=level, classes=classes)
    check = label_shift_check(source, target, classes=classes)
    said = test.finding()
    if test.shifted:
        # With the figures that stand beside it: no third one.
        most = most_moved(before, now)
        said += f" Most moved class {classes[most]}: {before[most]:.1%} then, {now[most]:.1%} now."
    facts: dict[str, Any] = plain(
        {
            "test": {
                "shifted": test.shifted,
                "p_value": test.p_value,
                "statistic": test.statistic,
                "summary": said,
                "finding": test.finding(),
            },
            "check": {"fits": check.fits, **check.to_dict(), "summary": check.summary()},
        }
    )
    return facts


def most_moved(before: FloatArray, after: FloatArray) -> int:
    """Return the column whose share moved most; of two, which mirror each other, the positive."""
    return 1 if len(before) == 2 else int(np.argmax(np.abs(after - before)))
