"""Precision at a recall, and recall at a precision (one minus a false discovery rate).

Not in the paper, which names recall at a false discovery rate as a metric in use.
"""

from __future__ import annotations

from typing import ClassVar, Unpack

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.ranking import precision_thresholds
from abstain.metrics._estimation import Estimation
from abstain.metrics._operating_point import (
    LEVEL_TOLERANCE,
    Masses,
    OperatingPointMetric,
    boundaries_keeping,
    sensitivity_thresholds,
)
from abstain.metrics._ranking import CLASS_GONE, NEVER_GONE
from abstain.summaries import Atoms, Windows


class PrecisionAtRecall(OperatingPointMetric):
    r"""Precision at the highest threshold whose recall is at least a given level.

    Higher is better, in [0, 1].

    Parameters
    ----------
    recall : float
        The recall to keep, in (0, 1].
    **estimation
        How the estimate is made: method, n_samples, smoothing, random_state, bins; see
        :class:`RankingMetric`.

    Notes
    -----
    With :math:`a_i` the positive mass and :math:`w_i` the weight of the kept atom i,

    .. math::

        \mathrm{value} = \frac{\sum_{i \ge t} a_i}{\sum_{i \ge t} w_i}, \qquad
        t = \max\Big\{t : \sum_{i \ge t} a_i \ge r \sum_i a_i\Big\}.

    Examples
    --------
    >>> from abstain.metrics import PrecisionAtRecall
    >>> PrecisionAtRecall(1.0).observed([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.8])
    0.667
    """

    head: ClassVar[str] = "precision@recall"
    example: ClassVar[str] = "precision@recall=0.9"
    level: ClassVar[str] = "recall"
    summary: ClassVar[str] = "precision at a recall to keep; for retrieval"
    gone: ClassVar[tuple[float, float]] = (CLASS_GONE, NEVER_GONE)

    def __init__(self, recall: float, **estimation: Unpack[Estimation]) -> None:
        self.recall = recall
        super().__init__(**estimation)

    def check_parameters(self) -> None:
        """Raise if a parameter is not what it should be."""
        super().check_parameters()
        if self.recall == 0:
            raise ValueError("`recall` must be above 0: with nobody predicted there is none.")

    def _thresholds(self, atoms: Atoms, windows: Windows) -> IntArray:
        return sensitivity_thresholds(atoms, windows, self.recall)

    def _thresholds_of_masses(self, p: FloatArray, below: Masses) -> IntArray:
        return boundaries_keeping(below[0], self.recall)

    def _rate(self, above: Masses, kept: Masses) -> FloatArray:
        return above[0] / (above[0] + above[1])


class RecallAtPrecision(OperatingPointMetric):
    r"""Recall at the lowest threshold whose precision is at least a given level.

    Higher is better, in [0, 1]; 0 when no threshold has that precision. A false discovery
    rate of 5% is a precision of 0.95.

    Parameters
    ----------
    precision : float
        The precision to keep, in [0, 1].
    **estimation
        How the estimate is made: method, n_samples, smoothing, random_state, bins; see
        :class:`RankingMetric`.

    Notes
    -----
    With :math:`a_i` the positive mass and :math:`w_i` the weight of the kept atom i,

    .. math::

        \mathrm{value} = \frac{\sum_{i \ge t} a_i}{\sum_i a_i}, \qquad
        t = \min\Big\{t : \sum_{i \ge t} a_i \ge \pi \sum_{i \ge t} w_i\Big\}.

    Examples
    --------
    >>> from abstain.metrics import RecallAtPrecision
    >>> RecallAtPrecision(0.75).observed([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.8])
    0.5
    """

    head: ClassVar[str] = "recall@precision"
    example: ClassVar[str] = "recall@precision=0.9"
    level: ClassVar[str] = "precision"
    summary: ClassVar[str] = "recall at a precision (1 - FDR) to keep; for discovery"
    gone: ClassVar[tuple[float, float]] = (CLASS_GONE, NEVER_GONE)

    def __init__(self, precision: float, **estimation: Unpack[Estimation]) -> None:
        self.precision = precision
        super().__init__(**estimation)

    def _thresholds(self, atoms: Atoms, windows: Windows) -> IntArray:
        level = self.precision - LEVEL_TOLERANCE
        return precision_thresholds(atoms.below.positive, atoms.below.negative, *windows, level)

    def _thresholds_of_masses(self, p: FloatArray, below: Masses) -> IntArray:
        positive, negative = (mass[:, -1:] - mass for mass in below)
        level = self.precision - LEVEL_TOLERANCE
        first: IntArray = np.argmax(positive >= level * (positive + negative), axis=1)
        return first

    def _rate(self, above: Masses, kept: Masses) -> FloatArray:
        return np.asarray(above[0] / kept[0])
