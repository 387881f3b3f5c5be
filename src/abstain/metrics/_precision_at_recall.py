"""Precision at a recall, recall at a precision (one minus a false discovery rate), net benefit.

Not in the paper, which names recall at a false discovery rate as a metric in use. Net benefit is
that of a threshold probability (decision-curve analysis).
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal, Unpack

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain.metrics._estimation import Estimation
from abstain.metrics._operating_point import (
    LEVEL_TOLERANCE,
    AtSensitivity,
    OperatingPointMetric,
)
from abstain.metrics._ranking import CLASS_GONE, NEVER_GONE, ByWindow, Masses, first_reaching
from abstain.summaries import Atoms, Windows


class PrecisionAtRecall(AtSensitivity):
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

    def _thresholds(self, atoms: Atoms) -> ByWindow:
        # What is predicted has the precision where its right ones, weighted, outweigh the wrong.
        level, (positive, negative) = self.precision - LEVEL_TOLERANCE, atoms.below
        gain = (1 - level) * (positive[-1] - positive) - level * (negative[-1] - negative)
        highest = np.maximum.accumulate(gain)
        # The first threshold from each on that gains something without the window.
        following = np.where(gain >= 0, np.arange(len(gain)), len(gain) - 1)
        following = np.minimum.accumulate(following[::-1])[::-1]

        def lowest(start: IntArray, stop: IntArray) -> IntArray:
            need = gain[start] - gain[stop]
            left = highest[start] >= need
            return np.where(left, first_reaching(highest, need), following[stop])

        return lowest

    def _thresholds_of_masses(self, p: FloatArray, masses: Masses, kept: Masses) -> IntArray:
        level = self.precision - LEVEL_TOLERANCE
        gain = (1 - level) * masses[0] - level * masses[1]
        gained = gain[:, ::-1].cumsum(axis=1)[:, ::-1] >= 0
        return np.where(gained.any(axis=1), gained.argmax(axis=1), len(p))

    def _rate(self, above: Masses, kept: Masses) -> FloatArray:
        return np.asarray(above[0] / kept[0])


class NetBenefit(OperatingPointMetric):
    r"""Net benefit of treating whoever has at least a threshold probability.

    Higher is better, at most the share of positives; per kept person, in units of one true
    positive.

    Parameters
    ----------
    threshold : float
        The probability from which on a person would be treated, in [0, 1). It says how many
        false positives are worth one true positive: :math:`(1 - t) / t`.
    bins : int, optional
        Sum the examples in this many equal bins of p; see :class:`RankingMetric`.

    Notes
    -----
    .. math:: \mathrm{NB} = \frac{\mathrm{TP}}{n} - \frac{\mathrm{FP}}{n} \frac{t}{1 - t}.

    It is linear in the labels, so the deterministic estimate is the expectation itself. People
    far below the threshold and people just below it add the same nothing; of windows that are
    equally good, one that touches the threshold is preferred.

    References
    ----------
    Vickers, Elkin. Decision curve analysis: a novel method for evaluating prediction models.
    Medical Decision Making 26 (2006), doi:10.1177/0272989X06295361.

    Examples
    --------
    >>> from abstain.metrics import NetBenefit
    >>> NetBenefit(0.2).observed([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.8])
    0.4375
    """

    value_range: ClassVar[tuple[float, float]] = (-math.inf, 1.0)
    head: ClassVar[str] = "net-benefit"
    example: ClassVar[str] = "net-benefit=0.2"
    level: ClassVar[str] = "threshold"
    summary: ClassVar[str] = "true positives less false ones at their exchange rate; for treating"
    per_kept_row: ClassVar[bool] = True
    gone: ClassVar[tuple[float, float]] = (NEVER_GONE, NEVER_GONE)

    def __init__(self, threshold: float, *, bins: int | Literal["auto"] | None = "auto") -> None:
        self.threshold = threshold
        super().__init__(bins=bins)

    def check_parameters(self) -> None:
        """Raise if a parameter is not what it should be."""
        super().check_parameters()
        if self.threshold == 1:
            raise ValueError("`threshold` must be below 1: nobody would ever be treated.")

    def _thresholds(self, atoms: Atoms) -> ByWindow:
        t = np.searchsorted(atoms.p, self.threshold)
        return lambda start, stop: np.full(len(start), t)

    def _thresholds_of_masses(self, p: FloatArray, masses: Masses, kept: Masses) -> IntArray:
        return np.full(len(masses[0]), np.searchsorted(p, self.threshold))

    def _rate(self, above: Masses, kept: Masses) -> FloatArray:
        odds = self.threshold / (1 - self.threshold)
        return (above[0] - odds * above[1]) / (kept[0] + kept[1])

    def _candidates(self, atoms: Atoms, capacity: float) -> Windows:
        """Return the windows that touch the threshold, and the others only for uneven atoms."""
        windows = atoms.windows(capacity)
        t = np.searchsorted(atoms.p, self.threshold)
        touching = (windows.starts <= t) & (windows.ends >= t)
        if atoms.equal_weight is not None:
            return windows.only(np.flatnonzero(touching))
        return windows.only(np.argsort(~touching, kind="stable"))

    def _threshold(self, atoms: Atoms, start: int, end: int) -> float:
        return self.threshold
