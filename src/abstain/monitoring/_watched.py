"""What is watched of a rule: values of rows whose means say that it is no longer the right one.

Under label shift (the paper's Section 2) the mean probability of each class moves with the class
proportions, and functions of the score that every class has mean 0 of keep it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray
from scipy.special import ndtri

from abstain._inputs import FloatArray, IntArray, both_columns
from abstain._words import class_in_words
from abstain.policy import Policy
from abstain.shift import Cells, share_unseen
from abstain.summaries import BatchSummary, LabelledSummary

#: The kinds of alarms, in the order they are told.
KINDS = ("proportions", "scores", "metric", "labels", "referrals", "model")
# Classes of which each has a value of its own, and functions of the score: the most of both.
_MOST_CLASSES, _MOST_FUNCTIONS = 32, 12
# Polynomials of the rank of a score, of two classes; and what is left of a function that the
# classes explain but for rounding.
_DEGREE, _NOTHING_LEFT = 8, 0.05
# How often the validation data may make a quiet range too narrow, in all.
_BY_CHANCE = 0.01
# The share of rows that score where no validation row did, from which on it is another model.
_UNSEEN = 0.05
_LEAST_ROWS = 1.0


@dataclass(frozen=True, eq=False)
class Watched:
    """What is watched of a batch's scores, and the ranges in which it is quiet.

    Attributes
    ----------
    classes : ndarray of int
        The columns whose mean probability is watched.
    names : dict of str to list of str
        What each value of each kind is called.
    bounds : dict of str to ndarray of shape (n_values, 2)
        Between which they lie.
    quiet : ndarray of shape (n_values, 2)
        The range of mean probabilities.
    cells : Cells
    functions : ndarray of shape (n_functions, n_cells)
        Functions of the score of which every class has mean 0.
    noise : ndarray of shape (n_functions, n_classes)
        The variance of that mean, of each class.
    surprise : float
        How many standard deviations a quiet range is wider than what is known.
    n_labelled : float
        How many validation rows there are.
    source : LabelledSummary
    """

    classes: NDArray[np.intp]
    names: dict[str, list[str]]
    bounds: dict[str, FloatArray]
    quiet: FloatArray
    cells: Cells
    functions: FloatArray
    noise: FloatArray
    surprise: float
    n_labelled: float
    source: LabelledSummary

    @classmethod
    def of(cls, policy: Policy, source: LabelledSummary, allowed: FloatArray) -> Watched:
        """Return what is to be watched of a rule.

        Parameters
        ----------
        policy : Policy
        source : LabelledSummary
            Its validation data.
        allowed : ndarray of shape (2, n_classes)
            The least and the greatest proportion of each class that the rule is made for.
        """
        k = len(policy.classes)
        columns = np.array([1])
        if k > 2:
            columns = np.sort(np.argsort(-policy.priors, kind="stable")[:_MOST_CLASSES])
        cells = Cells.of(source)
        counts = source.counts / source.thinned
        by_class = np.maximum(np.bincount(source.labels, counts, k), _LEAST_ROWS)
        functions, noise = _kept_functions(source, cells, counts, by_class)
        names = {
            "proportions": [
                f"the mean probability of {class_in_words(policy.classes[c])}" for c in columns
            ],
            "scores": [f"function {j + 1} of the score" for j in range(len(functions))],
            "metric": ["the estimated metric"],
            "labels": ["the most probable class", *_of_classes(policy, columns)],
            "referrals": ["the share of rows referred"],
            "model": ["the share of rows that score where no validation row did"],
        }
        n_values = sum(len(found) for found in names.values())
        surprise = float(-ndtri(_BY_CHANCE / (2 * n_values)))
        ends = functions.min(axis=1), functions.max(axis=1)
        unit, signed = np.array([[0.0, 1.0]]), np.array([[-1.0, 1.0]])
        bounds = {
            "proportions": unit.repeat(len(columns), axis=0),
            "scores": np.column_stack(ends),
            "metric": np.array([[-np.inf, np.inf]]),
            "labels": signed.repeat(len(columns) + 1, axis=0),
            "referrals": unit,
            "model": unit,
        }
        quiet = _quiet_means(source, counts, by_class, columns, allowed, surprise)
        return cls(
            columns, names, bounds, quiet, cells, functions, noise, surprise,
            float(counts.sum()), source,
        )  # fmt: skip

    def sums(self, batch: BatchSummary, priors: FloatArray) -> dict[str, FloatArray]:
        """Return what is seen of a batch's scores, by kind; see :class:`Seen`.

        Parameters
        ----------
        batch : BatchSummary
            Calibrated, not adapted.
        priors : ndarray of shape (n_classes,)
            The class proportions of the batch, estimated.
        """
        rows, weight = batch.one_by_one
        proba = both_columns(rows)
        count = np.ones(len(proba)) if weight is None else weight
        # Weights that make more rows than there are make no more evidence.
        count = count * min(1.0, batch.n_rows / count.sum())
        n = float(count.sum())
        watched = proba[:, self.classes]
        cell = np.bincount(self.cells.number(rows), count, len(self.cells))
        reach = self.surprise * np.sqrt(self.noise @ priors**2)
        unseen = share_unseen(self.source, *batch.sketch) * n
        return {
            "proportions": _sums(n, count @ watched, count @ watched**2, self.quiet),
            "scores": _sums(
                n, self.functions @ cell, self.functions**2 @ cell,
                np.column_stack([-reach, reach]),
            ),
            # A share in [0, 1] has no larger square than itself.
            "model": _sums(n, np.array([unseen]), np.array([unseen]), np.array([[0.0, _UNSEEN]])),
        }  # fmt: skip

    def label_sums(
        self, proba: FloatArray, codes: IntArray, uncertain: FloatArray, count: FloatArray
    ) -> FloatArray:
        """Return how far labels are from adapted probabilities of the rows that have one.

        Parameters
        ----------
        proba : ndarray of shape (n, n_classes)
        codes : ndarray of shape (n,)
        uncertain : ndarray of shape (n_classes,)
            The standard error of each class proportion of the batch.
        count : ndarray of shape (n,)
            How many rows each stands for.
        """
        rows = np.arange(len(proba))
        best = proba.argmax(axis=1)
        believed = np.column_stack([proba[rows, best], proba[:, self.classes]])
        right = np.column_stack([codes == best, codes[:, None] == self.classes])
        apart = right - believed
        n = float(count.sum())
        noise = (count @ (believed * (1 - believed))) / n / self.n_labelled
        open_ = np.append(uncertain.max(), uncertain[self.classes])
        reach = self.surprise * np.sqrt(noise + open_**2)
        return _sums(
            n, count @ apart, count @ apart**2,
            np.column_stack([-reach, reach]),
        )  # fmt: skip


def allowed_range(priors: FloatArray, tolerance: float) -> FloatArray:
    """Return the proportions whose odds differ from the given ones by no more than a part."""
    ends = [priors * factor for factor in (1 / (1 + tolerance), 1 + tolerance)]
    return np.array([end / (end + 1 - priors) for end in ends])


def one_value(n: float, total: float, low: float, high: float) -> FloatArray:
    """Return what is seen of a share of rows."""
    return np.array([[n, total, total, low, high]])


def _of_classes(policy: Policy, columns: NDArray[np.intp]) -> list[str]:
    return [class_in_words(policy.classes[c]) for c in columns]


def _sums(n: float, total: Any, squares: Any, quiet: FloatArray) -> FloatArray:
    return np.column_stack([np.full(len(total), n), total, squares, quiet])


def _quiet_means(
    source: LabelledSummary, counts: FloatArray, by_class: FloatArray,
    columns: NDArray[np.intp], allowed: FloatArray, surprise: float,
) -> FloatArray:  # fmt: skip
    """Return the range of each mean probability while class proportions stay where they may."""
    codes, proba = source.labels, source.proba[:, columns]
    k = len(by_class)
    means, spread = np.zeros((k, len(columns))), np.zeros((k, len(columns)))
    np.add.at(means, codes, proba * counts[:, None])
    means /= by_class[:, None]
    np.add.at(spread, codes, (proba - means[codes]) ** 2 * counts[:, None])
    low, high = allowed
    middle = (low + high) / 2
    noise = (middle**2 / by_class**2) @ spread
    # The batch that the rule was made for was about as large, and its mix is as uncertain.
    mean = np.average(proba, axis=0, weights=counts)
    noise += np.average((proba - mean) ** 2, axis=0, weights=counts) / counts.sum()
    reach = surprise * np.sqrt(noise)
    ends = [
        [_extreme(sign * means[:, j], low, high) * sign for sign in (1.0, -1.0)]
        for j in range(len(columns))
    ]
    quiet = np.array(ends) + np.column_stack([-reach, reach])
    clipped: FloatArray = np.clip(quiet, 0.0, 1.0)
    return clipped


def _extreme(means: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """Return the least mean of a mix of classes, each of which has a least and a greatest share.

    What is left once each has its least goes to the classes of the least mean.
    """
    shares, left = low.copy(), max(1 - float(low.sum()), 0.0)
    for c in np.argsort(means, kind="stable"):
        more = min(float(high[c] - low[c]), left)
        shares[c] += more
        left -= more
    return float(shares @ means / shares.sum())


def _kept_functions(
    source: LabelledSummary, cells: Cells, counts: FloatArray, by_class: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return functions of the score that no mix of the classes moves, and their noise by class."""
    k, n_cells = len(by_class), len(cells)
    table = np.zeros((k, n_cells))
    np.add.at(table, (source.labels, cells.number(source.proba)), counts)
    whole = table.sum(axis=0)
    # A cell that the validation data hardly have is no yardstick.
    share = (whole + 0.5) / (whole + 0.5).sum()
    classes = table / by_class[:, None]
    explained = classes / share
    basis = _basis(source, cells, share)
    # Least squares by weight: what the classes explain is taken off.
    root = np.sqrt(share)
    fitted = np.linalg.lstsq((explained * root).T, (basis * root).T, rcond=1e-9)[0]
    left = basis - fitted.T @ explained
    size = np.sqrt((left**2) @ share)
    kept = np.flatnonzero(size > _NOTHING_LEFT)[:_MOST_FUNCTIONS]
    functions = np.divide(left[kept], size[kept, None], dtype=np.float64)
    mean = functions @ classes.T
    variance = (functions**2) @ classes.T - mean**2
    noise: FloatArray = np.maximum(variance, 0.0) / by_class
    return functions, noise


