"""Average precision, the area under the precision-recall curve. Not in the paper's text."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.ranking import average_precision_windows
from abstain.metrics._ranking import CLASS_GONE, NEVER_GONE, RankingMetric
from abstain.summaries import Atoms, Windows

# Windows are compared one by one as long as that takes no more additions than this.
MOST_WORK = 50_000_000
# Otherwise this many are compared first, and then ever nearer neighbours of the best.
COARSE = 256


class AveragePrecision(RankingMetric):
    r"""Average precision: the mean precision at the rank of each positive.

    Higher is better, in [0, 1].

    Parameters
    ----------
    method, n_samples, smoothing, random_state, bins
        How the estimate is made; see :class:`RankingMetric`.

    Notes
    -----
    With :math:`a_i` the positive mass and :math:`w_i` the weight of atom i,

    .. math::

        \mathrm{AP} = \frac{1}{\sum_i a_i} \sum_i a_i
        \frac{\sum_{j \ge i} a_j}{\sum_{j \ge i} w_j},

    which is scikit-learn's ``average_precision_score``. When a window of weight d with q
    positives is withheld, the precision of an atom below it becomes
    :math:`(A_i - q) / (W_i - d)`, linear in q: two running sums serve every window of that
    weight, so all windows of equal examples together take O(N). Where ties or weights make
    windows differ in weight, large batches are searched from coarse to fine.

    Examples
    --------
    >>> from abstain.metrics import AveragePrecision
    >>> AveragePrecision().observed([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.8])
    0.833
    """

    head: ClassVar[str] = "average-precision"
    summary: ClassVar[str] = "mean precision over the positives; for rare positives"
    gone: ClassVar[tuple[float, float]] = (CLASS_GONE, NEVER_GONE)

    def _values_of_masses(
        self, p: FloatArray, positive: FloatArray, negative: FloatArray
    ) -> FloatArray:
        found = np.cumsum(positive[:, ::-1], axis=1)
        predicted = np.cumsum(negative[:, ::-1], axis=1) + found
        values: FloatArray = np.einsum("bn,bn->b", positive[:, ::-1], found / predicted)
        return values / found[:, -1]

    def _values(self, atoms: Atoms, windows: Windows) -> FloatArray:
        weight = atoms.weight_below
        return average_precision_windows(
            atoms.below.positive, weight, atoms.precision_above, *windows, _order(weight, windows)
        )

    def _candidates(self, atoms: Atoms, capacity: float) -> Windows:
        if atoms.equal_weight is not None:
            return super()._candidates(atoms, capacity)
        windows = atoms.windows(capacity)
        weight = atoms.weight_below
        passes = len(np.unique(weight[windows.ends] - weight[windows.starts]))
        if passes * len(atoms) <= MOST_WORK:
            return windows
        return self._narrowed(atoms, capacity, COARSE)


def _order(weight: FloatArray, windows: Windows) -> IntArray:
    """Return the windows by the weight they withhold, then by start."""
    withheld = weight[windows.ends] - weight[windows.starts]
    if (np.diff(withheld) == 0).all() and (np.diff(windows.starts) >= 0).all():
        return np.arange(len(withheld))
    return np.lexsort((windows.starts, withheld))
