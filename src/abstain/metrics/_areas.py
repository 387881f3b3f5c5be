"""Areas under curves: ROC (the paper's Section 5.2 and Appendix C), a part of it, and precision.

Average precision, the area under the precision-recall curve, is not in the paper's text.
"""

from __future__ import annotations

from typing import ClassVar, Unpack

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain.metrics._estimation import Estimation
from abstain.metrics._ranking import (
    CLASS_GONE,
    NEVER_GONE,
    ByWindow,
    Masses,
    RankingMetric,
    specificity_thresholds,
)
from abstain.summaries import Atoms, Windows


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
    summary: ClassVar[str] = "area under the ROC curve; for the whole ranking"

    def _values_of_masses(self, p: FloatArray, masses: Masses, kept: Masses) -> FloatArray:
        positive, negative = masses
        lower = np.cumsum(negative, axis=1)
        lower -= negative / 2
        return np.asarray(np.einsum("bn,bn->b", positive, lower) / (kept[0] * kept[1]))

    def _by_window(self, atoms: Atoms) -> ByWindow:
        (positive, negative), pairs = atoms.below, atoms.pairs_below

        def values(start: IntArray, stop: IntArray) -> FloatArray:
            withheld = negative[stop] - negative[start]
            above = positive[-1] - positive[stop]
            kept = pairs[start] + (pairs[-1] - pairs[stop]) - above * withheld
            above += positive[start]
            return np.asarray(kept / (above * (negative[-1] - withheld)))

        return values


class PartialAUROC(RankingMetric):
    r"""Area under the ROC curve up to a false-positive rate, standardised. Not in the paper.

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

    def _by_window(self, atoms: Atoms) -> ByWindow:
        (positive, negative), rate = atoms.below, self.max_fpr
        thresholds = specificity_thresholds(negative, 1 - rate)
        # From pairs counted at their positive to pairs counted at their negative.
        turned = (positive[-1] - positive) * negative + atoms.pairs_below
        chance = rate**2 / 2

        def values(start: IntArray, stop: IntArray) -> FloatArray:
            t = thresholds(start, stop)
            withheld = positive[stop] - positive[start]
            kept = negative[start] + (negative[-1] - negative[stop])
            # Above a threshold below the window lies the window; of one above it, nothing else.
            under = t <= start
            beyond, low = np.where(under, stop, t), np.minimum(t, start)
            beside = negative[start] - negative[low]
            inside = (turned[start] - turned[low]) - withheld * beside
            pairs = (turned[-1] - turned[beyond]) + inside
            higher = (positive[-1] - positive[beyond]) + (positive[start] - positive[low])
            # The atom that the rate cuts counts by the part of it that is left of the rate.
            rest = rate * kept - (negative[-1] - negative[beyond]) - beside
            atom = np.where(under | (t > stop), t, start) - 1
            first = np.maximum(atom, 0)
            wide = negative[first + 1] - negative[first]
            cut = (atom >= 0) & (rest > 0) & (wide > 0)
            part = np.where(cut, np.minimum(rest / wide, 1.0), 0.0)
            slope = 0.5 * part * (positive[first + 1] - positive[first])
            pairs += part * wide * (higher + slope)
            area = pairs / (kept * (positive[-1] - withheld))
            return np.asarray(0.5 * (1 + (area - chance) / (rate - chance)))

        return values


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
    # Sums along the atoms serve all windows of a weight.
    windows_at_a_time: ClassVar[int | None] = None

    def _values_of_masses(self, p: FloatArray, masses: Masses, kept: Masses) -> FloatArray:
        positive, negative = (mass[:, ::-1] for mass in masses)
        found = np.cumsum(positive, axis=1)
        predicted = np.cumsum(negative, axis=1) + found
        values: FloatArray = np.einsum("bn,bn->b", positive, found / predicted) / kept[0]
        return values

    def _by_window(self, atoms: Atoms) -> ByWindow:
        positive, weight, over = atoms.below.positive, atoms.weight_below, atoms.precision_above
        own = np.diff(positive)

        def alike(start: IntArray, stop: IntArray, lighter: float) -> FloatArray:
            """Return the values of windows that withhold the same weight."""
            reach = int(start[-1])
            share = own[:reach] / (weight[-1] - weight[:reach] - lighter)
            slope, constant = (
                np.append(0.0, np.cumsum(terms))
                for terms in (share, share * (positive[-1] - positive[:reach]))
            )
            withheld = positive[stop] - positive[start]
            sums = over[stop] + constant[start] - withheld * slope[start]
            return np.asarray(sums / (positive[-1] - withheld))

        def values(starts: IntArray, ends: IntArray) -> FloatArray:
            found, order = np.empty(len(starts)), _order(weight, Windows(starts, ends))
            lighter = (weight[ends] - weight[starts])[order]
            firsts = np.flatnonzero(np.diff(lighter, prepend=-1.0))
            for first, after in zip(firsts, [*firsts[1:], len(order)], strict=True):
                same = order[first:after]
                found[same] = alike(starts[same], ends[same], lighter[first])
            return found

        return values

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