def _basis(source: LabelledSummary, cells: Cells, share: FloatArray) -> FloatArray:
    """Return smooth functions of the cells, of size about 1: what scores usually do, first."""
    if len(source.proba[0]) == 2:
        rank = np.cumsum(share) - share / 2
        sizes = np.sqrt(2 * np.arange(_DEGREE + 1) + 1)
        return np.asarray((legvander(2 * rank - 1, _DEGREE) * sizes).T, dtype=np.float64)
    top = np.zeros(len(cells))
    np.add.at(top, cells.number(source.proba), source.proba.max(axis=1) * source.counts)
    heavy = np.bincount(cells.number(source.proba), source.counts, len(cells))
    top = np.divide(top, heavy, out=top, where=heavy > 0)
    order = np.argsort(top, kind="stable")
    rank = np.empty(len(top))
    rank[order] = np.cumsum(share[order]) - share[order] / 2
    sure = (legvander(2 * rank - 1, 2) * np.sqrt([1.0, 3.0, 5.0])).T
    begin = cells.first
    place = np.arange(len(cells))
    mine = [(place >= a) & (place < b) for a, b in itertools.pairwise(begin)]
    of_class = [row / np.sqrt(max(share[row].sum(), 1e-12)) for row in mine]
    return np.vstack([sure, *[one * sure[1] for one in of_class], *of_class])
