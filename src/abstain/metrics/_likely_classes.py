"""Labels of very many classes, drawn for each row from the few that are likely.

A row of a thousand classes has nearly all of its probability in a handful. These are moved and
drawn one by one, and all others together: time and memory grow with the rows, not with rows times
classes, nor with the square of the classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._pieces import over_rows
from abstain._kernels.atoms import generator, labels_of
from abstain._numerics import one_blas_thread
from abstain.summaries import BatchSummary, Moves

# What all unlikely classes of a row have together, on average over some rows.
_UNLIKELY = 0.01
_SOME_ROWS = 512
# More than this share of the classes are as well all of them.
_MOST = 0.5
_SMALLEST = np.finfo(np.float64).eps
# Labels that are held at a time; and numbers that are sorted at a time.
_LABELS = 2**21
_AT_A_TIME = 2**18


class Labels(NamedTuple):
    """Labels of one draw.

    Attributes
    ----------
    rows, codes : ndarray of shape (n_labels,)
        Of which row each is, and its class.
    weight : ndarray of shape (n_labels,) or None
        How much it counts; None for once.
    """

    rows: IntArray
    codes: IntArray
    weight: FloatArray | None


@dataclass(frozen=True, eq=False)
class LikelyClasses:
    """Rows with their likely classes, in the order of the columns, and what the others have.

    Parameters
    ----------
    proba : ndarray of shape (n, n_classes)
        All probabilities, from which an unlikely class is drawn.
    weight : ndarray of shape (n,) or None
    columns : ndarray of shape (n_likely, n)
        The likely classes of each row.
    likely : ndarray of shape (n_likely, n)
        Their probabilities.
    """

    proba: FloatArray
    weight: FloatArray | None
    columns: IntArray
    likely: FloatArray

    @classmethod
    def of(cls, summary: BatchSummary) -> Self:
        """Find the likely classes of each row: of all rows equally many."""
        proba, weight = summary.proba, summary.weight
        n, k = proba.shape
        some = -np.sort(-proba[:: max(n // _SOME_ROWS, 1)], axis=1)
        left = 1 - np.cumsum(some, axis=1).mean(axis=0)
        most = int(np.argmax(left <= _UNLIKELY)) + 1 if (left <= _UNLIKELY).any() else k
        if most > _MOST * k or weight is not None:
            # Of rows that count as many, each label may be another unlikely class.
            return cls(proba, weight, np.tile(np.arange(k)[:, None], n), np.array(proba.T))
        columns, likely = np.empty((most, n), dtype=np.intp), np.empty((most, n))

        def fill(begin: int, end: int) -> None:
            part = proba[begin:end]
            best = np.sort(np.argpartition(part, k - most, axis=1)[:, k - most :], axis=1)
            columns[:, begin:end] = best.T
            likely[:, begin:end] = np.take_along_axis(part, best, axis=1).T

        over_rows(fill, n, size=max(_AT_A_TIME // k, 1))
        return cls(proba, None, columns, likely)

    def drawn(self, moves: Moves, seed: int) -> Iterator[Labels]:
        """Give labels drawn from the moved probabilities, once for each move."""
        n, k = self.proba.shape
        undoing = moves.undoing
        with one_blas_thread():
            total = self.proba @ undoing
        source = self.likely * undoing[self.columns] / total
        logs = np.log(np.maximum(source, _SMALLEST))
        rest = None
        if len(source) < k:
            rest = np.log(np.maximum(1 - source.sum(axis=0), _SMALLEST))
        bias = moves.bias + np.log(np.maximum(moves.ratios, _SMALLEST))
        size = max(_LABELS // max(n, 1), 1)
        found: list[Labels | None] = [None] * min(size, len(moves))
        for first in range(0, len(moves), size):
            last = min(first + size, len(moves))

            def fill(begin: int, end: int, first: int = first) -> None:
                for draw in range(first + begin, first + end):
                    slope = moves.slope[draw]
                    shares = slope[self.columns] * logs
                    shares += bias[draw][self.columns]
                    if rest is not None:
                        # They move as a class does on average.
                        other = slope.mean() * rest + bias[draw].mean()
                        shares = np.vstack([shares, other])
                    np.exp(shares, out=shares)
                    found[draw - first] = self._labels(shares, generator(seed, draw))

            over_rows(fill, last - first, size=1)
            for one in found[: last - first]:
                if one is not None:
                    yield one

    def _labels(self, shares: FloatArray, rng: np.random.Generator) -> Labels:
        """Draw labels by what the likely classes have, and last all others; in proportion."""
        rows = np.arange(shares.shape[1])
        if self.weight is None:
            place = _places(shares, rng)
            codes = self.columns[np.minimum(place, len(self.columns) - 1), rows]
            beyond = np.flatnonzero(place == len(self.columns))
            if len(beyond):
                codes[beyond] = self._unlikely(beyond, rng)
            return Labels(rows, codes, None)
        whole, part = labels_of(self.weight)
        counts = rng.multinomial(whole.astype(np.int64), (shares / shares.sum(axis=0)).T)
        of, codes = np.nonzero(counts)
        place = _places(shares, rng)
        return Labels(
            np.append(of, rows),
            np.append(codes, place),
            np.append(counts[of, codes], part),
        )

    def _unlikely(self, rows: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw for each row a class that is not among its likely ones."""
        proba = self.proba[rows]
        np.put_along_axis(proba, self.columns[:, rows].T, 0.0, axis=1)
        reached = np.cumsum(proba, axis=1)
        wanted = rng.random(len(rows)) * reached[:, -1]
        found = (reached <= wanted[:, None]).sum(axis=1)
        return np.asarray(np.minimum(found, proba.shape[1] - 1))


def _places(shares: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw a place in each column, in proportion to what is there; sums take its place."""
    np.cumsum(shares, axis=0, out=shares)
    wanted = rng.random(shares.shape[1]) * shares[-1]
    place = np.zeros(shares.shape[1], dtype=np.intp)
    for reached in shares[:-1]:
        place += wanted >= reached
    return place
