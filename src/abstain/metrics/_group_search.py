"""Groups of similar examples for sampled metrics with more than two classes.

The examples of each predicted class are halved again and again at the median of the class
probability that spreads most, like the leaves of a k-d tree: about equally heavy boxes of
probability vectors, as data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain.regions import Box, ProbabilityBoxes
from abstain.rules import Argmax
from abstain.summaries import WEIGHT_TOLERANCE

__all__ = ["ProbabilityGroups"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class _Leaf:
    """Some rows, and the box of probability vectors that holds them and no others."""

    rows: IntArray
    box: Box
    weight: float


class ProbabilityGroups:
    """A batch cut into groups, and how much of it is withheld so far.

    Parameters
    ----------
    proba : ndarray of shape (n, n_classes)
    sample_weight : ndarray of shape (n,) or None
    n_groups : int
        About how many groups; at least one for each predicted class.
    """

    def __init__(self, proba: FloatArray, sample_weight: FloatArray | None, n_groups: int) -> None:
        self._proba = proba
        self._weight = np.ones(len(proba)) if sample_weight is None else sample_weight
        self._leaves = self._grown(n_groups)
        self.withheld: Mask = np.zeros(len(proba), dtype=np.bool_)
        self._boxes: list[Box] = []

    def left(self) -> list[int]:
        """Return the groups that are not withheld, in whole or in part."""
        return [g for g, leaf in enumerate(self._leaves) if not self.withheld[leaf.rows].any()]

    def weight_of(self, group: int) -> float:
        """Return the weight of a group."""
        return self._leaves[group].weight

    def kept_without(self, group: int) -> Mask:
        """Return which rows are kept when a group is withheld too."""
        kept: Mask = ~self.withheld
        kept[self._leaves[group].rows] = False
        return kept

    def total(self) -> float:
        """Return the weight withheld."""
        return float(self._weight[self.withheld].sum())

    def withhold(self, group: int, capacity: float) -> None:
        """Withhold of a group what fits, the least confident first, equals together."""
        leaf = self._leaves[group]
        confidence = self._proba[leaf.rows, leaf.box.column]
        values, reached = _cumulated(confidence, self._weight[leaf.rows])
        room = capacity + WEIGHT_TOLERANCE * float(self._weight.sum())
        fits = np.count_nonzero(reached <= room - self.total())
        if fits == 0:
            return
        box = leaf.box.halved(leaf.box.column, float(values[fits - 1]))[0]
        self.withheld[leaf.rows[confidence <= values[fits - 1]]] = True
        self._boxes.append(box)

    def region(self) -> ProbabilityBoxes:
        """Return what is withheld, as data."""
        return ProbabilityBoxes(tuple(self._boxes))

    def _grown(self, n_groups: int) -> list[_Leaf]:
        """Halve the heaviest leaf until there are enough."""
        prediction = Argmax().predict(self._proba)
        n_classes = self._proba.shape[1]
        leaves = [
            self._leaf(np.flatnonzero(prediction == j), Box.whole(int(j), n_classes))
            for j in np.unique(prediction)
        ]
        done: list[_Leaf] = []
        while leaves and len(leaves) + len(done) < n_groups:
            heaviest = max(range(len(leaves)), key=lambda index: leaves[index].weight)
            leaf = leaves.pop(heaviest)
            halves = self._halves(leaf)
            if halves is None:
                done.append(leaf)
            else:
                leaves.extend(halves)
        return [leaf for leaf in done + leaves if leaf.weight > 0]

    def _leaf(self, rows: IntArray, box: Box) -> _Leaf:
        return _Leaf(rows, box, float(self._weight[rows].sum()))

    def _halves(self, leaf: _Leaf) -> tuple[_Leaf, _Leaf] | None:
        """Cut a leaf at the median of the probability that spreads most; None if all equal."""
        inside = self._proba[leaf.rows]
        column = int(np.argmax(np.var(inside, axis=0)))
        values, reached = _cumulated(inside[:, column], self._weight[leaf.rows])
        if len(values) < 2:
            return None
        at = int(np.searchsorted(reached, reached[-1] / 2))
        cut = float(values[min(at, len(values) - 2)])
        below = inside[:, column] <= cut
        low, high = leaf.box.halved(column, cut)
        return self._leaf(leaf.rows[below], low), self._leaf(leaf.rows[~below], high)


def _cumulated(values: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct values in order, and the weight up to and including each."""
    distinct, atom = np.unique(values, return_inverse=True)
    reached: FloatArray = np.cumsum(np.bincount(atom, weights=weight))
    return distinct, reached
