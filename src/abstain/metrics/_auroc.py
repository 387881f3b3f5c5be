"""The area under the ROC curve (the paper's Section 5.2 and Appendix C)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels.ranking import auroc_windows
from abstain.metrics._ranking import RankingMetric
from abstain.summaries import Atoms, Windows

__all__ = ["AUROC"]


class AUROC(RankingMetric):
    r"""Area under the ROC curve.

    Higher is better, in [0, 1]: the chance that a positive is ranked above a negative, ties
    counting half.

    Parameters
    ----------
    method, n_samples, smoothing, random_state, bins
        How the estimate is made; see :class:`RankingMetric`.

    Notes
    -----
    With :math:`a_i` the positive and :math:`b_i` the negative mass of atom i, and
    :math:`B_i = \sum_{j<i} b_j`,

    .. math:: \mathrm{auROC} = \frac{\sum_i a_i (B_i + b_i / 2)}{\sum_i a_i \sum_i b_i}.

    The expected value takes :math:`a_i = p_i`, :math:`b_i = 1 - p_i`: the paper's O(N)
    algorithm, except that an example's own pair of half-positive and half-negative counts as
    the tie it is, where the paper leaves it out. The two differ by O(1/N), and counting it is
    what makes weights, ties and bins agree with repetition.

    References
    ----------
    Alexandari, Kundaje, Shrikumar. A General Framework for Abstention Under Label Shift,
    Appendix C, Algorithms 2 and 3.

    Examples
    --------
    >>> from abstain.metrics import AUROC
    >>> AUROC().observed([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.8])
    0.75
    >>> AUROC().window_values([0.1, 0.4, 0.5, 0.8], 1).tolist()
    [0.681, 0.8125, 0.817, 0.7]
    """

    # The mirror image of the order, for the other class, has the same area.
    of_positive = False
    head: ClassVar[str] = "auroc"
    example: ClassVar[str] = "auroc"
    summary: ClassVar[str] = "area under the ROC curve; for the whole ranking"

    def _values_of_masses(
        self, p: FloatArray, positive: FloatArray, negative: FloatArray
    ) -> FloatArray:
        lower = np.cumsum(negative, axis=1)
        total = lower[:, -1] * positive.sum(axis=1)
        lower -= negative / 2
        values: FloatArray = np.einsum("bn,bn->b", positive, lower) / total
        return values

    def _values(self, atoms: Atoms, windows: Windows) -> FloatArray:
        return auroc_windows(
            atoms.positive_below, atoms.negative_below, atoms.pairs_below, *windows
        )
