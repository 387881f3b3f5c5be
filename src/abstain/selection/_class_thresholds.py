"""Thresholds per class (Fumera, Roli, Giacinto), chosen on the validation set for a metric.

For two classes this is an interval of p around 0.5 (the paper's Section 3). The published search
computes the metric anew for every offset of the interval; here prefix sums give all at once.
"""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain.exceptions import ArgumentError
from abstain.metrics import BaseConfusionMetric, Metric, RankingMetric
from abstain.regions import Interval
from abstain.summaries import BatchSummary, LabelledSummary


def choose_class_thresholds(
    metric: Metric, summary: BatchSummary, capacity: float, labelled: LabelledSummary
) -> Interval:
    """Return the interval of p around one half that does best on the validation set.

    Of all intervals around 0.5 that fill the capacity, the one is taken whose withholding from
    the validation set leaves it with the best metric.

    Parameters
    ----------
    metric : Metric
        What the kept validation rows should be best at.
    summary : BatchSummary
        The batch, of two classes.
    capacity : float
        The largest weight of the batch that may be withheld.
    labelled : LabelledSummary
        The validation set.

    Returns
    -------
    Interval

    Raises
    ------
    ValueError
        If there are more than two classes.

    Notes
    -----
    An example is withheld when its most probable class i has probability below the class's
    threshold :math:`t_i`: for two classes, where :math:`1 - t_0 < p < t_1`.

    An interval begins and ends at probabilities of the batch. It is around one half if it holds
    the last of them below 0.5 or the first that is not. It fills the capacity if it fits, and if
    what follows at one of its ends would not: where examples are tied or weighted, the other end
    may have room. One that stops for want of examples withholds less than it may and is not
    considered, unless all of the batch fits. Among intervals that do equally well the one that
    begins highest is taken, then the one that ends highest.

    References
    ----------
    Fumera, Roli, Giacinto. Reject option with multiple thresholds. Pattern Recognition 33(12),
    2000.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.metrics import AUROC
    >>> from abstain.summaries import LabelledSummary, summarise
    >>> p = np.array([0.1, 0.3, 0.45, 0.6, 0.9])
    >>> labelled = LabelledSummary(np.column_stack([1 - p, p]), np.array([0, 1, 0, 1, 1]))
    >>> choose_class_thresholds(AUROC(), summarise(p), 2, labelled)
    Interval(lower=0.45, upper=0.6)
    """
    n_classes = labelled.proba.shape[1]
    if n_classes != 2:
        raise ArgumentError(
            f"`score` 'class-thresholds' is for two classes; the scores have {n_classes}.", "score"
        )
    atoms = summary.atoms
    to_the_right, to_the_left = atoms.windows(capacity), atoms.mirrored.windows(capacity)
    starts = np.concatenate([to_the_right.starts, len(atoms) - to_the_left.ends])
    ends = np.concatenate([to_the_right.ends, len(atoms) - to_the_left.starts])
    half = np.searchsorted(atoms.p, 0.5)
    around = (starts <= half) & (half <= ends) & (starts < ends)
    # From the interval that begins at 0.5 to the one that ends there.
    starts, ends = np.unique(np.array([starts, ends])[:, around], axis=1)[:, ::-1]
    if not len(starts):
        return Interval.empty()
    lower, upper = atoms.p[starts], atoms.p[ends - 1]
    values = _values(metric, labelled, lower, upper)
    best = int(np.argmax(np.nan_to_num(values, nan=-np.inf)))
    return Interval(lower=float(lower[best]), upper=float(upper[best]))


def _values(
    metric: Metric, labelled: LabelledSummary, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """Return the metric once each interval is withheld, such that more is better."""
    y, proba, weight = labelled.labels, labelled.proba, labelled.weight
    if isinstance(metric, RankingMetric):
        values = metric.observed_intervals(y, proba, lower, upper, sample_weight=weight)
    elif isinstance(metric, BaseConfusionMetric):
        matrices = _confusions(y, proba, lower, upper, weight)
        values = np.array([metric.value(confusion) for confusion in matrices])
    else:
        values = np.array(
            [
                _rest(metric, y, proba, Interval(*ends), weight)
                for ends in zip(lower, upper, strict=True)
            ]
        )
    return values if metric.greater_is_better else -values


def _confusions(
    y: IntArray, proba: FloatArray, lower: FloatArray, upper: FloatArray, weight: FloatArray | None
) -> FloatArray:
    """Return the confusion matrix of what each interval keeps, by prefix sums of cells."""
    p = proba[:, 1]
    order = np.argsort(p, kind="stable")
    cells = np.zeros((len(p) + 1, 4))
    columns = 2 * y + proba.argmax(axis=1)
    cells[1 + np.arange(len(p)), columns[order]] = 1.0 if weight is None else weight[order]
    below = cells.cumsum(axis=0)
    starts = np.searchsorted(p[order], lower, side="left")
    ends = np.searchsorted(p[order], upper, side="right")
    kept: FloatArray = below[-1] - (below[ends] - below[starts])
    return kept.reshape(-1, 2, 2)


def _rest(
    metric: Metric, y: IntArray, proba: FloatArray, interval: Interval, weight: FloatArray | None
) -> float:
    kept = ~interval.contains(proba, y)
    weight = None if weight is None else weight[kept]
    return metric.observed(y[kept], proba[kept], sample_weight=weight) if kept.any() else np.nan
