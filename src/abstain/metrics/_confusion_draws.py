"""Confusion matrices of unknown labels of few classes, drawn from the probabilities.

Few rows: a label for every row and draw. Many: from the mean and the covariance of the counts,
which two sums over the rows give; where a count is small it is drawn from a binomial
distribution of the same mean and variance, since it is far from normal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, ndtr, pdtr

from abstain._inputs import FloatArray, IntArray, Mask
from abstain._kernels.confusion import confusion_moments
from abstain._kernels.label_draws import confusion_draws
from abstain.summaries import BatchSummary, LabelledReplicates, Moves

# Label by label takes about as long as the two sums from this many rows on.
MANY_ROWS = 20_000
# The covariances of more classes than this take more room than they are worth.
MOST_CLASSES = 32
# A count expected below this is drawn as a binomial one.
SMALL_COUNT = 50.0
# A count expected below this never comes true, and what it moves by could be no number.
_LEAST_COUNT = 1e-200
# Drawn matrices, and moved probabilities, are held this many entries at a time (64 MiB).
_MOST_ENTRIES = 2**23
# Rows of each predicted column on which it is found how its counts move, and all their numbers.
_MOST_MOVED, _FEWEST_MOVED = 512, 16
_MOST_NUMBERS = 2**21
# Up to so many groups of rows, sums over them are a product of matrices.
_FEW_GROUPS = 24


def many_rows(summary: BatchSummary) -> bool:
    """Tell whether counts are drawn from their moments, and not label by label."""
    weight = summary.weight
    # A fractional weight is no number of labels, so its counts have another variance.
    whole = summary.counted or weight is None or bool((weight % 1 == 0).all())
    many = len(summary.proba) >= MANY_ROWS
    return whole and many and summary.proba.shape[1] <= MOST_CLASSES


def labels_drawn(
    summary: BatchSummary, prediction: IntArray, n_draws: int, seed: int
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


def moments(
    summary: BatchSummary, prediction: IntArray, withheld: Mask
) -> tuple[Moments, Moments]:
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
    return np.asarray(np.searchsorted(reached, quantile).astype(np.float64))


def drawn_counts(
    summary: BatchSummary, prediction: IntArray, withheld: Mask, n_draws: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return drawn confusion matrices of what is kept, and of what is withheld."""
    if many_rows(summary):
        rng = np.random.default_rng(seed)
        kept, out = (part.drawn(n_draws, rng) for part in moments(summary, prediction, withheld))
        return kept, out
    n_classes = summary.proba.shape[1]
    parts = []
    for k, chosen in enumerate((~withheld, withheld)):
        if chosen.any():
            draws = labels_drawn(summary.only(chosen), prediction[chosen], n_draws, seed + k)
            parts.append(np.stack([*draws]))
        else:
            parts.append(np.zeros((n_draws, n_classes, n_classes)))
    return parts[0], parts[1]


def moved_shares(
    summary: BatchSummary, prediction: IntArray, withheld: Mask, moves: Moves
) -> tuple[FloatArray, FloatArray]:
    """Return by what factor each move changes the expected counts, of the kept and the withheld.

    Found on some rows of each predicted column, which tell how the rest moves.
    """
    n_classes = summary.proba.shape[1]
    group = prediction + n_classes * withheld
    rows, weight = _some_of_each(group, summary.weight, 2 * n_classes, len(moves) * n_classes)
    proba = np.ascontiguousarray(summary.proba[rows])
    sums = _GroupSums(group[rows], 2 * n_classes)
    then = sums.of(proba.T * weight)
    now = np.stack([sums.of(one * weight) for one in _by_class(moves.of(proba))], axis=1)
    factor = np.divide(now, then, out=np.ones_like(now), where=then > _LEAST_COUNT)
    return factor[..., :n_classes], factor[..., n_classes:]


def moved_counts(drawn: FloatArray, factor: FloatArray) -> FloatArray:
    """Return drawn confusion matrices with moved probabilities; rows keep their predictions."""
    moved = drawn * factor
    total, was = moved.sum(axis=1, keepdims=True), drawn.sum(axis=1, keepdims=True)
    return np.asarray(moved * np.divide(was, total, out=np.ones_like(total), where=total > 0))


def labelled_confusions(
    labelled: LabelledReplicates, prediction: IntArray, withheld: Mask
) -> tuple[FloatArray, FloatArray]:
    """Return observed and expected confusion matrices of labelled rows.

    Each of shape (2, n_replicates, n_classes, n_classes): of the kept, and of the withheld.
    """
    n_classes = labelled.proba.shape[1]
    group = prediction + n_classes * withheld
    sums = _GroupSums(group, 2 * n_classes)
    shape = (len(labelled.weight), 2, n_classes)
    observed, expected = [], []
    for i, believed in enumerate(_by_class(labelled.believed)):
        own = labelled.codes == i
        counts = _GroupSums(group[own], 2 * n_classes).of(labelled.weight[:, own])
        observed.append(counts.reshape(shape))
        expected.append(sums.of(labelled.weight * believed).reshape(shape))
    return tuple(np.stack(side, axis=2).transpose(1, 0, 2, 3) for side in (observed, expected))  # type: ignore[return-value]


class _GroupSums:
    """Sums over the rows of each group, of arrays whose last axis is the rows.

    Few groups: one product of matrices. Of many it would be all but zeros, and each row is added
    to its own group instead.
    """

    def __init__(self, group: IntArray, n_groups: int) -> None:
        self._n_groups = n_groups
        self._member: FloatArray | None = None
        if n_groups <= _FEW_GROUPS:
            self._member = np.zeros((len(group), n_groups))
            self._member[np.arange(len(group)), group] = 1.0
        self._order = np.argsort(group, kind="stable")
        ordered = group[self._order]
        self._starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        self._present = ordered[self._starts]

    def of(self, values: FloatArray) -> FloatArray:
        if self._member is not None:
            return values @ self._member
        sums = np.zeros((*values.shape[:-1], self._n_groups))
        if len(self._present):
            sums[..., self._present] = np.add.reduceat(
                values[..., self._order], self._starts, axis=-1
            )
        return sums


def _by_class(moved: FloatArray) -> list[FloatArray]:
    """Return moved probabilities class by class; of two only the positive one's are held."""
    if moved.ndim == 2:
        return [1 - moved, moved]
    return [moved[..., i] for i in range(moved.shape[2])]


def _some_of_each(
    group: IntArray, weight: FloatArray | None, n_groups: int, entries: int
) -> tuple[IntArray, FloatArray]:
    """Return some rows of each group, evenly spaced, and the weight each stands for."""
    most = _MOST_NUMBERS // max(entries, 1) // n_groups
    most = min(max(most, _FEWEST_MOVED), _MOST_MOVED)
    order = np.argsort(group.astype(np.uint16), kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=n_groups))
    rows, weights = [], []
    for begin, end in zip(np.append(0, ends[:-1]), ends, strict=True):
        if begin == end:
            continue
        part = order[begin : end : max(-(-(end - begin) // most), 1)]
        counts = np.ones(len(part)) if weight is None else weight[part]
        whole = float(end - begin) if weight is None else float(weight[order[begin:end]].sum())
        if counts.any():
            rows.append(part)
            weights.append(counts * (whole / counts.sum()))
    return np.concatenate(rows), np.concatenate(weights)
