"""The flow on the rows of a batch: each is decided about here and now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from abstain import scores
from abstain import shift as shifts
from abstain._flow._basis import basis_of
from abstain._flow._calibrated import adapted_in_place
from abstain._flow._settled import Settled, as_certified, cleared, surely_reached, within
from abstain._flow._warnings import with_undefined
from abstain._inputs import FloatArray, Mask, both_columns
from abstain._logs import logger, stopwatch
from abstain.certificates import Certificate
from abstain.estimation import (
    LEVEL,
    Decided,
    Estimate,
    Replicates,
    drawn_choice,
    drawn_rows,
)
from abstain.metrics import Metric
from abstain.regions import Choice, ScoreThreshold, score_threshold
from abstain.selection import Selection
from abstain.shift import Assumption, KnownLabels, ShiftEstimator
from abstain.summaries import (
    WEIGHT_TOLERANCE,
    BatchSummary,
    LabelledSummary,
    own_order,
    summarise,
)

__all__ = ["Chooser", "Outcome", "flow"]

_logger = logger("flow")

# Bins are taken where they move the value by less than this, about.
_COARSE = 1e-5

#: What chooses from the adapted summary and the fitted estimator, where that is more than a
#: selection: a certificate comes with it.
Chooser = Callable[[BatchSummary, ShiftEstimator], tuple[Choice, Certificate | None]]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the flow found for a batch.

    Attributes
    ----------
    estimator : ShiftEstimator
        Fitted: the class proportions then and now.
    assumption : Assumption
        What that rests on, the evidence, and what speaks against it.
    choice : Choice
        Whom to withhold, and how to predict the rest.
    proba : ndarray of shape (n, n_classes), or (n,) for the positive class of two
        Calibrated, adapted probabilities.
    abstain : ndarray of bool, shape (n,)
        Which rows are withheld.
    estimate : Estimate
        The metric before and after.
    replicates : tuple of Replicates
        What the intervals are made of, under each assumption that may be right.
    other : callable or None
        Gives the replicates under the other assumption, where one was chosen of two.
    reached : float or None
        How probably the kept reach the target that was asked for.
    certificate : Certificate or None
        What held-out labels prove.
    values : ndarray of shape (n,) or None
        The score that ordered the rows, where the probabilities do not tell it.
    unadapted : ndarray or None
        The probabilities as they came, where a class is estimated to be gone.
    """

    estimator: ShiftEstimator
    assumption: Assumption
    choice: Choice
    proba: FloatArray
    abstain: Mask
    estimate: Estimate
    replicates: tuple[Replicates, ...]
    other: Callable[[], Replicates] | None = None
    reached: float | None = None
    certificate: Certificate | None = None
    values: FloatArray | None = None
    unadapted: FloatArray | None = None


