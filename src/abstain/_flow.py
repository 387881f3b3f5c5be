"""The one flow: calibrated probabilities of a batch in, priors, choice and estimate out.

``Abstainer.decide`` and ``Policy.adapt`` are this, with different words around it. The batch is
summarised once; everything but the mask of what is withheld is computed on the summary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from abstain import scores
from abstain._inputs import FloatArray, IntArray, Mask, both_columns
from abstain._kernels.adapt import adapted, adapted_positive
from abstain._numerics import clone
from abstain.certificates import Certificate
from abstain.estimation import (
    Estimate,
    Move,
    calibration_moves,
    estimate_choice,
    estimate_rows,
    prior_moves,
)
from abstain.metrics import Metric
from abstain.regions import Choice, ScoreThreshold, score_threshold
from abstain.rules import Argmax
from abstain.selection import Selection
from abstain.shift import ShiftEstimator
from abstain.summaries import WEIGHT_TOLERANCE, LabelledSummary, Summary, summarise

__all__ = ["Outcome", "Uncertainty", "adapted_in_place", "flow"]

Uncertainty = Literal["labels", "labels+priors", "labels+priors+calibration"]

# Bins are taken where they move the value by less than this, about.
_COARSE = 1e-5

#: What chooses from the adapted summary and the fitted estimator, where that is more than a
#: selection: a certificate comes with it.
Chooser = Callable[[Summary, ShiftEstimator], tuple[Choice, Certificate | None]]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the flow found for a batch.

    Attributes
    ----------
    estimator : ShiftEstimator
        Fitted: the class proportions then and now.
    choice : Choice
        Whom to withhold, and how to predict the rest.
    proba : ndarray of shape (n, n_classes), or (n,) for the positive class of two
        Calibrated, adapted probabilities.
    abstain : ndarray of bool, shape (n,)
        Which rows are withheld.
    estimate : Estimate
        The metric before and after.
    moves : tuple of Move
        What the intervals hold besides the noise of labels.
    certificate : Certificate or None
        What held-out labels prove.
    values : ndarray of shape (n,) or None
        The score that ordered the rows, where the probabilities do not tell it.
    """

    estimator: ShiftEstimator
    choice: Choice
    proba: FloatArray
    abstain: Mask
    estimate: Estimate
    moves: tuple[Move, ...] = ()
    certificate: Certificate | None = None
    values: FloatArray | None = None


