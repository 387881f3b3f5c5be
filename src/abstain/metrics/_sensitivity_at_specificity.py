"""Sensitivity at a specificity (the paper's Section 5.1, its Algorithm 1), and its mirror."""

from __future__ import annotations

from typing import ClassVar, Unpack

import numpy as np

from abstain._inputs import FloatArray, IntArray, check_seed
from abstain._kernels.ranking import specificity_thresholds
from abstain._kernels.sampled_sensitivity import sampled_sensitivities
from abstain.metrics._estimation import Estimation, smoothed
from abstain.metrics._operating_point import (
    LEVEL_TOLERANCE,
    Masses,
    OperatingPointMetric,
    boundaries_keeping,
    sensitivity_thresholds,
    touching_windows,
)
from abstain.metrics._ranking import MOST_WINDOWS
from abstain.summaries import Atoms, Windows

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

    def _thresholds_of_masses(self, p: FloatArray, below: Masses) -> IntArray:
        # The first boundary with this share of the negatives below.
        negative = below[1]
        need = (self.specificity - LEVEL_TOLERANCE) * negative[:, -1:]
        return np.asarray(np.minimum((negative < need).sum(axis=1), negative.shape[1] - 1))

    def _rate(self, above: Masses, kept: Masses) -> FloatArray:
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


class SpecificityAtSensitivity(OperatingPointMetric):
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

    def _thresholds(self, atoms: Atoms, windows: Windows) -> IntArray:
        return sensitivity_thresholds(atoms, windows, self.sensitivity)

    def _thresholds_of_masses(self, p: FloatArray, below: Masses) -> IntArray:
        return boundaries_keeping(below[0], self.sensitivity)

    def _rate(self, above: Masses, kept: Masses) -> FloatArray:
        return (kept[1] - above[1]) / kept[1]

    def _candidates(self, atoms: Atoms, capacity: float) -> Windows:
        if atoms.equal_weight is None and len(atoms) <= MOST_WINDOWS:
            return atoms.windows(capacity)
        mirrored = touching_windows(atoms.mirrored, capacity, self.sensitivity)
        return mirrored.mirrored(len(atoms))
