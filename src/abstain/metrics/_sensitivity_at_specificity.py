"""Sensitivity at a given specificity (the paper's Section 5.1, its Algorithm 1)."""

from __future__ import annotations

from typing import ClassVar, Unpack

import numpy as np

from abstain._inputs import FloatArray, IntArray, check_seed
from abstain._kernels.ranking import specificity_thresholds
from abstain._kernels.sampled_sensitivity import sampled_sensitivities
from abstain.metrics._estimation import Estimation
from abstain.metrics._operating_point import (
    LEVEL_TOLERANCE,
    OperatingPointMetric,
    boundaries_reaching,
    touching_windows,
)
from abstain.metrics._sampled_windows import smoothed
from abstain.summaries import Atoms, Windows

__all__ = ["SensitivityAtSpecificity"]

# Algorithm 1 keeps tables with an entry per unit of weight; beyond this many, or with weights
# that are no counts, the same thresholds are searched for instead.
MOST_COUNTED = 2**27


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

    def _thresholds(self, atoms: Atoms, windows: Windows) -> IntArray:
        return specificity_thresholds(
            atoms.negative_below, *windows, self.specificity - LEVEL_TOLERANCE
        )

    def _thresholds_of_masses(
        self, p: FloatArray, positive_below: FloatArray, negative_below: FloatArray
    ) -> IntArray:
        return boundaries_reaching(negative_below, self.specificity)

    def _rate(
        self, above: tuple[FloatArray, FloatArray], kept: tuple[FloatArray, FloatArray]
    ) -> FloatArray:
        return above[0] / kept[0]

    def _candidates(self, atoms: Atoms, capacity: float) -> Windows:
        return touching_windows(atoms, capacity, self.specificity)

    def _sampled(self, atoms: Atoms, windows: Windows) -> tuple[float, FloatArray]:
        total = atoms.total
        if total > MOST_COUNTED or (atoms.weight % 1 != 0).any():
            return super()._sampled(atoms, windows)
        starts, ends = (np.append(side, 0) for side in windows)
        means = sampled_sensitivities(
            atoms.weight,
            atoms.positive / atoms.weight,
            (starts, ends),
            self.specificity - LEVEL_TOLERANCE,
            self.n_samples,
            check_seed(self.random_state),
        )
        return float(means[-1]), smoothed(means[:-1], self.smoothing)
