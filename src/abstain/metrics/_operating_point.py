"""Metrics of one operating point: a threshold for each window, and rates above it.

What they share, and the first of them: sensitivity at a specificity and its mirror. The threshold
moves when a window is withheld, as in the paper's Section 5.1 and its Algorithm 1.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Unpack

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain.metrics._estimation import Estimation
from abstain.metrics._ranking import (
    MOST_WINDOWS,
    ByWindow,
    Masses,
    RankingMetric,
    specificity_thresholds,
)
from abstain.summaries import Atoms, Windows

# How far a rate may miss its level and still count as reached: 1 - 1/10 is 0.9. Small enough
# to agree with whole-number arithmetic on any batch that fits in memory.
LEVEL_TOLERANCE = 1e-11
# Atoms are nearly equal up to this many times their mean weight; then so many windows on each side
# of the best for equal ones are looked at.
_NEARLY_EQUAL = 16.0
_NEIGHBOURS = 4096
# Atoms of a row in a block.
_WIDE = 16


class OperatingPointMetric(RankingMetric):
    """Base of the metrics that put a threshold somewhere and measure what lies above it."""

    @abstractmethod
    def _thresholds(self, atoms: Atoms) -> ByWindow:
        """Return what gives the first atom predicted positive once each window is withheld."""

    @abstractmethod
    def _rate(self, above: Masses, kept: Masses) -> FloatArray:
        """Return the metric from the positive and negative mass above and kept in all."""

    @abstractmethod
    def _thresholds_of_masses(self, p: FloatArray, masses: Masses, kept: Masses) -> IntArray:
        """Return the same with nothing withheld, for each row of masses of the atoms."""

    def _values_of_masses(self, p: FloatArray, masses: Masses, kept: Masses) -> FloatArray:
        t = self._thresholds_of_masses(p, masses, kept)
        return self._rate((sums_from(masses[0], t), sums_from(masses[1], t)), kept)

    def _by_window(self, atoms: Atoms) -> ByWindow:
        thresholds = self._thresholds(atoms)

        def values(start: IntArray, stop: IntArray) -> FloatArray:
            t = thresholds(start, stop)
            high, low = np.maximum(t, stop), np.minimum(t, start)
            above, kept = [], []
            for below in atoms.below:
                above.append((below[-1] - below[high]) + (below[start] - below[low]))
                kept.append(below[start] + (below[-1] - below[stop]))
            return self._rate((above[0], above[1]), (kept[0], kept[1]))

        return values

    def _threshold(self, atoms: Atoms, start: int, end: int) -> float:
        t = int(self._thresholds(atoms)(np.array([start]), np.array([end]))[0])
        # Beyond the last atom nobody is predicted positive, whatever comes.
        return float(atoms.p[t]) if t < len(atoms.p) else float(np.nextafter(1.0, 2.0))


def boundaries_reaching(mass: FloatArray, need: FloatArray) -> IntArray:
    """Return for each row of masses the first boundary with as much below as needed, or the last.

    Blocks are looked at first, and then the atoms of the one in which it is.
    """
    n, m = mass.shape
    blocks = -(-m // _WIDE)
    atoms, rows = np.zeros((n, blocks, _WIDE)), np.arange(n)
    atoms.reshape(n, -1)[:, :m] = mass
    below = np.cumsum(atoms @ np.ones(_WIDE), axis=1)
    block = np.minimum((below < need[:, None]).sum(axis=1), blocks - 1)
    rest = need - np.where(block > 0, below[rows, block - 1], 0.0)
    inside = (np.cumsum(atoms[rows, block], axis=1) < rest[:, None]).sum(axis=1)
    found = np.minimum(block * _WIDE + np.minimum(inside, _WIDE - 1) + 1, m)
    return np.where(need > 0, found, 0)


def sums_from(mass: FloatArray, boundaries: IntArray) -> FloatArray:
    """Return the sum of each row of masses from a boundary of its own on."""
    n, m = mass.shape
    starts = np.arange(n) * m
    ends = np.column_stack([starts, starts + np.minimum(boundaries, m - 1)])
    sums = np.add.reduceat(mass.ravel(), ends.ravel())[1::2]
    return np.where(boundaries < m, sums, 0.0)


class AtSensitivity(OperatingPointMetric):
    """Base of the metrics at the highest threshold that keeps a sensitivity, their ``level``."""

    def _thresholds(self, atoms: Atoms) -> ByWindow:
        level, n = getattr(self, self.level) - LEVEL_TOLERANCE, len(atoms.p)
        mirrored = specificity_thresholds(atoms.mirrored.below.negative, level)
        return lambda start, stop: n - mirrored(n - stop, n - start)

    def _thresholds_of_masses(self, p: FloatArray, masses: Masses, kept: Masses) -> IntArray:
        # The last boundary with this share of the positives above.
        need = (getattr(self, self.level) - LEVEL_TOLERANCE) * kept[0]
        return np.asarray(len(p) - boundaries_reaching(masses[0][:, ::-1], need))


def touching_windows(atoms: Atoms, capacity: float, level: float) -> Windows:
    """Return the windows that may be the best for a threshold of this specificity.

    The threshold keeps the specificity when enough negatives lie below the window. Their share
    grows from window to window, while the sensitivity falls; so for atoms of equal weight the
    first window that can hold the threshold is the best of all (the proof is in the guide to
    ranking metrics). A few tied atoms let some windows hold a little more than others: then the
    best is near that one, since every step away from it costs the difference between the
    probabilities at its two ends. Where weights differ more, it may be any window.
    """
    windows = atoms.windows(capacity)
    if atoms.equal_weight is None and (
        len(atoms.p) <= MOST_WINDOWS or atoms.weight.max() > _NEARLY_EQUAL * atoms.weight.mean()
    ):
        return windows
    below = atoms.below.negative
    left = below[windows.starts]
    holds = left >= (level - LEVEL_TOLERANCE) * (left + (below[-1] - below[windows.ends]))
    holds[-1] = True
    first = int(np.argmax(holds))
    near = 0 if atoms.equal_weight is not None else _NEIGHBOURS
    return windows.only(slice(max(first - near, 0), first + max(near, 1)))


class SensitivityAtSpecificity(OperatingPointMetric):
    r"""Sensitivity at the lowest threshold whose specificity is at least a given level.

    Higher is better, in [0, 1].

    Parameters
    ----------
    specificity : float
        The specificity to keep, in [0, 1].
    **estimation
        How the estimate is made: method, n_samples, smoothing, random_state, bins; see
        :class:`RankingMetric`. ``method="sampled"`` is the paper's Algorithm 1.

    Notes
    -----
    Predict positive from the threshold t on. With :math:`a_i` the positive and :math:`b_i` the
    negative mass of the kept atom i,

    .. math::

        \mathrm{value} = \frac{\sum_{i \ge t} a_i}{\sum_i a_i}, \qquad
        t = \min\Big\{t : \sum_{i < t} b_i \ge s \sum_i b_i\Big\}.

    There is no interpolation between thresholds. The expected value puts p for the label, as
    the paper does for auROC; the paper itself samples labels for this metric.

    The best window touches its threshold: below a threshold it is best to withhold the largest
    p, above it the smallest. So for examples of equal weight one window is left to look at.

    References
    ----------
    Alexandari, Kundaje, Shrikumar. A General Framework for Abstention Under Label Shift,
    Section 5.1.

    Examples
    --------
    >>> from abstain.metrics import SensitivityAtSpecificity
    >>> metric = SensitivityAtSpecificity(0.5)
    >>> metric.observed([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.8])
    1.0
    >>> metric.expected([0.1, 0.4, 0.5, 0.8])
    0.722
    """

    head: ClassVar[str] = "sensitivity@specificity"
    example: ClassVar[str] = "sensitivity@specificity=0.99"
    level: ClassVar[str] = "specificity"
    summary: ClassVar[str] = "sensitivity at a specificity to keep; for screening"

    def __init__(self, specificity: float, **estimation: Unpack[Estimation]) -> None:
        self.specificity = specificity
        super().__init__(**estimation)

    def _thresholds(self, atoms: Atoms) -> ByWindow:
        return specificity_thresholds(atoms.below.negative, self.specificity - LEVEL_TOLERANCE)

    def _thresholds_of_masses(self, p: FloatArray, masses: Masses, kept: Masses) -> IntArray:
        return boundaries_reaching(masses[1], (self.specificity - LEVEL_TOLERANCE) * kept[1])

    def _rate(self, above: Masses, kept: Masses) -> FloatArray:
        return above[0] / kept[0]

    def _candidates(self, atoms: Atoms, capacity: float) -> Windows:
        return touching_windows(atoms, capacity, self.specificity)


class SpecificityAtSensitivity(AtSensitivity):
    r"""Specificity at the highest threshold whose sensitivity is at least a given level.

    Higher is better, in [0, 1].

    Parameters
    ----------
    sensitivity : float
        The sensitivity to keep, in [0, 1].
    **estimation
        How the estimate is made: method, n_samples, smoothing, random_state, bins; see
        :class:`RankingMetric`.

    Notes
    -----
    With :math:`a_i` the positive and :math:`b_i` the negative mass of the kept atom i,

    .. math::

        \mathrm{value} = \frac{\sum_{i < t} b_i}{\sum_i b_i}, \qquad
        t = \max\Big\{t : \sum_{i \ge t} a_i \ge r \sum_i a_i\Big\}.

    It is :class:`SensitivityAtSpecificity` with the classes exchanged, and is computed so.

    Examples
    --------
    >>> from abstain.metrics import SpecificityAtSensitivity
    >>> SpecificityAtSensitivity(1.0).observed([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.8])
    0.5
    """

    head: ClassVar[str] = "specificity@sensitivity"
    example: ClassVar[str] = "specificity@sensitivity=0.9"
    level: ClassVar[str] = "sensitivity"
    summary: ClassVar[str] = "specificity at a sensitivity to keep; for ruling out"

    def __init__(self, sensitivity: float, **estimation: Unpack[Estimation]) -> None:
        self.sensitivity = sensitivity
        super().__init__(**estimation)

    def _rate(self, above: Masses, kept: Masses) -> FloatArray:
        return (kept[1] - above[1]) / kept[1]

    def _candidates(self, atoms: Atoms, capacity: float) -> Windows:
        if atoms.equal_weight is None and len(atoms.p) <= MOST_WINDOWS:
            return atoms.windows(capacity)
        mirrored = touching_windows(atoms.mirrored, capacity, self.sensitivity)
        return mirrored.mirrored(len(atoms.p))
