"""What else the probabilities might have been: other class proportions, another calibration.

A move is a few numbers, so an interval that holds this uncertainty is drawn on the summary, for
one choice as for every position of a slider.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels.softmax import scaled_softmax
from abstain._numerics import clone, resampled_weight
from abstain.calibration import fit_scaling
from abstain.exceptions import AbstainError, RepairWarning
from abstain.shift import ShiftEstimator, ratio_of_priors
from abstain.summaries import LabelledSummary, RowSummary, Summary

__all__ = ["Move", "calibration_moves", "prior_moves"]

# How many draws of the class proportions, or of all there is, an interval is made of.
_PRIOR_DRAWS = 100
_REPLICATES = 25

_SMALLEST = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Move:
    """From the probabilities as estimated to those that might have been.

    Parameters
    ----------
    slope, bias : ndarray of shape (n_classes,)
        ``softmax(slope * log p + bias)`` in place of p, at the source's class proportions.
    ratios : ndarray of shape (n_classes,)
        Then adapted by these.
    """

    slope: FloatArray
    bias: FloatArray
    ratios: FloatArray


def prior_moves(estimator: ShiftEstimator, seed: int) -> tuple[Move, ...]:
    """Return moves to class proportions that the data leave open."""
    n_classes = len(estimator.priors_)
    nothing = np.ones(n_classes), np.zeros(n_classes)
    return tuple(
        Move(*nothing, ratio_of_priors(drawn, estimator.priors_))
        for drawn in estimator.prior_draws(_PRIOR_DRAWS, seed=seed)
    )


def calibration_moves(
    estimator: ShiftEstimator, labelled: LabelledSummary, summary: Summary, seed: int
) -> tuple[Move, ...]:
    """Return moves to what resampled validation data and a resampled batch would give.

    A slope and biases are fitted anew on the calibrated probabilities, and the proportions
    estimated anew; both as changes of what was estimated. Fits to resamples are too sure of
    themselves on average, so they are taken as they scatter around their mean.
    """
    rng = np.random.default_rng(seed)
    rows, row_weight = summary.for_likelihood()
    logs = np.log(np.maximum(labelled.proba, _SMALLEST))
    weights = [resampled_weight(len(logs), labelled.weight, rng) for _ in range(_REPLICATES)]
    fits = [
        fit_scaling(logs, labelled.labels, weight, shared_slope=True, with_bias=True)
        for weight in weights
    ]
    slopes, biases = (np.array(side) for side in zip(*fits, strict=True))
    slopes /= slopes.mean(axis=0)
    biases -= biases.mean(axis=0)
    # The summary that is moved is adapted already: its logarithms hold the old ratios.
    old = np.log(np.where(estimator.weights_ > 0, estimator.weights_, 1.0))
    moves = []
    for weight, slope, bias in zip(weights, slopes, biases, strict=True):
        again = replace(labelled, proba=scaled_softmax(logs, slope, bias), weight=weight)
        batch = RowSummary(rows, resampled_weight(len(rows), row_weight, rng))
        ratios = _estimated_anew(estimator, again, batch.moved(slope, bias, np.ones(len(slope))))
        moves.append(Move(slope, bias - slope * old, ratios))
    return tuple(moves)


def _estimated_anew(
    estimator: ShiftEstimator, labelled: LabelledSummary, batch: Summary
) -> FloatArray:
    """Return the ratios on resamples; the old ones where these cannot tell."""
    try:
        with warnings.catch_warnings():
            # A class that the resample misses was there when it was calibrated.
            warnings.simplefilter("ignore", RepairWarning)
            return clone(estimator).fit_summaries(labelled, batch).weights_
    except AbstainError:
        return estimator.weights_
