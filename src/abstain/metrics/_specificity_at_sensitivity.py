"""Specificity at a given sensitivity: the mirror image of the paper's Section 5.1."""

from __future__ import annotations

from typing import ClassVar, Unpack

from abstain._inputs import FloatArray, IntArray
from abstain.metrics._estimation import Estimation
from abstain.metrics._operating_point import (
    OperatingPointMetric,
    boundaries_keeping,
    sensitivity_thresholds,
    touching_windows,
)
from abstain.metrics._ranking import MOST_WINDOWS
from abstain.summaries import Atoms, Windows

__all__ = ["SpecificityAtSensitivity"]


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

    def _thresholds_of_masses(
        self, p: FloatArray, positive_below: FloatArray, negative_below: FloatArray
    ) -> IntArray:
        return boundaries_keeping(positive_below, self.sensitivity)

    def _rate(
        self, above: tuple[FloatArray, FloatArray], kept: tuple[FloatArray, FloatArray]
    ) -> FloatArray:
        return (kept[1] - above[1]) / kept[1]

    def _candidates(self, atoms: Atoms, capacity: float) -> Windows:
        if atoms.equal_weight is None and len(atoms) <= MOST_WINDOWS:
            return atoms.windows(capacity)
        mirrored = touching_windows(atoms.mirrored, capacity, self.sensitivity)
        return mirrored.mirrored(len(atoms))
