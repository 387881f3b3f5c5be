"""How sure a realised value is: labelled rows are a sample, and another would differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain._numerics import gamma_draws
from abstain.metrics import Metric
from abstain.summaries import RowSummary

# Rows that turned out otherwise, half a row in all for each class (at most four): what never
# went wrong among a few rows still may.
_SURPRISES = 16
_MOST_SURPRISING = 4


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows whose labels are known.

    Attributes
    ----------
    codes, prediction : ndarray of shape (n,)
        True and predicted columns.
    proba : ndarray of shape (n, n_classes)
        The probabilities that were decided by.
    weight : ndarray of shape (n,) or None
        How much each row counts.
    stands_for : ndarray of shape (n,) or None
        How many rows each stands for, which makes it no surer; one where they are all there are.
    """

    codes: IntArray
    proba: FloatArray
    prediction: IntArray
    weight: FloatArray | None
    stands_for: FloatArray | None = None

    @property
    def counts(self) -> FloatArray:
        """How many rows each is."""
        return np.ones(len(self.codes)) if self.weight is None else self.weight

    def total_weight(self, rows: Any = slice(None)) -> FloatArray | None:
        """Return how much some rows count with all that they stand for; None where once each."""
        weight = self.weight if self.stands_for is None else self.counts * self.stands_for
        return None if weight is None else weight[rows]

    def value(self, metric: Metric) -> float:
        """Return the metric of the rows."""
        return metric.observed(
            self.codes, self.proba, prediction=self.prediction, sample_weight=self.total_weight()
        )

    def only(self, rows: Mask) -> JudgedRows:
        """Return some of the rows."""
        weight, stands = (
            None if one is None else one[rows] for one in (self.weight, self.stands_for)
        )
        return JudgedRows(
            self.codes[rows], self.proba[rows], self.prediction[rows], weight, stands
        )

    def with_surprises(self) -> JudgedRows:
        """Return the rows with half a row of each class added that turned out otherwise."""
        some, others, mass = _surprises(self.codes, self.proba)
        stands = self.stands_for
        if stands is not None:
            mean = np.average(stands, weights=self.counts)
            stands = np.append(stands, np.full(len(some), mean))
        return JudgedRows(
            np.concatenate([self.codes, others]),
            np.ascontiguousarray(np.concatenate([self.proba, self.proba[some]])),
            np.concatenate([self.prediction, self.prediction[some]]),
            np.concatenate([self.counts, np.full(len(some), mass)]),
            stands,
        )

    def drawn_weights(self, n_draws: int, seed: int) -> FloatArray:
        """Return what the rows count as they are, and then in each of so many draws."""
        counts, stands = self.counts, 1.0 if self.stands_for is None else self.stands_for
        drawn = gamma_draws(counts, n_draws, np.random.default_rng(seed))
        return np.asarray(np.vstack([counts, drawn]) * stands)


def realised_interval(
    metric: Metric, value: float, judged: JudgedRows, *, level: float, seed: int
) -> tuple[float, float]:
    """Return where the metric of all rows of this kind lies, by a bootstrap of those there are.

    Parameters
    ----------
    metric : Metric
    value : float
        What was realised.
    judged : JudgedRows
        The rows that there are.
    level : float
        How often the interval is to hold.
    seed : int

    Notes
    -----
    A Bayesian bootstrap: the weight of each row is a gamma variate of mean 1, of rows that are
    alike drawn together. A class that was never mistaken would come out as certain, so half a
    row of each class is added whose label is another; the draws are then moved by what that
    changes, and the interval always holds the value itself.
    """
    if not np.isfinite(value):
        return float("nan"), float("nan")
    more = judged.with_surprises()
    if judged.stands_for is None:
        rows = RowSummary(more.proba, more.weight)
        found = metric.resampled(more.codes, rows, more.prediction, metric.n_replicates, seed)
    else:
        found = _weighed(metric, more, seed)
    return interval_about(metric, value, *found, level=level)


def interval_about(
    metric: Metric, value: float, centre: float, draws: FloatArray, *, level: float
) -> tuple[float, float]:
    """Return the interval that draws about their centre leave a value; it always holds it."""
    draws = draws[np.isfinite(draws)] + (value - centre)
    if 2 * len(draws) < metric.n_replicates or not np.isfinite(centre):
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    low, high = np.clip(np.quantile(draws, [tail, 1 - tail]), *metric.value_range).tolist()
    return min(low, value), max(high, value)


def _weighed(metric: Metric, judged: JudgedRows, seed: int) -> tuple[float, FloatArray]:
    """Return the value of rows that stand for others, and what it is with them drawn anew."""
    values = np.full(1 + metric.n_replicates, np.nan)
    for k, weight in enumerate(judged.drawn_weights(metric.n_replicates, seed)):
        try:
            values[k] = metric.observed_on(
                judged.codes, RowSummary(judged.proba, weight), judged.prediction
            )
        except ValueError:
            # A draw may have one class alone, of which the metric says nothing.
            continue
    return float(values[0]), values[1:]


def _surprises(codes: IntArray, proba: FloatArray) -> tuple[IntArray, IntArray, float]:
    """Return some rows, the label that each might have had instead, and how much each counts."""
    n_classes = proba.shape[1]
    own = proba[np.arange(len(codes)), codes]
    sure = np.argsort(own, kind="stable")
    some = sure[np.linspace(0, len(sure) - 1, _SURPRISES).round().astype(np.intp)]
    others = proba[some].copy()
    others[np.arange(len(some)), codes[some]] = -1.0
    mass = 0.5 * min(n_classes, _MOST_SURPRISING) / _SURPRISES
    return some, others.argmax(axis=1), mass
