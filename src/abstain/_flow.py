"""The one flow: calibrated probabilities of a batch in, priors, choice and estimate out.

``Abstainer.decide`` and ``Policy.adapt`` are this, with different words around it. The batch is
summarised once; everything but the mask of what is withheld is computed on the summary.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from abstain import scores
from abstain import shift as shifts
from abstain._inputs import FloatArray, IntArray, Mask, both_columns
from abstain._kernels.adapt import adapted, adapted_positive
from abstain._numerics import clone
from abstain.calibration import Calibrator, held_out
from abstain.certificates import Certificate
from abstain.estimation import (
    LEVEL,
    Decided,
    Estimate,
    EstimatedValue,
    Replicates,
    drawn_choice,
    drawn_rows,
    replicated,
)
from abstain.exceptions import AssumptionWarning, NotIdentifiable, TargetUnreachable
from abstain.metrics import Metric
from abstain.regions import Choice, ScoreThreshold, score_threshold
from abstain.selection import Memory, Selection, goals_of, raised_target
from abstain.shift import Assumption, ShiftEstimator
from abstain.summaries import WEIGHT_TOLERANCE, LabelledSummary, Summary, summarise

__all__ = [
    "Basis",
    "Outcome",
    "adapted_in_place",
    "basis_of",
    "flow",
    "labelled_rows",
    "warn_of",
    "with_undefined",
]

# Bins are taken where they move the value by less than this, about.
_COARSE = 1e-5
# Rows of a batch that stand for all of them where it is asked what they leave open.
_SKETCH = 4_096
# Times that a target is raised until the interval reaches it.
_RAISES = 8
# By how much at most at a time, and when it is not worth raising any more.
_MOST_RAISED = 0.25
_LEAST_RAISED = 1e-3

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
    """
    by_rows = not metric.ranks or values is not None

    def settled(bins: int | None) -> _Settled:
        summary = (
            summarise(both_columns(proba), weight)
            if by_rows
            else metric._summarised(proba, weight, bins)
        )
        basis = basis_of(shift, labelled, summary, seed, classes)
        estimator = basis.estimator
        # Of very many classes the other assumption is drawn from the rows as they were.
        in_place = basis.other is None or len(estimator.weights_) <= shifts.MANY_CLASSES
        now = summary.adapted(estimator.weights_, in_place=in_place)
        if values is not None:
            rows, capacity = values(estimator), selection.capacity(now)
            region = ScoreThreshold(
                scores.DROPOUT_VARIANCE, score_threshold(rows, capacity, weight)
            )
            out = rows >= region.threshold
            rule = selection.rule(metric, now, out, labelled, estimator.weights_)
            return _Settled(basis, now, Choice(region, rule), None, out, rows)
        if choose is not None:
            return _Settled(basis, now, *choose(now, estimator))
        choice = selection.choose(
            metric, now, seed=seed, labelled=labelled, weights=estimator.weights_
        )
        return _Settled(basis, now, choice)

    bins = None if by_rows or selection.score is not None else metric.bins_for(len(proba))
    found = settled(bins)
    if bins is not None and found.moved_by_bins(metric) > _COARSE:
        found = settled(None)
    basis, reached = found.basis, None
    if selection.target is not None and choose is None:
        found, reached = _surely_reached(found, metric, selection, labelled, level, seed)
    choice, abstain = found.choice, found.withheld
    # Rows of many classes are adapted already, in the summary.
    moved = found.now.compact
    if proba.ndim == 1:
        moved = adapted_in_place(proba, basis.estimator.weights_)
    prediction = None
    if abstain is None:
        choice, prediction, abstain = _within_budget(choice, moved, weight, found.now, selection)
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
    )


@dataclass(frozen=True, eq=False)
class Basis:
    """What is estimated before anything is chosen: proportions, and what the data leave open."""

    estimator: ShiftEstimator
    assumption: Assumption
    replicates: tuple[Replicates, ...]
    other: Callable[[], Replicates] | None

    @property
    def facts(self) -> dict[str, Any]:
        """What decisions carry of it."""
        return {
            "assumption": self.assumption,
            "replicates": self.replicates,
            "other": self.other,
        }


def basis_of(
    how: ShiftEstimator,
    labelled: LabelledSummary,
    summary: Summary,
    seed: int,
    classes: Sequence[Any] | None,
    at: FloatArray | None = None,
) -> Basis:
    """Estimate the class proportions of a batch, check what that rests on, and replicate it."""
    estimator = _fitted(how, labelled, summary, classes)
    sketch = summary.sketch(_SKETCH)
    used = estimator.weights_ if at is None else at
    replicates = [replicated(estimator, labelled, sketch, seed, at=used)]
    draws = replicates[0].moves.ratios[1:] * estimator.source_priors_
    assumption = shifts.assumption_of(
        estimator, labelled, summary, classes, draws / draws.sum(axis=1, keepdims=True)
    )
    rejected, other = estimator.other(), None
    if rejected is not None:

        def other() -> Replicates:
            return replicated(rejected, labelled, sketch, seed, at=used)

        if assumption.undecided:
            replicates.append(other())
    return Basis(estimator, assumption, tuple(replicates), other)


