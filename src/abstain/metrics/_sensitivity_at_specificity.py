"""Sensitivity at a given specificity (the paper's Section 5.1, its Algorithm 1)."""

from typing import ClassVar

import numpy as np

from abstain._kernels.ranking import specificity_thresholds
from abstain._validation import FloatArray, IntArray, check_fraction
from abstain.metrics._atoms import Atoms, Windows
from abstain.metrics._ranking import RankingMetric

__all__ = ["SensitivityAtSpecificity"]

# How far a rate may miss its level and still count as reached: 1 - 1/10 is 0.9. Small enough
# to agree with whole-number arithmetic up to a hundred million examples.
LEVEL_TOLERANCE = 1e-9


class SensitivityAtSpecificity(RankingMetric):
    r"""Sensitivity at the lowest threshold whose specificity is at least a given level.

    Higher is better, in [0, 1].

    Parameters
    ----------
    specificity : float
        The specificity to keep, in [0, 1].
    bins : int, optional
        Sum the examples in this many equal bins of p (a power of two) instead of sorting them.

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

    def __init__(self, specificity: float, *, bins: int | None = None) -> None:
        super().__init__(bins=bins)
        self.specificity = check_fraction(specificity, name="specificity")

    @property
    def _level(self) -> float:
        return self.specificity - LEVEL_TOLERANCE

    def _thresholds(self, atoms: Atoms, windows: Windows) -> IntArray:
        return specificity_thresholds(
            atoms.negative_below, windows.starts, windows.ends, self._level
        )

    def _values(self, atoms: Atoms, windows: Windows) -> FloatArray:
        positive = atoms.positive_below
        starts, ends = windows
        t = self._thresholds(atoms, windows)
        withheld = positive[ends] - positive[starts]
        above = positive[-1] - positive[t] - np.where(t <= starts, withheld, 0.0)
        values: FloatArray = above / (positive[-1] - withheld)
        return values

    def _candidates(self, atoms: Atoms, windows: Windows) -> Windows:
        """Return the first window that can hold its threshold, the best for equal weights.

        A threshold at the window keeps the specificity when enough negatives lie below the
        window. Their share grows from window to window, while the sensitivity falls.
        """
        if np.ptp(atoms.weight) > 0:
            return windows
        negative = atoms.negative_below
        below, above = negative[windows.starts], negative[-1] - negative[windows.ends]
        k = int(np.argmax(below >= self._level * (below + above)))
        return Windows(windows.starts[k : k + 1], windows.ends[k : k + 1])

    def _threshold(self, atoms: Atoms, start: int, end: int) -> float:
        window = Windows(np.array([start]), np.array([end]))
        t = int(self._thresholds(atoms, window)[0])
        # Beyond the last atom nobody is predicted positive, whatever comes.
        return float(atoms.p[t]) if t < len(atoms) else float(np.nextafter(1.0, 2.0))
