"""One repeat of an experiment under one preparation of the probabilities, and how it is judged.

Logits become probabilities: calibrated, adapted or neither. A method orders the rows; the last of
the order are kept and the metric is computed on them. The rows are in random order, so that ties
are not broken by how the data were put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from abstain import calibration
from abstain._inputs import FloatArray, IntArray
from abstain.metrics import Metric
from abstain.rules import Argmax
from abstain.scores import dropout_variance
from abstain.shift import MaximumLikelihoodShift, adapt_proba

#: Turns logits into probabilities: calibrated, adapted or neither.
Prepare = Callable[[FloatArray], FloatArray]
# When the paper's EM stops: no proportion moved by more, or after this many rounds. It stops short
# of the maximum of the likelihood where a class is rare, and that shows in the third decimal.
_TOLERANCE, _MOST_ROUNDS = 1e-6, 100


@dataclass(frozen=True, eq=False)
class Ordering:
    """How a method orders the rows, and what it predicts for them.

    Parameters
    ----------
    score : ndarray of shape (n,)
        High is withheld first.
    proba : ndarray of shape (n, n_classes)
        The probabilities that the kept rows are judged by.
    prediction : ndarray of shape (n,)
        The predicted columns.
    """

    score: FloatArray
    proba: FloatArray
    prediction: IntArray


@dataclass(frozen=True, eq=False)
class Trial:
    """The data of one repeat, prepared one way.

    Parameters
    ----------
    y : ndarray of shape (n,)
        True labels of the test rows, for judging only.
    logits : ndarray of shape (n,) or (n, n_classes)
        What the classifier says of the test rows.
    prepare : callable
        How the paper prepares logits in this trial.
    prepare_default : callable
        The same with the library's default calibration.
    y_val, proba_val : ndarray
        Labels and calibrated, never adapted, probabilities of the validation rows.
    draws : callable
        Returns the logits of the test rows in each draw of test-time dropout.
    seed : int
        Seeds sampled labels.
    """

    y: IntArray
    logits: FloatArray
    prepare: Prepare
    prepare_default: Callable[[], Prepare]
    y_val: IntArray
    proba_val: FloatArray
    draws: Callable[[], Iterable[FloatArray]]
    seed: int

    @cached_property
    def proba(self) -> FloatArray:
        """The prepared probabilities of the test rows."""
        return self.prepare(self.logits)

    @cached_property
    def _prediction(self) -> IntArray:
        return Argmax().predict(self.proba)

    @cached_property
    def proba_default(self) -> FloatArray:
        """The probabilities of the test rows by the library's default calibration."""
        return self.prepare_default()(self.logits)

    @cached_property
    def dropout_variance(self) -> FloatArray:
        """The variance of each test row over the draws, each prepared alike."""
        return dropout_variance(self.prepare(draw) for draw in self.draws())

    @cached_property
    def _shuffled(self) -> IntArray:
        """The rows in random order: equal scores are withheld in this order."""
        return np.random.default_rng(self.seed).permutation(len(self.y))

    def by_score(self, score: FloatArray) -> Ordering:
        """Return the ordering of a score, with the most probable class predicted."""
        return Ordering(score, self.proba, self._prediction)

    def realised(self, metric: Metric, ordering: Ordering, fraction: float) -> float:
        """Return the metric on the rows that are kept when a fraction is withheld."""
        n = len(self.y)
        shuffled = self._shuffled
        order = shuffled[np.argsort(ordering.score[shuffled], kind="stable")]
        kept = order[: int(n * (1 - fraction))]
        return metric.observed(
            self.y[kept], ordering.proba[kept], prediction=ordering.prediction[kept]
        )


def adapted(calibrate: Prepare, logits_val: FloatArray, logits: FloatArray) -> Prepare:
    """Return the calibration followed by adapting to the test rows as the paper does, by EM."""
    source = calibrate(logits_val).mean(axis=0)
    proba = calibrate(logits)
    priors = source
    for _ in range(_MOST_ROUNDS):
        before, priors = priors, adapt_proba(proba, priors / source).mean(axis=0)
        if np.abs(priors - before).max() <= _TOLERANCE:
            break
    weights = priors / source
    return lambda scores: adapt_proba(calibrate(scores), weights)


@dataclass(frozen=True, eq=False)
class DefaultCalibration:
    """The library's default calibration of one repeat, fitted when first asked for.

    Parameters
    ----------
    logits_val, y_val : ndarray
        Logits and labels of the validation rows.
    logits : ndarray
        Logits of the test rows.
    kind : callable
        Returns the name of the calibration; the default picks by cross-validation.
    """

    logits_val: FloatArray
    y_val: IntArray
    logits: FloatArray
    kind: Callable[[], str] = lambda: "auto"

    @cached_property
    def _calibrate(self) -> Prepare:
        calibrator = calibration.get(self.kind(), scale="logits")
        return calibrator.fit(self.logits_val, self.y_val).predict_proba

    def unadapted(self) -> Prepare:
        """Return the calibration alone."""
        return self._calibrate

    def adapted(self) -> Prepare:
        """Return the calibration followed by adapting to the test rows."""
        calibrate = self._calibrate
        shift = MaximumLikelihoodShift()
        shift.fit(calibrate(self.logits_val), calibrate(self.logits))
        return lambda scores: shift.transform(calibrate(scores))
