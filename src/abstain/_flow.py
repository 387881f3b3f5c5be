"""The one flow: calibrated probabilities of a batch in, priors, choice and estimate out.

``Abstainer.decide`` and ``Policy.adapt`` are this, with different words around it. The batch is
summarised once; everything but the mask of what is withheld is computed on the summary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain import scores
from abstain import shift as shifts
from abstain._inputs import Aside, FloatArray, IntArray, Mask, both_columns
from abstain._kernels.adapt import adapted, adapted_positive
from abstain._logs import logger, stopwatch
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
from abstain.exceptions import AssumptionWarning, NotIdentifiable, TargetUnreachable, warn_user
from abstain.metrics import Metric
from abstain.regions import Choice, ScoreThreshold, score_threshold
from abstain.selection import Memory, Selection, goals_of, raised_target
from abstain.shift import Assumption, KnownLabels, ShiftEstimator
from abstain.summaries import (
    WEIGHT_TOLERANCE,
    LabelledSummary,
    RowSummary,
    Summary,
    own_order,
    summarise,
)

__all__ = [
    "Basis",
    "Outcome",
    "adapted_in_place",
    "basis_of",
    "calibrated_apart",
    "flow",
    "labelled_rows",
    "warn_of",
    "warn_of_scale",
    "with_undefined",
]

_logger = logger("flow")

# Bins are taken where they move the value by less than this, about.
_COARSE = 1e-5
# Rows of a batch that stand for all of them where it is asked what they leave open.
_SKETCH = 4_096
# Times that a target is raised until the interval reaches it.
_RAISES = 8
# A region that reads no predictions is given none.
_NOT_READ: IntArray = np.empty(0, dtype=np.intp)
# Fewer logits may all lie in [0, 1] by chance.
_FEWEST_LOOKED_AT = 100
_SUM_OF_PROBABILITIES = 1e-3
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

    def settled(bins: int | None) -> _Settled:
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
        decide = _cleared if found.certificate is None else _as_certified
        choice, prediction, abstain = decide(choice, moved, outwards=selection.budget is None)
        if prediction is None and selection.budget is not None:
            most = selection.capacity(found.now) + WEIGHT_TOLERANCE * found.now.total
            choice, abstain = _within(most, choice, abstain, moved, weight)
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
    known: KnownLabels | None = None,
) -> Basis:
    """Estimate the class proportions of a batch, check what that rests on, and replicate it."""
    estimator = _fitted(how, labelled, summary, classes, known)
    sketch = summary.sketch(_SKETCH)
    used = estimator.weights_ if at is None else at

    def replicates_of(one: ShiftEstimator) -> Replicates:
        found = replicated(one, labelled, sketch, seed, at=used)
        return found if known is None else found.with_batch_rows(known.rows, one.weights_, seed)

    replicates = [replicates_of(estimator)]
    draws = replicates[0].moves.ratios[1:] * estimator.source_priors_
    assumption = shifts.assumption_of(
        estimator, labelled, summary, classes, draws / draws.sum(axis=1, keepdims=True)
    )
    if known is not None:
        moves, names = replicates[0].moves, classes or range(len(used))
        more = shifts.known_doubts(known, summary, moves, classes=[*names], seed=seed)
        assumption = replace(assumption, doubts=(*assumption.doubts, *more), n_labels=known.n)
    _logger.info(
        "shift %s: %s Proportions %s, then %s",
        how.name,
        assumption.summary(),
        estimator.source_priors_,
        estimator.priors_,
    )
    rejected, other = estimator.other(), None
    if rejected is not None:

        def other() -> Replicates:
            return replicates_of(rejected)

        if assumption.undecided:
            replicates.append(other())
    return Basis(estimator, assumption, tuple(replicates), other)


def _fitted(
    how: ShiftEstimator,
    labelled: LabelledSummary,
    summary: Summary,
    classes: Sequence[Any] | None,
    known: KnownLabels | None,
) -> ShiftEstimator:
    """Return the estimator fitted on both; what it cannot tell apart is said by name."""
    try:
        counts = None if known is None else known.counts
        return clone(how).fit_summaries(labelled, summary, counts)
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

    def placed(self, order: IntArray, weight: FloatArray | None) -> _Settled:
        """Return the same with the rows where they stood before they were put in an order."""
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return replace(
            self,
            now=RowSummary(self.now.proba[back], weight),
            withheld=None if self.withheld is None else self.withheld[back],
            values=None if self.values is None else self.values[back],
        )

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


def calibrated_apart(
    calibrator: Calibrator, values: Any, aside: Aside
) -> tuple[FloatArray, FloatArray]:
    """Return the rows to be decided about calibrated and compact, and those of known label."""
    if aside.nothing:
        return calibrator.compact(values), _no_rows(calibrator)
    try:
        return _compact(calibrator, aside.scored(values)), _compact(
            calibrator, aside.labelled(values)
        )
    except ValueError:
        # The message should number rows as they came.
        aside.check(values, scale=calibrator.scale, n_classes=len(calibrator.classes_))
        raise


def _compact(calibrator: Calibrator, values: Any) -> FloatArray:
    return calibrator.compact(values) if len(values) else _no_rows(calibrator)


def _no_rows(calibrator: Calibrator) -> FloatArray:
    n_classes = len(calibrator.classes_)
    return np.empty(0 if n_classes == 2 else (0, n_classes))


def warn_of(assumption: Assumption) -> None:
    """Warn once of everything that speaks against the figures for a batch."""
    if assumption.doubts:
        warn_user(" ".join(assumption.doubts), AssumptionWarning)


def warn_of_scale(values: NDArray[Any], calibrator: Calibrator, labelled: LabelledSummary) -> None:
    """Warn of a batch of logits that look like probabilities, where the validation logits did not.

    Those of the validation data are not kept; but what the calibrator makes of logits in [0, 1]
    has a range, and calibrated validation rows beyond it came from elsewhere.
    """
    if calibrator.scale != "logits" or len(values) < _FEWEST_LOOKED_AT:
        return
    if values.dtype.kind != "f" or not (values.min() >= 0 and values.max() <= 1):
        return
    if values.ndim == 2 and np.abs(values.sum(axis=1) - 1).max() > _SUM_OF_PROBABILITIES:
        return
    n_classes = labelled.proba.shape[1]
    ends = np.array([0.0, 1.0]) if values.ndim == 1 else np.eye(n_classes)
    reach = both_columns(calibrator.compact(ends))
    beyond = (labelled.proba < reach.min(axis=0) - 1e-9) | (
        labelled.proba > reach.max(axis=0) + 1e-9
    )
    if beyond.any():
        warn_user(
            'Every one of `scores` is in [0, 1], though scale="logits" was fitted on logits that '
            "went beyond. If these are probabilities, pass the logits that the classifier gives "
            'before its softmax or sigmoid, or fit with scale="probabilities" on probabilities.',
            AssumptionWarning,
        )


def adapted_in_place(proba: FloatArray, ratios: FloatArray) -> FloatArray:
    """Adapt probabilities to other class proportions where they stand, and return them."""
    if proba.ndim == 1:
        return adapted_positive(proba, ratios, out=proba)
    return adapted(proba, ratios, out=proba)


def _cleared(
    choice: Choice, proba: FloatArray, *, outwards: bool
) -> tuple[Choice, IntArray | None, Mask]:
    """Return the choice with its edges away from all rows, and the rows it withholds.

    With the predictions, where those had to be made. So what is decided about a row hangs on no
    last digit, which another processor or another library may see otherwise.
    """
    rule, prediction = choice.rule.cleared(proba), None
    if choice.region.reads_prediction:
        prediction = choice.rule.predict(proba)
        # What is withheld was chosen for these predictions.
        if rule != choice.rule and not np.array_equal(rule.predict(proba), prediction):
            rule = choice.rule
    read = _NOT_READ if prediction is None else prediction
    region, abstain = choice.region.cleared(proba, read, outwards=outwards)
    return Choice(region, rule), prediction, abstain


def _as_certified(
    choice: Choice, proba: FloatArray, *, outwards: bool
) -> tuple[Choice, IntArray | None, Mask]:
    """Return the choice as it is, which is what the labels prove something of."""
    if choice.region.reads_prediction:
        return choice, *choice.apply(proba)
    return choice, None, choice.withheld(proba)


def _within(
    most: float, choice: Choice, abstain: Mask, proba: FloatArray, weight: FloatArray | None
) -> tuple[Choice, Mask]:
    """Return the choice and the rows it withholds, never more than the budget.

    Bins are chosen whole; a row within a rounding of an edge may still fall on its other side
    once adapted, and then the interval gives way. Other regions have the score of a row for
    their edge, which comes out the same here.
    """
    while abstain.any() and _weight_of(abstain, weight) > most:
        narrower = choice.region.narrowed()
        if narrower is None:
            break
        choice = choice._replace(region=narrower)
        abstain = choice.withheld(proba)
    return choice, abstain


def _weight_of(rows: Mask, weight: FloatArray | None) -> float:
    return float(np.count_nonzero(rows) if weight is None else weight[rows].sum())
