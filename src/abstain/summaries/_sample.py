"""What is kept of rows of more than two classes: all of them, or some and sums over all.

Every row has a number by its entries alone, and those with the least numbers are kept (bottom-k
sampling: Cohen and Kaplan, 2007; with weights, priority sampling: Duffield, Lund and Thorup,
2007). Which these are hangs neither on the order of the rows nor on the parts they come in. Beside
them stand sums over all rows, in whole numbers: of each predicted class the moments of the
probabilities. Where rows were left out, those kept are weighted so that they have these very
moments (a calibration estimator: Deville and Särndal, 1992), which leaves little to chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.label_draws import row_numbers
from abstain._numerics import one_blas_thread
from abstain.summaries._bins import LARGEST, UNIT, FixedWeights, carried
from abstain.summaries._summary import RowSummary

# At most so many rows are kept, and numbers in them.
_MOST_ROWS = 2**19
_MOST_NUMBERS = 10 * _MOST_ROWS
#: Moments are of probabilities in whole steps of one over this.
STEPS = 4096
# Up to so many classes also of the products of any two.
_MOST_SQUARED = 16
#: The seed of the numbers of rows.
SAMPLE_SEED = 0x5EED
# A row's weight may be changed by this factor at most.
_FARTHEST = 8.0
# Moments are matched where there are at least so many rows to each.
_ROWS_A_MOMENT = 4


def most_rows(n_classes: int) -> int:
    """Return how many rows of so many classes are kept at most."""
    return min(_MOST_ROWS, _MOST_NUMBERS // n_classes)


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows with the least numbers, and sums over all rows.

    Parameters
    ----------
    numbers : ndarray of shape (size,)
        Ascending: the number of each row that is kept.
    rows : ndarray of shape (size, n_classes)
        Their probabilities.
    weight : ndarray of shape (size,) or None
        Of one such row; None for 1.
    count : ndarray of int, shape (size,)
        How many rows are like this one.
    edge : float
        All rows with numbers below it are kept; infinite where all are.
    moments : ndarray of int, shape (1 or 2, 2 * n_classes, n_moments)
        Of the rows of each predicted class, and of those that are sure of it, the sum of their
        moments; with weights that are no whole numbers the same of what is left of them.
    """

    numbers: FloatArray
    rows: FloatArray
    weight: FloatArray | None
    count: IntArray
    edge: float
    moments: IntArray

    @classmethod
    def of(cls, proba: FloatArray, weight: FixedWeights | None) -> Self:
        """Return the sample of rows."""
        if weight is not None:
            there = (weight.whole > 0) | (weight.part > 0)
            proba = proba[there]
            weight = FixedWeights(weight.whole[there], weight.part[there])
        values = None if weight is None else weight.values
        moments = _moments(proba, weight)
        keyed = proba if values is None else np.column_stack([proba, values])
        numbers = row_numbers(keyed, SAMPLE_SEED)
        if values is not None:
            numbers = numbers / values
        n_classes = proba.shape[1]
        order = np.argsort(numbers, kind="stable")
        whole = cls(
            numbers[order],
            proba[order],
            None if values is None else values[order],
            np.ones(len(proba), dtype=np.int64),
            np.inf,
            moments,
        )
        return whole._shortened(most_rows(n_classes))

    @classmethod
    def gathered(
        cls, numbers: FloatArray, rows: FloatArray, edge: float, moments: IntArray
    ) -> Self:
        """Return the sample of rows that were picked where they are, all below an edge."""
        order = np.argsort(numbers, kind="stable")
        counts = np.ones(len(rows), dtype=np.int64)
        whole = cls(numbers[order], rows[order], None, counts, edge, moments)
        return whole._shortened(most_rows(rows.shape[1]))

    def _shortened(self, most: int) -> Self:
        """Return rows that are alike as one, and no more than so many."""
        new = np.ones(len(self.numbers), dtype=np.bool_)
        np.not_equal(self.numbers[1:], self.numbers[:-1], out=new[1:])
        first = np.flatnonzero(new)
        if len(first) == len(new) <= most:
            return self
        count = self.count if new.all() else np.add.reduceat(self.count, first)
        edge = self.edge if len(first) <= most else float(self.numbers[first[most]])
        first = first[:most]
        return replace(
            self,
            numbers=self.numbers[first],
            rows=self.rows[first],
            weight=None if self.weight is None else self.weight[first],
            count=count[:most],
            edge=edge,
        )

    def merged(self, other: Self) -> Self:
        """Return the sample of both."""
        edge = min(self.edge, other.edge)
        left, right = (one._below(edge) for one in (self, other))
        numbers = np.concatenate([left.numbers, right.numbers])
        order = np.argsort(numbers, kind="stable")
        weighted = left.weight is not None or right.weight is not None
        many, few = sorted((self.moments, other.moments), key=len, reverse=True)
        moments = many.copy()
        moments[: len(few)] += few
        if len(moments) > 1:
            carried(moments[:1], moments[1:])
        joined = replace(
            self,
            numbers=numbers[order],
            rows=np.concatenate([left.rows, right.rows])[order],
            weight=np.concatenate([left._weights, right._weights])[order] if weighted else None,
            count=np.concatenate([left.count, right.count])[order],
            edge=edge,
            moments=moments,
        )
        return joined._shortened(most_rows(self.rows.shape[1]))

    def _below(self, edge: float) -> Self:
        kept = slice(0, int(np.searchsorted(self.numbers, edge)))
        weight = None if self.weight is None else self.weight[kept]
        return replace(
            self,
            numbers=self.numbers[kept],
            rows=self.rows[kept],
            weight=weight,
            count=self.count[kept],
        )

    @property
    def _weights(self) -> FloatArray:
        return np.ones(len(self.rows)) if self.weight is None else self.weight

    def batch(self, n_rows: int, lightest: float, *, counted: bool, ranks: bool) -> RowSummary:
        """Return what the flow works on."""
        weight = self._weights * self.count
        if not np.isfinite(self.edge):
            return RowSummary.standing_for(
                self.rows, weight, n_rows, counted=counted
            ).in_own_order()
        # A row is kept with a chance in proportion to its weight, up to certainty.
        weight = weight / np.minimum(self._weights * self.edge, 1.0)
        rows, weight = self._matched(weight)
        weight *= self.units / UNIT / weight.sum()
        return RowSummary.standing_for(rows, weight, n_rows, counted=counted)

    @property
    def units(self) -> int:
        """The weight of all rows, in units of ``1 / UNIT``."""
        return int(self.moments[0, :, 0].sum()) * UNIT + int(self.moments[1:, :, 0].sum())

    @property
    def _totals(self) -> FloatArray:
        """The weight, then the moments, of each predicted class."""
        sums: FloatArray = self.moments[0].astype(np.float64)
        if len(self.moments) > 1:
            sums += self.moments[1] / UNIT
        return sums

    def _matched(self, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return rows and weights that have the moments of all rows, as far as that is possible.

        A predicted class of which no row is kept is there by the mean of its rows.
        """
        steps, group = _groups(self.rows)
        totals, n_classes = self._totals, self.rows.shape[1]
        rows, weights = [self.rows], weight.copy()
        added = []
        for k in range(2 * n_classes):
            total = totals[k]
            own = np.flatnonzero(group == k)
            if not len(own):
                if total[0] > 0:
                    # Sums of single steps stand first, or are rows of the products' sums.
                    mean = _mean_steps(total, n_classes)
                    rows.append(mean[None] / mean.sum())
                    added.append(total[0])
                continue
            weights[own] = _matching(_features(steps[own]), weights[own], total)
        return np.concatenate(rows), np.concatenate([weights, added])

    @property
    def points(self) -> FloatArray:
        """The rows that edges must stay off."""
        return self.rows

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what there is."""
        arrays: dict[str, NDArray[Any]] = {
            "rows": self.rows,
            "count": self.count,
            "edge": np.array([self.edge]),
            "moments": self.moments,
        }
        if self.weight is not None:
            arrays["weight"] = self.weight
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], weighted: bool) -> Self:
        """Return the sample that ``to_arrays`` described; what cannot be is a ValueError."""
        rows, count, moments = (arrays[name] for name in ("rows", "count", "moments"))
        edge, weight = arrays["edge"], arrays.get("weight")
        n, n_classes = rows.shape
        shape = (2 if weighted else 1, 2 * n_classes, n_moments(n_classes))
        if count.shape != (n,) or moments.shape != shape or edge.shape != (1,):
            raise ValueError("its arrays do not fit each other")
        if n > most_rows(n_classes) or (weight is not None) != weighted:
            raise ValueError("its arrays do not fit each other")
        if (count < 1).any() or (moments < 0).any() or not edge[0] > 0:
            raise ValueError("its counts are none that rows can have")
        if not ((rows >= 0) & (rows <= 1)).all() or (np.abs(rows.sum(axis=1) - 1) > 1e-6).any():
            raise ValueError("its rows are no probabilities")
        keyed = rows
        if weight is not None:
            if weight.shape != (n,) or not ((weight > 0) & (weight <= LARGEST)).all():
                raise ValueError("its weights are none that rows can have")
            keyed = np.column_stack([rows, weight])
        numbers = row_numbers(keyed, SAMPLE_SEED) / (1.0 if weight is None else weight)
        if (np.diff(numbers) <= 0).any() or (n and numbers[-1] >= edge[0]):
            raise ValueError("its rows are not those that would be kept, in their order")
        return cls(numbers, rows, weight, count, float(edge[0]), moments)


