"""Means of a value of each row's probabilities and label, such as Brier score and log loss.

Not in the paper. Their expected value is exact, so nothing is sampled but what an interval is
made of.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask, both_columns
from abstain.metrics._base import Decision, Metric
from abstain.regions import Choice, ScoreThreshold, score_threshold
from abstain.rules import Argmax
from abstain.scores import get as score_of
from abstain.summaries import BatchSummary, LabelledReplicates, Moves

_LEAST = np.finfo(np.float64).eps


class RowMean(Metric):
    """Base of the metrics that are the mean of a value of each row."""

    n_replicates: ClassVar[int] = 100

    @abstractmethod
    def values(self, proba: FloatArray) -> FloatArray:
        """Return the value of each row, were its label that of the column."""

    def expected_on(self, summary: BatchSummary, prediction: IntArray | None) -> float:
        each = (summary.proba * self.values(summary.proba)).sum(axis=1)
        return float(np.average(each, weights=summary.weight))

    def observed_on(
        self, codes: IntArray, rows: BatchSummary, prediction: IntArray | None
    ) -> float:
        each = self.values(rows.proba)[np.arange(len(codes)), codes]
        return float(np.average(each, weights=rows.weight))

    def draws_on(
        self, summary: BatchSummary, prediction: IntArray | None, n_draws: int, seed: int
    ) -> FloatArray:
        noise = np.random.default_rng(seed).standard_normal(n_draws)
        values, everyone = self.values(summary.proba), np.ones(len(summary.proba), dtype=np.bool_)
        mean, deviation = _mean(summary.proba, values, summary.weight, everyone)
        return np.clip(mean + deviation * noise, *self.value_range)

    def moved_draws(
        self, summary: BatchSummary, prediction: IntArray, withheld: Mask, moves: Moves, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        values, source = self.values(summary.proba), summary.adapted(moves.undoing)
        everyone, noise = np.ones_like(withheld), np.random.default_rng(seed)
        before, after = np.full((2, len(moves)), np.nan)
        for k, move in enumerate(zip(moves.slope, moves.bias, moves.ratios, strict=True)):
            # The value stays that of the stated probabilities: what moves is the labels.
            moved, chance = source.moved(*move).proba, noise.standard_normal()
            mean, deviation = _mean(moved, values, summary.weight, everyone)
            before[k] = after[k] = mean + chance * deviation
            if withheld.any():
                mean, deviation = _mean(moved, values, summary.weight, ~withheld)
                after[k] = mean + chance * deviation
        return np.clip(before, *self.value_range), np.clip(after, *self.value_range)

    def misfits(
        self, labelled: LabelledReplicates, prediction: IntArray, withheld: Mask, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        values = self.values(labelled.proba)
        observed = values[np.arange(len(values)), labelled.codes]
        sides = np.full((2, len(labelled.weight)), np.nan)
        for k, (weight, believed) in enumerate(
            zip(labelled.weight, labelled.believed, strict=True)
        ):
            excess = observed - (both_columns(believed) * values).sum(axis=1)
            for side, counted in zip(sides, (weight, weight * ~withheld), strict=True):
                if counted.sum() > 0:
                    side[k] = np.average(excess, weights=counted)
        before, after = sides
        return before, after


class ProperScore(RowMean):
    """Base of the mean losses of probabilities, lower is better.

    The expected loss of a row, were its probabilities those of its label, is a score of
    uncertainty, by which rows are withheld.
    """

    greater_is_better = False
    #: The expected loss of a row, as a score by its name.
    score: ClassVar[str]

    def choose_on(self, summary: BatchSummary, capacity: float, decision: Decision) -> Choice:
        """Withhold the rows whose expected loss is largest."""
        values = score_of(self.score)(summary.proba)
        threshold = score_threshold(values, capacity, summary.weight)
        return Choice(ScoreThreshold(self.score, threshold), Argmax())


class Brier(ProperScore):
    """Mean squared distance of probabilities from labels.

    Lower is better. Of two classes that of the positive one, in [0, 1], as scikit-learn's
    ``brier_score_loss``; of more the sum over classes, in [0, 2].

    Examples
    --------
    >>> from abstain import metrics
    >>> metrics.get("brier").observed([0, 1], [0.2, 0.9])
    0.025
    >>> metrics.get("brier").expected([0.2, 0.9])
    0.125
    """

    value_range: ClassVar[tuple[float, float]] = (0.0, 2.0)
    head: ClassVar[str] = "brier"
    score: ClassVar[str] = "gini"
    summary: ClassVar[str] = "mean squared error of the probabilities; for who reads these"

    def values(self, proba: FloatArray) -> FloatArray:
        if proba.shape[1] == 2:
            return (1 - proba) ** 2
        return np.asarray((proba**2).sum(axis=1)[:, None] - 2 * proba + 1)


class LogLoss(ProperScore):
    """Mean of minus the log probability of the true class, in nats.

    Lower is better, in [0, inf). A probability of 0 counts as the smallest step of float64.

    Examples
    --------
    >>> from abstain import metrics
    >>> metrics.get("log-loss").expected([0.5, 0.5])
    0.693
    """

    value_range: ClassVar[tuple[float, float]] = (0.0, math.inf)
    head: ClassVar[str] = "log-loss"
    score: ClassVar[str] = "entropy"
    summary: ClassVar[str] = "mean surprise at the labels, in nats; for who reads probabilities"

    def values(self, proba: FloatArray) -> FloatArray:
        return -np.log(np.maximum(proba, _LEAST))


def _mean(
    proba: FloatArray, values: FloatArray, weight: FloatArray | None, kept: Mask
) -> tuple[float, float]:
    """Return the mean value and the deviation that labels of these probabilities give it."""
    proba, values = proba[kept], values[kept]
    if not len(proba):
        return math.nan, math.nan
    counted = np.ones(len(proba)) if weight is None else weight[kept]
    share = counted / counted.sum()
    each = (proba * values).sum(axis=1)
    spread = (proba * (values - each[:, None]) ** 2).sum(axis=1)
    return float(share @ each), float(np.sqrt((share**2) @ spread))
