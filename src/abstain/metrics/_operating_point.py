"""What metrics of one operating point share: a threshold for each window, and rates above it.

The threshold moves when a window is withheld, as in the paper's Algorithm 1.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.ranking import masses_above, specificity_thresholds
from abstain.metrics._ranking import MOST_WINDOWS, RankingMetric
from abstain.summaries import Atoms, Windows

# How far a rate may miss its level and still count as reached: 1 - 1/10 is 0.9. Small enough
# to agree with whole-number arithmetic on any batch that fits in memory.
LEVEL_TOLERANCE = 1e-11
# Atoms are nearly equal up to this many times their mean weight; then so many windows on each side
# of the best for equal ones are looked at.
_NEARLY_EQUAL = 16.0
_NEIGHBOURS = 4096


#: Of the positives, and of the negatives.
Masses = tuple[FloatArray, FloatArray]


class OperatingPointMetric(RankingMetric):
    """Base of the metrics that put a threshold somewhere and measure what lies above it."""

    @abstractmethod
    def _thresholds(self, atoms: Atoms, windows: Windows) -> IntArray:
        """Return the first atom predicted positive once each window is withheld."""

    @abstractmethod
    def _rate(self, above: Masses, kept: Masses) -> FloatArray:
        """Return the metric from the positive and negative mass above and kept in all."""

    @abstractmethod
    def _thresholds_of_masses(self, p: FloatArray, below: Masses) -> IntArray:
        """Return the same with nothing withheld, for each row of masses below each boundary."""

    def _values_of_masses(
        self, p: FloatArray, positive: FloatArray, negative: FloatArray
    ) -> FloatArray:
        nothing = np.zeros((len(positive), 1))
        below = (
            np.cumsum(np.hstack([nothing, positive]), axis=1),
            np.cumsum(np.hstack([nothing, negative]), axis=1),
        )
        t = self._thresholds_of_masses(p, below)
        rows = np.arange(len(t))
        total = below[0][:, -1], below[1][:, -1]
        above = total[0] - below[0][rows, t], total[1] - below[1][rows, t]
        return self._rate(above, total)

    def _values(self, atoms: Atoms, windows: Windows) -> FloatArray:
        t = self._thresholds(atoms, windows)
        positive, kept_positive = masses_above(atoms.positive_below, *windows, t)
        negative, kept_negative = masses_above(atoms.negative_below, *windows, t)
        return self._rate((positive, negative), (kept_positive, kept_negative))

    def _threshold(self, atoms: Atoms, start: int, end: int) -> float:
        window = Windows(np.array([start]), np.array([end]))
        t = int(self._thresholds(atoms, window)[0])
        # Beyond the last atom nobody is predicted positive, whatever comes.
        return float(atoms.p[t]) if t < len(atoms) else float(np.nextafter(1.0, 2.0))


def boundaries_keeping(below: FloatArray, level: float) -> IntArray:
    """Return for each row the last boundary with this share of its mass above."""
    least = (1 - level + LEVEL_TOLERANCE) * below[:, -1:]
    boundaries: IntArray = np.maximum((below <= least).sum(axis=1) - 1, 0)
    return boundaries


def sensitivity_thresholds(atoms: Atoms, windows: Windows, level: float) -> IntArray:
    """Return the highest threshold that keeps the sensitivity after each window is withheld."""
    mirrored = windows.mirrored(len(atoms))
    below = atoms.mirrored.negative_below
    return len(atoms) - specificity_thresholds(below, *mirrored, level - LEVEL_TOLERANCE)


def touching_windows(atoms: Atoms, capacity: float, level: float) -> Windows:
    """Return the windows that may be the best for a threshold of this specificity.

    The threshold keeps the specificity when enough negatives lie below the window. Their share
    grows from window to window, while the sensitivity falls; so for atoms of equal weight the
    first window that can hold the threshold is the best of all (the proof is in the guide to
    ranking metrics). A few tied atoms let some windows hold a little more than others: then the
    best is near that one, since every step away from it costs the difference between the
    probabilities at its two ends. Where weights differ more, it may be any window.
    """
    if atoms.equal_weight is None and (
        len(atoms) <= MOST_WINDOWS or atoms.weight.max() > _NEARLY_EQUAL * atoms.weight.mean()
    ):
        return atoms.windows(capacity)
    negative, last = atoms.negative_below, atoms.last_start(capacity)

    def holds(start: int) -> bool:
        end = int(atoms.windows_at(np.array([start]), capacity).ends[0])
        kept = negative[start] + (negative[-1] - negative[end])
        return bool(negative[start] >= (level - LEVEL_TOLERANCE) * kept)

    first = bisect_left(range(last), True, key=holds)
    if atoms.equal_weight is not None:
        return atoms.windows_at(np.array([first]), capacity)
    starts = np.arange(max(first - _NEIGHBOURS, 0), min(first + _NEIGHBOURS, last + 1))
    return atoms.windows_at(starts, capacity)
