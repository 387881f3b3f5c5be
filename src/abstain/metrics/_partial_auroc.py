"""The area under the ROC curve up to a false-positive rate. Not in the paper."""

from __future__ import annotations

from typing import ClassVar, Unpack

from abstain._inputs import FloatArray
from abstain._kernels.ranking import partial_auroc_windows, specificity_thresholds
from abstain.metrics._estimation import Estimation
from abstain.metrics._ranking import RankingMetric
from abstain.summaries import Atoms, Windows

__all__ = ["PartialAUROC"]


class PartialAUROC(RankingMetric):
    r"""Area under the ROC curve up to a false-positive rate, standardised.

    Higher is better, in [0, 1]; 0.5 is chance.

    Parameters
    ----------
    max_fpr : float
        The largest false-positive rate, in (0, 1].
    **estimation
        How the estimate is made: method, n_samples, smoothing, random_state, bins; see
        :class:`RankingMetric`.

    Notes
    -----
    With A the area under the curve left of f, the largest rate, the value is McClish's

    .. math:: \frac{1}{2}\left(1 + \frac{A - f^2/2}{f - f^2/2}\right),

    as in scikit-learn's ``roc_auc_score(max_fpr=f)``.

    References
    ----------
    McClish. Analyzing a Portion of the ROC Curve. Medical Decision Making 9 (1989).

    Examples
    --------
    >>> from abstain.metrics import PartialAUROC
    >>> PartialAUROC(0.5).observed([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.8])
    0.667
    """

    head: ClassVar[str] = "partial-auroc"
    example: ClassVar[str] = "partial-auroc=0.1"
    level: ClassVar[str] = "max_fpr"
    summary: ClassVar[str] = "area under the ROC curve where few negatives are called positive"

    def __init__(self, max_fpr: float, **estimation: Unpack[Estimation]) -> None:
        self.max_fpr = max_fpr
        super().__init__(**estimation)

    def check_parameters(self) -> None:
        """Raise if a parameter is not what it should be."""
        super().check_parameters()
        if self.max_fpr == 0:
            raise ValueError("`max_fpr` must be above 0: up to 0 there is no area.")

    def _values(self, atoms: Atoms, windows: Windows) -> FloatArray:
        positive, negative, rate = atoms.positive_below, atoms.negative_below, self.max_fpr
        t = specificity_thresholds(negative, *windows, 1 - rate)
        area = partial_auroc_windows(positive, negative, atoms.pairs_below, *windows, t, rate)
        chance = rate**2 / 2
        values: FloatArray = 0.5 * (1 + (area - chance) / (rate - chance))
        return values