def flow(
    proba: FloatArray,
    weight: FloatArray | None,
    *,
    labelled: LabelledSummary,
    shift: ShiftEstimator,
    metric: Metric,
    selection: Selection,
    seed: int = 0,
    level: float = LEVEL,
    classes: Sequence[Any] | None = None,
    choose: Chooser | None = None,
    values: Callable[[ShiftEstimator], FloatArray] | None = None,
    known: KnownLabels | None = None,
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
    level : float
        How often the intervals are to hold.
    classes : sequence, optional
        The label of each column, for what is said about them.
    choose : callable, optional
        What chooses in place of the selection.
    values : callable, optional
        Gives a score of each row that no probability tells, from the fitted estimator.
    known : KnownLabels, optional
        Further rows of the batch, about which nothing is to be decided.
    """
    by_rows = not metric.ranks or values is not None
    lap = stopwatch()
    # Without weights the atoms of a ranking are in an order of their own as they are. Where labels
    # are drawn to choose by, the order stays: a curve, or a rule adapted, is to draw the same.
    sorts = (by_rows or weight is not None) and not metric.draws_to_choose
    order = own_order(proba, weight) if sorts else None
    ordered = proba if order is None else proba[order]
    heavy = weight if order is None or weight is None else weight[order]

    def settled(bins: int | None) -> Settled:
        summary = (
            summarise(both_columns(ordered), heavy)
            if by_rows
            else metric._summarised(ordered, heavy, bins)
        )
        basis = basis_of(shift, labelled, summary, seed, classes, known=known)
        estimator = basis.estimator
        _logger.info("proportions of %d rows estimated and checked in %.2f s", len(proba), lap())
        # Of very many classes the other assumption is drawn from the rows as they were.
        in_place = basis.other is None or len(estimator.weights_) <= shifts.MANY_CLASSES
        # Nothing leads back from where a class is gone, and a report looks there.
        in_place = in_place and bool((estimator.weights_ > 0).all())
        now = summary.adapted(estimator.weights_, in_place=in_place)
        if values is not None:
            rows, capacity = values(estimator), selection.capacity(now)
            rows = rows if order is None else rows[order]
            region = ScoreThreshold(
                scores.DROPOUT_VARIANCE, score_threshold(rows, capacity, heavy)
            )
            out = rows >= region.threshold
            rule = selection.rule(metric, now, out, labelled, estimator.weights_)
            return Settled(basis, now, Choice(region, rule), None, out, rows)
        if choose is not None:
            return Settled(basis, now, *choose(now, estimator))
        choice = selection.choose(
            metric, now, seed=seed, labelled=labelled, weights=estimator.weights_
        )
        return Settled(basis, now, choice)

    bins = None if by_rows or selection.score is not None else metric.bins_for(len(proba))
    found = settled(bins)
    if bins is not None and found.moved_by_bins(metric) > _COARSE:
        found = settled(None)
    basis, reached = found.basis, None
    if selection.target is not None and choose is None:
        found, reached = surely_reached(found, metric, selection, labelled, level, seed)
    if order is not None and by_rows:
        found = found.placed(order, weight)
    choice, abstain = found.choice, found.withheld
    _logger.info("chosen for %s in %.2f s, %s", metric.name, lap(), choice.region.describe())
    # Rows of many classes are adapted already, in the summary.
    moved = found.now.compact
    gone = bool((basis.estimator.weights_ <= 0).any())
    if proba.ndim == 1:
        moved = adapted_in_place(proba.copy() if gone else proba, basis.estimator.weights_)
    prediction = None
    if abstain is None:
        decide = cleared if found.certificate is None else as_certified
        choice, prediction, abstain = decide(choice, moved, outwards=selection.budget is None)
        if prediction is None and selection.budget is not None:
            most = selection.capacity(found.now) + WEIGHT_TOLERANCE * found.now.total
            choice, abstain = within(most, choice, abstain, moved, weight)
    how: dict[str, Any] = {"replicates": basis.replicates, "seed": seed}
    if by_rows:
        # The summary is the rows themselves, and what is withheld of them is known.
        if prediction is None:
            prediction = choice.rule.predict(found.now.compact)
        decided = prediction, abstain
        drawn = drawn_rows(metric, found.now, decided, _labelled(found, choice), **how)
    else:
        drawn = drawn_choice(metric, found.now, choice, **how)
    estimate = drawn.estimate(level)
    _logger.info(
        "%d rows withheld; %s estimated in %.2f s: %s, then %s",
        np.count_nonzero(abstain),
        metric.name,
        lap(),
        estimate.before,
        estimate.after,
    )
    assumption = basis.assumption
    if not abstain.all():
        assumption = with_undefined(assumption, metric.name, estimate.before, estimate.after)
    return Outcome(
        basis.estimator,
        assumption,
        choice,
        moved,
        abstain,
        estimate,
        basis.replicates,
        basis.other,
        reached,
        found.certificate,
        found.values,
        proba if gone else None,
    )


def _labelled(found: Settled, choice: Choice) -> Decided:
    """Return what a choice does to the labelled rows; all are kept if an outside score decides."""
    proba = found.basis.replicates[0].labelled.proba
    return choice.apply(proba) if found.values is None else choice.predicted(proba)