def _groups(proba: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return probabilities in whole steps, and the group of each row.

    Those of its predicted class that are sure of it are a group of their own.
    """
    steps = np.rint(proba * STEPS)
    column = np.argmax(proba, axis=1)
    sure = steps[np.arange(len(steps)), column] == STEPS
    return steps, column + proba.shape[1] * sure


def n_moments(n_classes: int) -> int:
    """Return how many sums are kept of each group, their number among them."""
    return 1 + (n_classes * (n_classes + 1) // 2 if n_classes <= _MOST_SQUARED else n_classes)


def _features(steps: FloatArray) -> FloatArray:
    """Return the moments of each row: 1, then the steps or their products."""
    n_classes = steps.shape[1]
    if n_classes <= _MOST_SQUARED:
        first, second = np.triu_indices(n_classes)
        steps = steps[:, first] * steps[:, second]
    return np.concatenate([np.ones((len(steps), 1)), steps], axis=1)


def _mean_steps(total: FloatArray, n_classes: int) -> FloatArray:
    """Return the mean of the steps of rows, about, from the sums of their moments."""
    if n_classes > _MOST_SQUARED:
        mean: FloatArray = total[1:] / total[0]
        return mean
    products = np.zeros((n_classes, n_classes))
    products[np.triu_indices(n_classes)] = total[1:]
    # Steps of a row sum to all steps, so the products with one of them do to that many of it.
    mean = (products + products.T - np.diag(np.diag(products))).sum(axis=0)
    mean /= total[0] * STEPS
    return mean


def _moments(proba: FloatArray, weight: FixedWeights | None) -> IntArray:
    """Return the sums of the moments of each group of rows, exactly.

    Whole numbers add up without rounding in floating point too, as long as sums are below 2**53.
    """
    n, n_classes = proba.shape
    parts = [None] if weight is None else [weight.whole, weight.part]
    shape = (len(parts), 2 * n_classes, n_moments(n_classes))
    moments = np.zeros(shape, dtype=np.int64)
    most = float(STEPS) ** (2 if n_classes <= _MOST_SQUARED else 1)
    largest = 1.0 if weight is None else max(float(weight.whole.max(initial=0)), UNIT)
    block = int(max(min(2**53 / (most * largest) / 2, 65_536), 1))
    upper = np.triu_indices(n_classes)
    for begin in range(0, n, block):
        steps, group = _groups(proba[begin : begin + block])
        order = np.argsort(group, kind="stable")
        steps, group = steps[order], group[order]
        ends = np.flatnonzero(np.diff(group, append=-1)) + 1
        for k, part in enumerate(parts):
            each = None if part is None else part[begin : begin + block][order].astype(float)
            start = 0
            for end in ends.tolist():
                own, at = steps[start:end], group[start]
                heavy = own if each is None else own * each[start:end, None]
                count = end - start if each is None else each[start:end].sum()
                moments[k, at, 0] += int(count)
                if n_classes <= _MOST_SQUARED:
                    with one_blas_thread():
                        found = (heavy.T @ own)[upper]
                else:
                    found = heavy.sum(axis=0)
                moments[k, at, 1:] += found.astype(np.int64)
                start = end
    if len(moments) > 1:
        carried(moments[:1], moments[1:])
    return moments


def _matching(features: FloatArray, weight: FloatArray, total: FloatArray) -> FloatArray:
    """Return weights near those given with which rows have the moments of all.

    The nearest, as squared differences go; a row of few is not changed by much.
    """
    plain: FloatArray = weight * (total[0] / weight.sum())
    if len(weight) < _ROWS_A_MOMENT * features.shape[1]:
        return plain
    scale = np.maximum(np.abs(features).max(axis=0), 1.0)
    scaled = features / scale
    with one_blas_thread():
        products = (scaled * plain[:, None]).T @ scaled
        short = total / scale - plain @ scaled
        factors = np.linalg.lstsq(products, short, rcond=1e-12)[0]
        change = 1 + scaled @ factors
    matched: FloatArray = plain * np.clip(change, 1 / _FARTHEST, _FARTHEST)
    return matched
