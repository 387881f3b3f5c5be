"""Net benefit at a threshold probability (decision-curve analysis). Not in the paper."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain.metrics._operating_point import Masses, OperatingPointMetric
from abstain.metrics._ranking import NEVER_GONE
from abstain.summaries import Atoms, Windows


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

    def _thresholds(self, atoms: Atoms, windows: Windows) -> IntArray:
        return np.full(len(windows.starts), np.searchsorted(atoms.p, self.threshold))

    def _thresholds_of_masses(self, p: FloatArray, below: Masses) -> IntArray:
        return np.full(len(below[0]), np.searchsorted(p, self.threshold))

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
