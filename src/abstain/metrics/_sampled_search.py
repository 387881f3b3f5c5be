"""What to withhold for a sampled metric: the best window of p, or the best groups of examples.

Two classes follow the paper's windows in the order of p, coarse to fine in place of all starts.
More classes follow its marginal idea, with groups of similar examples in place of single ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain._logs import logger
from abstain._numerics import progress_bar
from abstain.regions import Box, Interval, ProbabilityBoxes
from abstain.rules import Argmax
from abstain.summaries import WEIGHT_TOLERANCE

if TYPE_CHECKING:
    from abstain.metrics._sampled_metric import SampledLabels

# Windows compared at each of the levels from coarse to fine, and the levels at most.
_STARTS = 25
_LEVELS = 3
# Rounds in which groups are filled; the effects are estimated anew in each.
_ROUNDS = 6
# A search expected to take longer than this says so first.
_LONG_SECONDS = 60.0

_logger = logger("metrics")


@dataclass(frozen=True)
class SearchTime:
    """How much work a search is: calls of the function, and seconds in all, estimated."""

    calls: int
    seconds: float


@dataclass(frozen=True)
class SampledSearch:
    """A search for what to withhold, on average over label vectors.

    Parameters
    ----------
    labels : SampledLabels
        The batch, and the function of its labels.
    n_samples : int
        How many label vectors.
    n_groups : int
        For more than two classes, into how many groups the batch is cut.
    sign : float
        1 where larger values are better, else -1.
    progress : bool
        Whether a short search shows a progress bar too.
    """

    labels: SampledLabels
    n_samples: int
    n_groups: int
    sign: float
    progress: bool

    @property
    def _binary(self) -> bool:
        return bool(self.labels.proba.shape[1] == 2)

    def time(self) -> SearchTime:
        """Estimate the work from one call of the function, after one to warm up."""
        self.labels.values(1, 0)
        start = time.perf_counter()
        self.labels.values(1, 0)
        once = time.perf_counter() - start
        candidates = _STARTS * _LEVELS if self._binary else self.n_groups * _ROUNDS
        calls = self.n_samples * candidates
        return SearchTime(calls=calls, seconds=calls * once)

    def region(self, capacity: float, seed: int) -> Interval | ProbabilityBoxes:
        """Return what to withhold: an interval of p for two classes, else groups."""
        return (self._window if self._binary else self._groups)(capacity, seed)

    def _window(self, capacity: float, seed: int) -> Interval:
        """Return the interval of p whose withholding is best."""
        values, atom = np.unique(self.labels.proba[:, 1], return_inverse=True)
        weight = np.bincount(atom, weights=self.labels.sample_weight)
        reached = np.append(0.0, np.cumsum(weight))
        # The window from each atom on: as many atoms as fit, so ties are never split.
        room = capacity + WEIGHT_TOLERANCE * float(reached[-1])
        stops = np.searchsorted(reached, reached[:-1] + room, side="right") - 1
        if weight.min() > room:
            return Interval.empty()
        low, high = 0, int(np.argmax(stops == stops.max()))
        best = low
        with self._advancing() as advance:
            for _ in range(_LEVELS):
                starts = np.unique(np.linspace(low, high, _STARTS).round().astype(int))
                kept = [(atom < start) | (atom >= stops[start]) for start in starts]
                means = self.sign * self.labels.means(kept, self.n_samples, seed, advance)
                # The first of the best, undefined ones last.
                at = int(np.argmax(np.nan_to_num(means, nan=-np.inf)))
                best = int(starts[at])
                low, high = int(starts[max(at - 1, 0)]), int(starts[min(at + 1, len(starts) - 1)])
                if high - low < 2:
                    break
        if stops[best] <= best:
            return Interval.empty()
        return Interval(lower=float(values[best]), upper=float(values[stops[best] - 1]))

    def _groups(self, capacity: float, seed: int) -> ProbabilityBoxes:
        """Return the groups whose withholding is best, filled greedily.

        In each round the effect of withholding each remaining group is estimated on what is kept;
        the best per weight are withheld until the round's share of the capacity is used. A group
        that does not fit the capacity is withheld in part, the least confident first.
        """
        labels = self.labels
        groups = ProbabilityGroups(labels.proba, labels.sample_weight, self.n_groups)
        with self._advancing() as advance:
            for part in range(1, _ROUNDS + 1):
                left = groups.left()
                if not left:
                    break
                kept = [~groups.withheld, *map(groups.kept_without, left)]
                means = self.sign * labels.means(kept, self.n_samples, seed, advance)
                worth = (means[1:] - means[0]) / [groups.weight_of(g) for g in left]
                share = capacity * part / _ROUNDS
                for at in np.argsort(-np.nan_to_num(worth, nan=-np.inf), kind="stable"):
                    if groups.total() >= share:
                        break
                    groups.withhold(left[at], capacity)
        return groups.region()

    @contextmanager
    def _advancing(self) -> Iterator[Callable[[], None]]:
        """Say first when a search will be long; yield what to call after each evaluation."""
        work = self.time()
        long = work.seconds > _LONG_SECONDS
        if long:
            _logger.warning(
                "The search calls the metric up to %d times, about %.0f s. Fewer n_samples are "
                "faster; progress=True shows a bar.",
                work.calls,
                work.seconds,
            )
        # Nobody should wait for minutes before a terminal that says nothing.
        show = self.progress or (None if long else False)
        with progress_bar(work.calls, f"about {work.seconds:.0f} s", show=show) as advance:
            yield advance


@dataclass(frozen=True)
class _Leaf:
    """Some rows, and the box of probability vectors that holds them and no others."""

    rows: IntArray
    box: Box
    weight: float


class ProbabilityGroups:
    """A batch cut into groups of similar examples, and how much of it is withheld so far.

    The examples of each predicted class are halved again and again at the median of the class
    probability that spreads most, like the leaves of a k-d tree: about equally heavy boxes of
    probability vectors, as data.

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