def flow(
    proba: FloatArray,
    weight: FloatArray | None,
    *,
    labelled: LabelledSummary,
    shift: ShiftEstimator,
    metric: Metric,
    selection: Selection,
    seed: int = 0,
    uncertainty: Uncertainty = "labels",
    choose: Chooser | None = None,
    values: Callable[[ShiftEstimator], FloatArray] | None = None,
) -> Outcome:
    """Estimate the class proportions of a batch, choose whom to withhold, estimate what it does.

    Parameters
    ----------
    proba : ndarray of shape (n, n_classes), or (n,) for the positive class of two
        Calibrated probabilities, which may be adapted in place.
    weight : ndarray of shape (n,) or None
        How much each row counts.
    labelled : LabelledSummary
        The validation data, calibrated.
    shift : ShiftEstimator
        How the class proportions are estimated.
    metric : Metric
        What to make as good as possible.
    selection : Selection
        How much to withhold, by what order.
    seed : int
        Seeds whatever is drawn.
    uncertainty : str
        What the intervals hold.
    choose : callable, optional
        What chooses in place of the selection.
    values : callable, optional
        Gives a score of each row that no probability tells, from the fitted estimator.
    """
    by_rows = not metric.ranks or values is not None

    def settled(bins: int | None) -> _Settled:
        summary = (
            summarise(both_columns(proba), weight)
            if by_rows
            else metric._summarised(proba, weight, bins)
        )
        estimator = clone(shift).fit_summaries(labelled, summary)
        # Only moves look at the batch as it was before.
        now = summary.adapted(estimator.weights_, in_place=uncertainty == "labels")
        if values is not None:
            rows, capacity = values(estimator), selection.capacity(now)
            region = ScoreThreshold(
                scores.DROPOUT_VARIANCE, score_threshold(rows, capacity, weight)
            )
            choice = Choice(region, Argmax())
            return _Settled(summary, estimator, now, choice, None, rows >= region.threshold, rows)
        if choose is not None:
            return _Settled(summary, estimator, now, *choose(now, estimator))
        choice = selection.choose(
            metric, now, seed=seed, labelled=labelled, weights=estimator.weights_
        )
        return _Settled(summary, estimator, now, choice)

    bins = None if by_rows or selection.score is not None else metric.bins_for(len(proba))
    found = settled(bins)
    if bins is not None and found.moved_by_bins(metric) > _COARSE:
        found = settled(None)
    choice, abstain = found.choice, found.withheld
    # Rows of many classes are adapted already, in the summary.
    moved = found.now.compact
    if proba.ndim == 1:
        moved = adapted_in_place(proba, found.estimator.weights_)
    prediction = None
    if abstain is None:
        choice, prediction, abstain = _within_budget(choice, moved, weight, found.now, selection)
    moves = _moves(found, labelled, uncertainty, seed)
    if by_rows:
        # The summary is the rows themselves, and what is withheld of them is known.
        if prediction is None:
            prediction = choice.rule.predict(found.now.compact)
        estimate = estimate_rows(metric, found.now, prediction, abstain, seed=seed, moves=moves)
    else:
        estimate = estimate_choice(metric, found.now, choice, seed=seed, moves=moves)
    return Outcome(
        found.estimator, choice, moved, abstain, estimate, moves, found.certificate, found.values
    )


@dataclass(frozen=True, eq=False)
class _Settled:
    """What is settled on a summary: proportions, the batch adapted to them, and the choice."""

    summary: Summary
    estimator: ShiftEstimator
    now: Summary
    choice: Choice
    certificate: Certificate | None = None
    withheld: Mask | None = None
    values: FloatArray | None = None

    def moved_by_bins(self, metric: Metric) -> float:
        return metric.coarseness(self.now, metric._point(self.now, self.choice).withheld)


def _moves(
    found: _Settled, labelled: LabelledSummary, uncertainty: Uncertainty, seed: int
) -> tuple[Move, ...]:
    """Return what else the probabilities might have been, as far as intervals are to hold it."""
    if uncertainty == "labels+priors":
        return prior_moves(found.estimator, seed)
    if uncertainty == "labels+priors+calibration":
        return calibration_moves(found.estimator, labelled, found.summary, seed)
    return ()


def adapted_in_place(proba: FloatArray, ratios: FloatArray) -> FloatArray:
    """Adapt probabilities to other class proportions where they stand, and return them."""
    if proba.ndim == 1:
        return adapted_positive(proba, ratios, out=proba)
    return adapted(proba, ratios, out=proba)


def _within_budget(
    choice: Choice,
    proba: FloatArray,
    weight: FloatArray | None,
    summary: Summary,
    selection: Selection,
) -> tuple[Choice, IntArray | None, Mask]:
    """Return the choice and the rows it withholds, never more than the budget.

    With the predictions, where those had to be made. Bins are chosen whole; a row within a
    rounding of an edge may still fall on its other side once adapted, and then the interval
    gives way.
    """
    if choice.region.reads_prediction:
        # Its threshold is the score of a row, which comes out the same here.
        return choice, *choice.apply(proba)
    abstain = choice.withheld(proba)
    if selection.budget is None:
        return choice, None, abstain
    most = selection.capacity(summary) + WEIGHT_TOLERANCE * summary.total
    while abstain.any() and _weight_of(abstain, weight) > most:
        narrower = choice.region.narrowed()
        if narrower is None:
            break
        choice = choice._replace(region=narrower)
        abstain = choice.withheld(proba)
    return choice, None, abstain


def _weight_of(rows: Mask, weight: FloatArray | None) -> float:
    return float(np.count_nonzero(rows) if weight is None else weight[rows].sum())
