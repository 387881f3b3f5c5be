"""Cells of scores in which rows of validation data and batch are counted."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._numerics import first_of_kind, highest_of_rows
from abstain.summaries import BatchSummary, LabelledSummary

# Cells: at most, and rows that each should have.
_MOST_CELLS = 24
# Classes that have cells of their own; of more, as many neighbours share theirs as it takes.
MOST_PARTS = 128
_ROWS_PER_CELL = 10
# Where between two kinds of rows a cut lies: not where a grid of scores would have one more.
_GOLDEN = 0.6180339887498949
_MOST_SORTED = 65_536
# Scores are compared in steps of this much of the log-odds, up to so many steps.
_STEP = 0.5
_FARTHEST = 40
_SMALLEST = 1e-12
# Steps of the table that tells the cells of many rows of two classes.
_STEPS = 4_096
# Bins of two classes: of this width; below this probability so many, as a power of two, in each
# halving; and one below this.
_BIN, _ENDS, _PER_HALVING, _LAST = 2.0**-16, 2.0**-7, 10, 2.0**-40


@dataclass(frozen=True, eq=False)
class Cells:
    """Where scores are counted: the likeliest class, and a range of its probability.

    Cut on validation rows alone; the cuts lie in gaps between them. More than 128 classes share
    cells with their neighbours.

    Parameters
    ----------
    cuts : tuple of ndarray
        Of each class, where the probability of rows that it is likeliest for is cut. Of two
        classes one array cuts the probability of the positive one.
    first : ndarray of int
        The number of the first cell of each of these, and how many cells there are.
    part : ndarray of shape (n_classes,)
        Which classes share their cells: neighbours in the order of the columns, of very many.
    """

    cuts: tuple[FloatArray, ...]
    first: IntArray
    part: IntArray

    @classmethod
    def of(cls, source: LabelledSummary) -> Cells:
        """Return cells of about evenly many validation rows of each likeliest class."""
        proba, k = source.proba, source.proba.shape[1]
        weight = source.counts
        best, top = highest_of_rows(proba)
        n_parts = min(k, MOST_PARTS)
        part = np.arange(k) * n_parts // k
        best = part[best]
        here = [np.flatnonzero(best == j) for j in range(n_parts)]
        heavy = np.array([weight[rows].sum() for rows in here])
        most = max(_MOST_CELLS, 2 * n_parts) / max(np.count_nonzero(heavy), 1)
        parts = np.clip(np.minimum(heavy / _ROWS_PER_CELL, most), 1, None).astype(int)
        value = proba[:, 1] if k == 2 else top
        # Rows were joined by how sure they are, of two classes at both ends of the scale.
        mirrored = (1 - source.edges, source.edges) if k == 2 else (source.edges,) * n_parts
        cuts = [
            _quantile_cuts(value[rows], weight[rows], int(n), edges)
            for rows, n, edges in zip(here, parts, mirrored, strict=True)
        ]
        if k == 2:
            between = np.empty(0)
            if len(here[0]) and len(here[1]):
                low, high = value[here[0]].max(), value[here[1]].min()
                between = np.array([low + _GOLDEN * (high - low)])
            cuts = [_between_bins(np.concatenate([cuts[0], between, cuts[1]]))]
        return cls(tuple(cuts), np.cumsum([0, *(len(cut) + 1 for cut in cuts)]), part)

    def __len__(self) -> int:
        return int(self.first[-1])

    def names(self, classes: Sequence[Any]) -> list[str]:
        """Say of each cell what it holds."""
        parts: list[tuple[Any, FloatArray]] = [
            (name, np.array([0.0, *cut, 1.0]))
            for name, cut in zip(classes, self.cuts, strict=False)
        ]
        if len(self.cuts) == 1:
            edges = parts[0][1]
            # The cut between the two classes is the one nearest to 1/2.
            middle = int(np.abs(edges - 0.5).argmin())
            parts = [(classes[0], 1 - edges[: middle + 1]), (classes[1], edges[middle:])]
        return [
            f"predicted class {name} with probability {min(ends):.2f} to {max(ends):.2f}"
            for name, edges in parts
            for ends in itertools.pairwise(edges)
        ]

    def counts(self, batch: BatchSummary) -> FloatArray:
        """Return the weight of a batch in each cell."""
        proba, weight = batch.one_by_one
        return np.bincount(self.number(proba), weight, len(self)).astype(np.float64)

    def by_part(self, columns: FloatArray) -> FloatArray:
        """Return sums of what there is of each class, in the last axis, over those of a part."""
        if len(self.part) <= MOST_PARTS:
            return columns
        starts = np.flatnonzero(np.diff(self.part, prepend=-1))
        return np.asarray(np.add.reduceat(columns, starts, axis=-1))

    def number(self, proba: FloatArray) -> IntArray:
        """Return the cell of each row, of two classes by the positive one if that is all."""
        if len(self.cuts) == 1:
            p = proba if proba.ndim == 1 else proba[:, 1]
            # By a table of narrow steps; what is in a step with a cut is compared with it.
            steps = np.searchsorted(self.cuts[0], np.arange(_STEPS + 1) / _STEPS, side="right")
            step = np.minimum((p * _STEPS).astype(np.intp), _STEPS - 1)
            found: IntArray = steps[step]
            near = np.flatnonzero(steps[step + 1] != found)
            found[near] = np.searchsorted(self.cuts[0], p[near], side="right")
            return found
        best, top = highest_of_rows(proba)
        best = self.part[best]
        cell = self.first[best]
        for j, cuts in enumerate(self.cuts):
            if len(cuts):
                rows = np.flatnonzero(best == j)
                cell[rows] += np.searchsorted(cuts, top[rows])
        return cell


def share_unseen(source: LabelledSummary, rows: FloatArray, weight: FloatArray) -> float:
    """Return the share of a batch that scores where no validation row does, nor near.

    Parameters
    ----------
    source : LabelledSummary
    rows : ndarray of shape (n, n_classes)
        Rows of the batch that stand for all.
    weight : ndarray of shape (n,)

    Notes
    -----
    Scores are the log-odds of the likeliest class, of two classes on either side; a row is near
    another within about one. With V validation rows near, a row is unseen to the degree
    ``exp(-V)``.
    """
    then = _spread_out(source.proba, source.counts)
    now = _spread_out(rows, weight)
    near = then.copy()
    near[:, 1:] += then[:, :-1]
    near[:, :-1] += then[:, 1:]
    return float((now * np.exp(-near)).sum() / now.sum())


def _spread_out(proba: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the weight at each step of the log-odds, a row's on the two that it is between."""
    best, top = highest_of_rows(proba)
    odds = np.log(np.maximum(top, _SMALLEST) / np.maximum(1 - top, _SMALLEST))
    # Of many classes the likeliest may be improbable.
    place = np.clip(odds / _STEP + _FARTHEST / 4, 0.0, _FARTHEST + _FARTHEST / 4)
    side = best if proba.shape[1] == 2 else np.zeros_like(best)
    size = _FARTHEST + _FARTHEST // 4 + 2
    below = place.astype(np.intp)
    found = np.zeros(2 * size)
    for step, part in ((below, 1 - (place - below)), (below + 1, place - below)):
        found += np.bincount(side * size + step, weights=weight * part, minlength=2 * size)
    return found.reshape(2, size)


