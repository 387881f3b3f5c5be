"""Whom to withhold for a confusion metric psi(C): once by marginal gains, or by linearisation.

Both end in a score that is linear in the probabilities given the prediction, so the choice is a
matrix and a threshold. The marginal solver is the paper's deterministic algorithm in the
appendix on weighted kappa; the joint one repeats it to a fixed point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.confusion import expected_confusion
from abstain.metrics._base import Decision
from abstain.regions import Choice, GainThreshold, Region, score_threshold
from abstain.rules import Argmax, BestGain, DecisionRule

if TYPE_CHECKING:
    from abstain.metrics._confusion import BaseConfusionMetric

# Linearisations at most; 3 to 8 are usual.
_MOST_ROUNDS = 50
# From this many rows on, a round that gains less than this is the last.
_MANY_ROWS = 100_000
_NEXT_TO_NOTHING = 1e-5
# How often a step that made the metric worse is halved before giving up.
_MOST_HALVINGS = 4
# What a rule fitted to the metric must gain over argmax to be worth its place, as a share of what
# it reaches; less is within the error of calibrated probabilities.
_LEAST_GAIN = 0.005


@dataclass
class ConfusionBatch:
    """The rows to choose among, and how much of their weight may be withheld."""

    metric: BaseConfusionMetric
    proba: FloatArray
    capacity: float
    sample_weight: FloatArray | None

    @property
    def weight(self) -> FloatArray:
        return np.empty(0) if self.sample_weight is None else self.sample_weight

    @property
    def sign(self) -> float:
        return 1.0 if self.metric.greater_is_better else -1.0

    def confusion(self, prediction: IntArray, kept: NDArray[np.bool_]) -> FloatArray:
        return expected_confusion(self.proba, prediction, self.weight, kept)

    @property
    def enough(self) -> float:
        """What a round must gain to be followed by another; of few rows, anything."""
        return _NEXT_TO_NOTHING if len(self.proba) >= _MANY_ROWS else 0.0

    def worth(self, confusion: FloatArray) -> float:
        """Psi, oriented so that more is better; minus infinity where it is not defined."""
        value = self.sign * self.metric.value(confusion)
        return value if np.isfinite(value) else -np.inf

    def removal_gains(self, prediction: IntArray) -> FloatArray:
        """Return what withholding one example of (true i, predicted j) alone adds to psi."""
        gains = self.metric.removal_gains(self.proba, prediction, self.weight)
        return self.sign * gains

    def region(self, prediction: IntArray, gains: FloatArray) -> tuple[GainThreshold, FloatArray]:
        """Withhold what fits the capacity, highest expected gain first; return the scores too."""
        score = GainThreshold(gains, np.inf).score(self.proba, prediction)
        threshold = score_threshold(score, self.capacity, self.sample_weight)
        return GainThreshold(gains, threshold), score

    def candidate(self, rule: DecisionRule, prediction: IntArray, gains: FloatArray) -> Candidate:
        """Return what a rule predicts, and what is withheld by gains, with what that is worth."""
        region, score = self.region(prediction, gains)
        confusion = self.confusion(prediction, score < region.threshold)
        return Candidate(region, confusion, self.worth(confusion), rule, gains)


@dataclass
class Candidate:
    """A region, the confusion matrix that counts, its worth, the rule, and by what gains."""

    region: Region
    confusion: FloatArray
    worth: float
    rule: DecisionRule
    gains: FloatArray

    @property
    def n_predicted(self) -> int:
        """How many classes are predicted among what is kept."""
        return int(np.count_nonzero(self.confusion.sum(axis=0)))


def unit_of(weight: FloatArray) -> float:
    """Return the weight of one example: 1, or the mean weight where that is less.

    Whole weights are repeats of examples that count 1 each; weights normalised to a small sum
    are not, and there no example weighs 1.
    """
    return min(1.0, float(weight.sum()) / np.count_nonzero(weight)) if weight.size else 1.0


def solve_marginal(batch: ConfusionBatch, decision: Decision) -> Choice:
    """Withhold the rows whose withholding alone, from the whole batch, gains the most.

    With ``decision="optimal"`` the predictions are first fitted to the metric on the whole
    batch; with ``"auto"`` where that helps there.
    """
    rule: DecisionRule = Argmax()
    if decision != "argmax":
        rule = solve_joint(replace(batch, capacity=0.0), decision).rule
    prediction = rule.predict(batch.proba)
    return Choice(batch.region(prediction, batch.removal_gains(prediction))[0], rule)


def solve_joint(batch: ConfusionBatch, decision: Decision) -> Choice:
    """Withhold by the metric linearised at the kept rows' own confusion matrix.

    Each round scores every row by ``-sum_i P[x, i] * dpsi/dC[i, f(x)]``, withholds the highest
    that fit, and linearises again at what is kept, until the metric stops rising. The optimal
    decision predicts, in each round, the class with the largest ``sum_i P[x, i] * dpsi/dC[i, j]``.
    With ``"auto"`` that is done where it is expected to help, and argmax stays elsewhere.
    """
    prediction = Argmax().predict(batch.proba)
    best = batch.candidate(Argmax(), prediction, batch.removal_gains(prediction))
    best = _climbed(batch, best, prediction)
    if decision != "argmax":
        fitted = _climbed(batch, _with_a_slope(batch, best), None)
        # Rules that drop a class are not for "auto", whatever they promise: a function of one
        # kind of error alone is served best by never risking it.
        keeps_classes = fitted.n_predicted >= best.n_predicted
        if decision == "optimal" or (keeps_classes and helps(fitted.worth, best.worth)):
            best = fitted
    return Choice(best.region, best.rule)


def _with_a_slope(batch: ConfusionBatch, plain: Candidate) -> Candidate:
    """Return where to begin fitting predictions: at argmax, unless the metric is flat there.

    Where one class alone is predicted a correlation is 0, whatever changes a little. Then begin
    where each class is predicted as if all were as frequent.
    """
    if batch.metric.gradient(plain.confusion).any():
        return plain
    sums = batch.proba.sum(axis=0) if batch.weight.size == 0 else batch.weight @ batch.proba
    rule = BestGain(np.diag(1 / np.maximum(sums, np.finfo(np.float64).tiny))).simplified()
    prediction = rule.predict(batch.proba)
    balanced = batch.candidate(rule, prediction, batch.removal_gains(prediction))
    return balanced if balanced.worth > plain.worth else plain


def helps(fitted: float, plain: float) -> bool:
    """Tell whether fitted predictions are enough better than the most probable classes.

    Of two values such that more is better; minus infinity is one that is not defined.
    """
    return bool(np.isfinite(fitted)) and fitted - plain > _LEAST_GAIN * abs(fitted)


def _climbed(batch: ConfusionBatch, best: Candidate, prediction: IntArray | None) -> Candidate:
    """Linearise, choose, repeat while it helps; predictions are chosen too when not given."""
    point = best.confusion
    halvings = 0
    for _ in range(_MOST_ROUNDS):
        slope = batch.sign * batch.metric.gradient(point)
        if prediction is not None and _same_order(-slope, best.gains):
            break
        rule = Argmax() if prediction is not None else BestGain(slope).simplified()
        columns = rule.predict(batch.proba) if prediction is None else prediction
        candidate = batch.candidate(rule, columns, -slope)
        if candidate.worth > best.worth:
            little = candidate.worth - best.worth < batch.enough
            best, point, halvings = candidate, candidate.confusion, 0
            if little:
                break
        elif halvings < _MOST_HALVINGS and not np.array_equal(candidate.confusion, point):
            # The step went too far: linearise between here and there.
            point = 0.5 * (best.confusion + (candidate.confusion if halvings == 0 else point))
            halvings += 1
        else:
            break
    return best


def _same_order(gains: FloatArray, others: FloatArray) -> bool:
    """Tell whether gains order rows as others do: they are a multiple of them plus a constant."""
    spread, spread_of_others = np.ptp(gains), np.ptp(others)
    if spread == 0 or spread_of_others == 0:
        return False
    alike = (others - others.min()) / spread_of_others
    return bool(np.allclose((gains - gains.min()) / spread, alike))
