"""How sure a realised value is: labelled rows are a sample, and another would differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from abstain._inputs import FloatArray, IntArray
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
    """

    codes: IntArray
    proba: FloatArray
    prediction: IntArray
    weight: FloatArray | None

    def value(self, metric: Metric) -> float:
        """Return the metric of the rows."""
        return metric.observed(
            self.codes, self.proba, prediction=self.prediction, sample_weight=self.weight
        )


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
    codes, proba, prediction = judged.codes, judged.proba, judged.prediction
    count = np.ones(len(codes)) if judged.weight is None else judged.weight
    surprising, others, mass = _surprises(codes, proba)
    rows = RowSummary(
        np.ascontiguousarray(np.concatenate([proba, proba[surprising]])),
        np.concatenate([count, np.full(len(surprising), mass)]),
    )
    centre, draws = metric.resampled(
        np.concatenate([codes, others]),
        rows,
        np.concatenate([prediction, prediction[surprising]]),
        metric.n_replicates,
        seed,
    )
    draws = draws[np.isfinite(draws)] + (value - centre)
    if 2 * len(draws) < metric.n_replicates or not np.isfinite(centre):
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    low, high = np.clip(np.quantile(draws, [tail, 1 - tail]), *metric.value_range).tolist()
    return min(low, value), max(high, value)


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