def _fitted(
    how: ShiftEstimator,
    labelled: LabelledSummary,
    summary: Summary,
    classes: Sequence[Any] | None,
) -> ShiftEstimator:
    """Return the estimator fitted on both; what it cannot tell apart is said by name."""
    try:
        return clone(how).fit_summaries(labelled, summary)
    except NotIdentifiable as error:
        if classes is None:
            raise
        names = ", ".join(repr(classes[column]) for column in error.columns)
        raise NotIdentifiable(
            f"{error} These columns are the classes {names}.", error.columns
        ) from error


@dataclass(frozen=True, eq=False)
class _Settled:
    """What is settled on a summary: proportions, the batch adapted to them, and the choice."""

    basis: Basis
    now: Summary
    choice: Choice
    certificate: Certificate | None = None
    withheld: Mask | None = None
    values: FloatArray | None = None

    def moved_by_bins(self, metric: Metric) -> float:
        return metric.coarseness(self.now, metric._point(self.now, self.choice).withheld)


def _labelled(found: _Settled, choice: Choice) -> Decided:
    """Return what a choice does to the labelled rows; all are kept if an outside score decides."""
    proba = found.basis.replicates[0].labelled.proba
    return choice.apply(proba) if found.values is None else choice.predicted(proba)


def _surely_reached(
    found: _Settled,
    metric: Metric,
    selection: Selection,
    labelled: LabelledSummary,
    level: float,
    seed: int,
) -> tuple[_Settled, float]:
    """Withhold more until the interval reaches the target; else the surest, and say how sure.

    The search for a target knows what is expected; how sure that is only the interval tells. So
    the search is asked for as much more as the interval falls short, or for half of that where
    there is not as much to be had.
    """
    how: dict[str, Any] = {"replicates": found.basis.replicates, "seed": seed}
    target = selection.target or 0.0
    asked = goals_of(target, metric)
    weights = found.basis.estimator.weights_
    raised = step = dict.fromkeys(asked, 0.0)
    surest = found, -1.0
    tried: Memory = {}
    for _ in range(_RAISES):
        short, reached = {}, np.ones(1)
        for name, goal in asked.items():
            drawn = drawn_choice(goal.metric, found.now, found.choice, **how)
            short[name] = goal.shortfall(drawn.estimate(level).after.interval)
            reached = reached * goal.reached(drawn.after)
        sure = float(np.nanmean(reached)) if np.isfinite(reached).any() else 0.0
        if max(short.values()) <= 0:
            return found, sure
        surest = max(surest, (found, sure), key=lambda one: one[1])
        step = {name: float(np.clip(short[name], 0.0, _MOST_RAISED)) for name in asked}
        while max(step.values()) > _LEAST_RAISED:
            more = {name: raised[name] + step[name] for name in asked}
            try:
                choice = replace(selection, target=raised_target(target, metric, more)).choose(
                    metric,
                    found.now,
                    seed=seed,
                    labelled=labelled,
                    weights=weights,
                    tried=tried,
                )
                break
            except TargetUnreachable:
                step = {name: by / 2 for name, by in step.items()}
        else:
            break
        raised, found = more, replace(found, choice=choice)
    return surest


def with_undefined(assumption: Assumption, name: str, *values: EstimatedValue) -> Assumption:
    """Add that a metric is not defined, where it is not: silence would pass for an answer."""
    if np.isfinite([one.value for one in values]).all():
        return assumption
    return replace(
        assumption,
        doubts=(
            *assumption.doubts,
            f"{name} is not defined on these rows: a class that it needs is all but absent. Take "
            f"a larger batch, or a metric that does without.",
        ),
    )


def labelled_rows(
    calibrator: Calibrator, scores: Any, codes: IntArray, weight: FloatArray | None
) -> LabelledSummary:
    """Return labelled rows calibrated, and by calibrators that did not see them as well."""
    again = held_out(calibrator, scores, codes, weight)
    proba = both_columns(calibrator.compact(scores))
    if again is None:
        return LabelledSummary(proba, codes, weight)
    rows, apart, parts = again
    unseen = LabelledSummary(apart, codes[rows], parts, numbers=rows)
    return LabelledSummary(proba, codes, weight, held_out=unseen)


def warn_of(assumption: Assumption, *, stacklevel: int = 3) -> None:
    """Warn once of everything that speaks against the figures for a batch."""
    if assumption.doubts:
        warnings.warn(" ".join(assumption.doubts), AssumptionWarning, stacklevel=stacklevel)


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