def _quantile_cuts(
    values: FloatArray, weight: FloatArray, n: int, allowed: FloatArray
) -> FloatArray:
    """Return cuts into about n parts of equal weight, each in a gap between kinds of rows.

    Found by weight alone, so no last digit of a value moves a cut to another gap. Of compact data
    the gaps are those between which rows were joined.
    """
    if n < 2:
        return np.empty(0)
    stride = -(-len(values) // _MOST_SORTED)
    values, weight = values[::stride], weight[::stride]
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    begin = np.flatnonzero(first_of_kind(ordered))[1:]
    if not len(begin):
        return np.empty(0)
    below = np.cumsum(weight[order])
    # A little off, as a part's end may be exactly as far from two gaps.
    wanted = (np.arange(1, n) + 1e-6) / n * below[-1]
    at = np.searchsorted(below[begin - 1], wanted).clip(0, len(begin) - 1)
    before = np.maximum(at - 1, 0)
    nearer = wanted - below[begin - 1][before] < below[begin - 1][at] - wanted
    gaps = np.unique(begin[np.where(nearer, before, at)])
    cuts: FloatArray = ordered[gaps - 1] + _GOLDEN * (ordered[gaps] - ordered[gaps - 1])
    if len(allowed):
        cuts = np.unique(allowed[np.abs(allowed - cuts[:, None]).argmin(axis=1)])
    return cuts


def _between_bins(cuts: FloatArray) -> FloatArray:
    """Return cuts where summaries in bins have an edge too, so that they count as rows do."""
    nearer = np.minimum(cuts, 1 - cuts)
    # Towards the ends their bins are as many in each halving, and the last of them is whole.
    halving = np.floor(np.log2(np.maximum(nearer, _LAST)))
    step = np.where(nearer < _ENDS, 2.0 ** (halving - _PER_HALVING), _BIN)
    step = np.where(nearer < _LAST, _LAST, step)
    nearer = np.rint(nearer / step) * step
    return np.unique(np.where(cuts > 0.5, 1 - nearer, nearer)[nearer > 0])
