"""Labelled validation data: what estimating a shift, and some scores, need to know of them.

Whole, or compact, so that a policy can carry it and every estimator of class proportions can read
it: of two classes, rows that agree in label, prediction and about in certainty become one weighted
row; of more, some of the rows stand for all.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.proportions import adapted
from abstain._numerics import cuts_between, highest_of_rows
from abstain._schema import MOST, Constant, Either, Keys, Number, Numbers, amounts, proportions
from abstain.summaries._drift import KEYS as DRIFT_KEYS
from abstain.summaries._drift import Drift
from abstain.summaries._few_classes import FEW, FewClasses, how_few

# Levels of certainty at which rows of two classes are joined.
_LEVELS = 512
# Further levels for a class that has less than one row in so many.
_RARE, _OF_RARE = 20, 256
# Numbers that are kept of rows of more classes, and their digits; and what they may grow to where
# each row has its classes again.
_MOST_NUMBERS, _MOST_AGAIN = 150_000, 2**23
_DIGITS = 7


_ROWS: Keys = {
    "proba": Either(list=proportions("rows", "classes"), object=FEW),
    "label": Numbers(("rows",), low=0, below="classes", whole=True),
    "weight": Either(null=None, list=amounts("rows")),
    "edges": Numbers(("levels",), low=0, high=1, rising=True, least=0, most=10_000),
    "thinned?": Number(1, MOST),
}
#: What a policy file holds of labelled rows.
KEYS: Keys = {
    **_ROWS,
    "held_out?": Either(null=None, object={**_ROWS, "held_out?": Constant(None)}),
    "drift?": DRIFT_KEYS,
}


@dataclass(frozen=True, eq=False)
class LabelledSummary:
    """Labelled validation examples, calibrated.

    Parameters
    ----------
    proba : ndarray of shape (n, n_classes)
        Calibrated probabilities, at the source's own class proportions.
    codes : ndarray of shape (n,) or None
        True columns, where they are known.
    weight : ndarray of shape (n,) or None
        How much each row counts.
    edges : ndarray
        Of a compact source: the levels of certainty between which rows were joined.
    held_out : LabelledSummary or None
        The same examples with probabilities by calibrators that did not see them, where those
        above are by one that did.
    numbers : ndarray of shape (n,) or None
        Of held-out examples: which of the others they are.
    thinned : float
        How many examples each row stands for on average, of which the others are not there.
    doubts : tuple of str
        What speaks against the examples themselves.
    drift : Drift or None
        How metrics wander in time, where the times of the examples are known.
    few : FewClasses or None
        Of a compact source of many classes: those of each row whose probabilities were kept.
    answers : ndarray of shape (n,) or None
        What a reader answered about each, -1 for nothing; None where nobody was asked.
    """

    proba: FloatArray
    codes: IntArray | None = None
    weight: FloatArray | None = None
    edges: FloatArray = field(default_factory=lambda: np.empty(0))
    held_out: LabelledSummary | None = None
    numbers: IntArray | None = None
    thinned: float = 1.0
    doubts: tuple[str, ...] = ()
    drift: Drift | None = None
    few: FewClasses | None = None
    answers: IntArray | None = None

    @property
    def labels(self) -> IntArray:
        """The true columns, which must be known."""
        if self.codes is None:
            raise ValueError("The labels of the source are needed; pass `y_source`.")
        return self.codes

    @cached_property
    def counts(self) -> FloatArray:
        """How much each row counts, which is once where no weights are given."""
        return np.ones(len(self.proba)) if self.weight is None else self.weight

    def answered(self, answers: IntArray) -> Self:
        """Return the examples with what a reader answered about each."""
        unseen = self.held_out
        if unseen is not None:
            own = answers if unseen.numbers is None else answers[unseen.numbers]
            unseen = replace(unseen, answers=own)
        return replace(self, answers=answers, held_out=unseen)

    def at(self, ratios: FloatArray) -> Self:
        """Return the same examples adapted to other class proportions, given new over old."""
        return replace(self, proba=adapted(np.ascontiguousarray(self.proba), ratios))

    def cells(self, proba: FloatArray) -> IntArray:
        """Return the cell of each row: its most probable class and how certain that is."""
        column, top = highest_of_rows(proba)
        return column * (len(self.edges) + 1) + np.searchsorted(self.edges, top)

    def compact(self) -> Self:
        """Return fewer weighted rows that stand for all of them.

        A cell holds the rows of one label, one most probable class and one level of its
        probability, as their mean and total weight. So the class proportions, the confusion
        matrix and each class's mean probabilities stay what they were. Of more than two classes
        some of the rows stand for all, as a mean of rows would be less certain than any of them.

        Examples
        --------
        >>> p = np.array([0.9, 0.9, 0.2])
        >>> source = LabelledSummary(np.column_stack([1 - p, p]), np.array([1, 1, 0])).compact()
        >>> source.codes, source.weight
        (array([0, 1]), array([1., 2.]))
        """
        n_classes = self.proba.shape[1]
        if n_classes > 2:
            return self._some()
        weight = self.counts
        certainty = self.proba.max(axis=1)
        wanted = [np.quantile(certainty, np.arange(1, _LEVELS) / _LEVELS)]
        if np.bincount(self.labels).min() < len(self.labels) / _RARE:
            # A rare class would have a level or two to itself.
            rare = self.labels == np.bincount(self.labels).argmin()
            wanted.append(np.quantile(certainty[rare], np.arange(1, _OF_RARE) / _OF_RARE))
        edges = cuts_between(certainty, np.concatenate(wanted))
        joined = type(self)(self.proba, self.codes, self.weight, edges)
        cell = self.labels * (n_classes * _LEVELS) + joined.cells(self.proba)
        _, index = np.unique(cell, return_inverse=True)
        total = np.bincount(index, weights=weight).astype(np.float64)
        present = total > 0
        sums = np.column_stack(
            [np.bincount(index, weights=weight * column) for column in self.proba.T]
        )
        first: IntArray = np.zeros(len(total), dtype=np.intp)
        first[index] = np.arange(len(index))
        proba = sums[present] / total[present, None]
        held_out = None if self.held_out is None else self.held_out.compact()
        labels, counts = self.labels[first][present], total[present]
        return type(self)(proba, labels, counts, edges, held_out, drift=self.drift)

    def _some(self) -> Self:
        """Return some of the rows with the weight of all: of each label from sure to unsure."""
        held_out = None if self.held_out is None else self.held_out._some()
        n, k = self.proba.shape
        few = how_few(self.proba, _MOST_NUMBERS)
        most = max(min(_MOST_NUMBERS // few, _MOST_AGAIN // k), 1)
        if n <= most:
            return replace(self, held_out=held_out)._written(few)
        weight = self.counts
        picked, counted = [], []
        for label in np.unique(self.labels[weight > 0]):
            rows = np.flatnonzero((self.labels == label) & (weight > 0))
            rows = rows[np.argsort(self.proba[rows].max(axis=1), kind="stable")]
            below = np.cumsum(weight[rows])
            n = max(round(most * below[-1] / weight.sum()), 1)
            steps = np.searchsorted(below, (np.arange(n) + 0.5) / n * below[-1])
            found, times = np.unique(steps, return_counts=True)
            picked.append(rows[found])
            counted.append(times * below[-1] / n)
        # In the order they came, as where all of them are kept.
        at, counts = np.concatenate(picked), np.concatenate(counted)
        order = np.argsort(at)
        return type(self)(
            self.proba[at[order]],
            self.labels[at[order]],
            counts[order],
            held_out=held_out,
            thinned=len(self.proba) / len(at),
            drift=self.drift,
        )._written(few)

    def _written(self, few: int) -> Self:
        """Return the rows as they come back from a file, which keeps so many classes of each."""
        if few == self.proba.shape[1]:
            return replace(self, proba=shortened(self.proba))
        kept = FewClasses.of(self.proba, self.labels, few)
        return replace(self, proba=kept.whole(shortened(kept.values(self.proba))), few=kept)

    def to_dict(self) -> dict[str, Any]:
        """Return the source as plain data."""
        return {
            "proba": self.proba.tolist() if self.few is None else self.few.to_dict(self.proba),
            "label": self.labels.tolist(),
            "weight": None if self.weight is None else self.weight.tolist(),
            "edges": self.edges.tolist(),
            "held_out": None if self.held_out is None else self.held_out.to_dict(),
            **({} if self.thinned == 1 else {"thinned": self.thinned}),
            **({} if self.drift is None else {"drift": self.drift.to_dict()}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the source that ``to_dict`` described."""
        weight, held_out = data["weight"], data.get("held_out")
        if weight is not None and not np.sum(weight) > 0:
            raise ValueError("`source.weight` must be above 0 for some row")
        proba, few = data["proba"], None
        if isinstance(proba, dict):
            proba, few = FewClasses.from_dict(proba, len(data["label"]))
        return cls(
            proba=np.array(proba, dtype=np.float64),
            codes=np.array(data["label"], dtype=np.intp),
            weight=None if weight is None else np.array(weight, dtype=np.float64),
            edges=np.array(data["edges"], dtype=np.float64),
            held_out=None if held_out is None else cls.from_dict(held_out),
            thinned=float(data.get("thinned", 1.0)),
            drift=Drift.from_dict(data["drift"]) if "drift" in data else None,
            few=few,
        )


def shortened(proba: FloatArray) -> FloatArray:
    """Return probabilities to so many digits that they are half as long when written.

    Whoever compares rows with compact ones shortens them as well, so that ties stay ties.
    """
    # The least normal number stands in for 0, whose logarithm is not one.
    size = np.floor(np.log10(np.maximum(proba, np.finfo(np.float64).tiny)))
    unit = 10.0 ** np.minimum(_DIGITS - 1 - size, 300)
    return np.asarray(np.rint(proba * unit) / unit)
