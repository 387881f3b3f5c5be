"""Sensitivity at a given specificity (the paper's Section 5.1, its Algorithm 1)."""

from bisect import bisect_left
from typing import ClassVar, Unpack

import numpy as np

from abstain._kernels.ranking import specificity_thresholds
from abstain._validation import FloatArray, IntArray, check_fraction
from abstain.metrics._atoms import Atoms, Windows
from abstain.metrics._operating_point import LEVEL_TOLERANCE, OperatingPointMetric
from abstain.metrics._ranking import Estimation

__all__ = ["SensitivityAtSpecificity"]


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
        super().__init__(**estimation)
        self.specificity = check_fraction(specificity, name="specificity")

    def _thresholds(self, atoms: Atoms, windows: Windows) -> IntArray:
        return specificity_thresholds(
            atoms.negative_below, *windows, self.specificity - LEVEL_TOLERANCE
        )

    def _rate(
        self, above: tuple[FloatArray, FloatArray], kept: tuple[FloatArray, FloatArray]
    ) -> FloatArray:
        return above[0] / kept[0]

    def _candidates(self, atoms: Atoms, capacity: float) -> Windows:
        """Return the first window that can hold its threshold, the best for equal weights.

        A threshold at the window keeps the specificity when enough negatives lie below the
        window. Their share grows from window to window, while the sensitivity falls.
        """
        if atoms.equal_weight is None:
            return atoms.windows(capacity)
        negative, level = atoms.negative_below, self.specificity - LEVEL_TOLERANCE
        size = atoms.window_size(capacity)

        def holds(start: int) -> bool:
            kept = negative[start] + (negative[-1] - negative[start + size])
            return bool(negative[start] >= level * kept)

        first = bisect_left(range(len(atoms) - size), True, key=holds)
        return Windows(np.array([first]), np.array([first + size]))
