"""Confusion matrices of unknown labels, drawn from the probabilities.

Few rows: a label for every row and draw. Many: from the mean and the covariance of the counts,
which two sums over the rows give; where a count is small it is drawn from a binomial
distribution of the same mean and variance, since it is far from normal.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, ndtr, pdtr

from abstain._inputs import FloatArray, IntArray, Mask
from abstain._kernels.confusion import confusion_moments
from abstain._kernels.label_draws import confusion_draws
from abstain.summaries import Summary

__all__ = ["Moments", "labels_drawn", "many_rows", "moments"]

# Label by label takes about as long as the two sums from this many rows on.
MANY_ROWS = 20_000
# The covariances of more classes than this take more room than they are worth.
MOST_CLASSES = 32
# A count expected below this is drawn as a binomial one.
SMALL_COUNT = 50.0
# Drawn matrices are held this many entries at a time (64 MiB).
_MOST_ENTRIES = 2**23


def many_rows(summary: Summary) -> bool:
    """Tell whether counts are drawn from their moments, and not label by label."""
    # A fractional weight is no number of labels, so its counts have another variance.
    return (
        summary.counted
        and len(summary.proba) >= MANY_ROWS
        and summary.proba.shape[1] <= MOST_CLASSES
    )


def labels_drawn(
    summary: Summary, prediction: IntArray, n_draws: int, seed: int
) -> Iterator[FloatArray]:
    """Give confusion matrices of drawn labels, one for each draw.

    A row of whole weight w is w independent labels; a fractional remainder is one label of that
    weight.
    """
    if many_rows(summary):
        nobody = np.zeros(len(prediction), dtype=np.bool_)
        everyone, _ = moments(summary, prediction, nobody)
        yield from everyone.drawn(n_draws, np.random.default_rng(seed))
        return
    weight = np.empty(0) if summary.weight is None else summary.weight
    most = max(1, _MOST_ENTRIES // summary.proba.shape[1] ** 2)
    for first in range(0, n_draws, most):
        last = min(first + most, n_draws)
        yield from confusion_draws(summary.proba, prediction, weight, seed, first, last)


@dataclass(frozen=True, eq=False)
class Moments:
    """The distribution of a confusion matrix of unknown labels.

    Parameters
    ----------
    mean : ndarray of shape (n_classes, n_classes)
        Expected counts of true class (row) and predicted class (column).
    squares : ndarray of shape (n_classes, n_classes, n_classes)
        For each predicted class the sum of ``p p'`` over its rows.
    """

    mean: FloatArray
    squares: FloatArray

    def drawn(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        """Draw confusion matrices.

        Of the rows predicted j, the counts of labels have the mean ``sum p`` and the covariance
        ``diag(sum p) - sum p p'``.
        """
        n_classes = len(self.mean)
        drawn = np.zeros((n_draws, n_classes, n_classes))
        for j in range(n_classes):
            mean = self.mean[:, j]
            if mean.sum() <= 0:
                continue
            covariance = np.diag(mean) - self.squares[j]
            values, vectors = np.linalg.eigh(covariance)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            noise = rng.standard_normal((n_draws, n_classes)) @ root.T
            counts = np.maximum(mean + noise, 0.0)
            for i in np.flatnonzero((mean < SMALL_COUNT) & (mean > 0)):
                counts[:, i] = _small_counts(mean[i], covariance[i, i], noise[:, i])
            # Every row has one label, so the counts of a column add up to its rows.
            total = counts.sum(axis=1, keepdims=True)
            drawn[:, :, j] = counts * (mean.sum() / np.where(total > 0, total, 1.0))
        return drawn


def moments(summary: Summary, prediction: IntArray, withheld: Mask) -> tuple[Moments, Moments]:
    """Return the moments of what is kept and of what is withheld, in one pass."""
    weight = np.empty(0) if summary.weight is None else summary.weight
    sums, squares = confusion_moments(summary.proba, prediction, weight, withheld)
    return Moments(sums[0], squares[0]), Moments(sums[1], squares[1])


def _small_counts(mean: float, variance: float, noise: FloatArray) -> FloatArray:
    """Return whole counts at the same quantiles as normal noise of this variance has."""
    spread = np.sqrt(max(variance, 1e-300))
    quantile = ndtr(noise / spread)
    counts = np.arange(int(mean + 12 * np.sqrt(mean) + 20))
    excess = mean - variance
    if excess > 1e-9 * mean:
        n = max(round(mean**2 / excess), 1)
        reached = bdtr(np.minimum(counts, n), n, min(mean / n, 1.0))
    else:
        reached = pdtr(counts, mean)
    found: FloatArray = np.searchsorted(reached, quantile).astype(np.float64)
    return found
