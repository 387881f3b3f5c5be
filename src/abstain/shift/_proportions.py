"""What moved: class proportions then and now, how sure that is, and whether it is label shift.

One table for the report and the command line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from abstain._inputs import FloatArray
from abstain._numerics import plain, weighted_quantiles
from abstain.shift._check import label_shift_check
from abstain.shift._detect import shift_test
from abstain.summaries import BatchSummary, LabelledSummary

# Proportions moved if so few of those that the data leave open are as far from the estimate as
# those in use, and the two differ by so much in all: less makes no difference to a decision.
_SELDOM = 0.05
_LEAST = 0.02


@dataclass(frozen=True, eq=False)
class Proportions:
    """Class proportions of some rows, estimated without labels.

    Attributes
    ----------
    values : ndarray of shape (n_classes,)
        The estimate.
    interval : ndarray of shape (n_classes, 2)
        Where each lies, as often as ``level`` says.
    level : float
        How often.
    moved : bool
        Whether they differ from those that the probabilities are adapted to by more than chance
        explains, and by enough to matter.
    """

    values: FloatArray
    interval: FloatArray
    level: float
    moved: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the proportions as plain data."""
        return dict(plain(vars(self)))


def pooled_proportions(
    draws: Sequence[FloatArray],
    weights: Sequence[float],
    used: FloatArray,
    now: FloatArray,
    level: float,
) -> Proportions:
    """Return class proportions, and what the data leave open about them.

    Parameters
    ----------
    draws : sequence of ndarray of shape (1 + n_draws, n_classes)
        Under each assumption that may be right: as estimated, and such as the data leave open.
    weights : sequence of float
        What each counts.
    used, now : ndarray of shape (n_classes,)
        The proportions that the probabilities are adapted to, and those that they would be.
    level : float
    """
    heavy = np.array(weights) / np.sum(weights)
    values = heavy @ [one[0] for one in draws]
    pooled = np.concatenate([one[1:] for one in draws])
    weight = np.repeat(heavy / [len(one) - 1 for one in draws], [len(one) - 1 for one in draws])
    tail = (1 - level) / 2
    low, high = np.transpose(
        [weighted_quantiles(column, weight, [tail, 1 - tail]) for column in pooled.T]
    )
    apart = 0.5 * float(np.abs(used / used.sum() - now / now.sum()).sum())
    scatter = 0.5 * np.abs(pooled - values).sum(axis=1)
    moved = bool(apart >= _LEAST and weight[scatter >= apart].sum() < _SELDOM)
    interval = np.column_stack([np.minimum(low, values), np.maximum(high, values)])
    return Proportions(values, interval, level, moved)


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
