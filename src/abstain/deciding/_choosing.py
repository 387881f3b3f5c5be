"""Whom to withhold: by a budget, a target, a cost, a certificate, or a score from outside.

What is chosen on a summary is then moved off the edges: no row is so near to one that a last
digit decides about it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from abstain import scores
from abstain._inputs import FloatArray, IntArray, Mask
from abstain.certificates import (
    Certificate,
    Evidence,
    certified_arms,
    certified_choice,
    certified_window,
    certify,
    claims_of,
    rates_of,
)
from abstain.deciding._batch import Batch
from abstain.deciding._given import Given, Proof
from abstain.deciding._shift import ShiftEvidence
from abstain.estimation import drawn_choice
from abstain.exceptions import TargetUnreachable
from abstain.regions import Choice, ScoreThreshold, score_threshold
from abstain.selection import Memory, goals_of, raised_target
from abstain.summaries import WEIGHT_TOLERANCE, BatchSummary

# Times that a target is raised until the interval reaches it.
_RAISES = 8
# By how much at most at a time, and when it is not worth raising any more.
_MOST_RAISED = 0.25
_LEAST_RAISED = 1e-3
# A region that reads no predictions is given none.
_NO_PREDICTION: IntArray = np.empty(0, dtype=np.intp)
_NO_MARKS: Mask = np.empty(0, dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Chosen:
    """What is chosen, and what is known of it.

    Attributes
    ----------
    choice : Choice
        Whom to withhold, and how to predict the rest.
    certificate : Certificate or None
        What held-out labels prove.
    reached : float or None
        How probably the kept reach the target that was asked for.
    values : ndarray of shape (n,) or None
        The score from outside that orders the rows, as they came.
    doubts : tuple of str
        What of that which was asked for cannot be had.
    prediction, withheld : ndarray
        The predicted columns of rows, and which are withheld; empty as long as nobody asked.
    """

    choice: Choice
    certificate: Certificate | None = None
    reached: float | None = None
    values: FloatArray | None = None
    doubts: tuple[str, ...] = ()
    prediction: IntArray = field(default_factory=lambda: _NO_PREDICTION)
    withheld: Mask = field(default_factory=lambda: _NO_MARKS)

    def within(self, most: float, points: FloatArray, weight: FloatArray | None) -> Chosen:
        """Return the choice narrowed until it withholds no more weight than this.

        Bins are chosen whole; a row within a rounding of an edge may still fall on its other side
        once adapted, and then the interval gives way. Other regions have the score of a row for
        their edge, which comes out the same here.
        """
        choice, withheld = self.choice, self.withheld
        while withheld.any():
            used = np.count_nonzero(withheld) if weight is None else weight[withheld].sum()
            narrower = choice.region.narrowed() if used > most else None
            if narrower is None:
                break
            choice = Choice(narrower, choice.rule)
            withheld = choice.withheld(points)
        return replace(self, choice=choice, withheld=withheld)


def choose(given: Given, shift: ShiftEvidence, now: BatchSummary, batch: Batch) -> Chosen:
    """Choose whom to withhold of an adapted batch."""
    if batch.outside_score is not None:
        return _by_outside_score(given, shift, now, batch)
    if given.proof is not None:
        return _certified(given, given.proof, shift, now)
    if given.selection.target is not None:
        return _reached_within(given, shift, now)
    return Chosen(_selected(given, shift, now))


def off_edges(
    given: Given, chosen: Chosen, now: BatchSummary, batch: Batch, points: FloatArray
) -> Chosen:
    """Return the choice with its edges away from all points, within the budget, and its effect.

    So what is decided about a row hangs on no last digit, which another processor or another
    library may see otherwise. What labels prove something of stays as it is.
    """
    if chosen.values is not None:
        return chosen
    (region, rule), budget, prediction = chosen.choice, given.selection.budget, _NO_PREDICTION
    if region.reads_prediction:
        prediction = rule.predict(points)
    if chosen.certificate is None:
        cleared = rule.cleared(points)
        # What is withheld was chosen for these predictions.
        if not prediction.size or np.array_equal(cleared.predict(points), prediction):
            rule = cleared
        region, withheld = region.cleared(points, prediction, outwards=budget is None)
    else:
        withheld = region.contains(points, prediction)
    found = replace(chosen, choice=Choice(region, rule), prediction=prediction, withheld=withheld)
    if budget is None or region.reads_prediction or not batch.at_hand:
        return found
    most = given.selection.capacity(now) + WEIGHT_TOLERANCE * now.total
    return found.within(most, points, batch.weight)


def _selected(given: Given, shift: ShiftEvidence, now: BatchSummary) -> Choice:
    return given.selection.choose(
        given.metric, now, seed=given.seed, labelled=given.labelled, weights=shift.ratios
    )


def _by_outside_score(
    given: Given, shift: ShiftEvidence, now: BatchSummary, batch: Batch
) -> Chosen:
    """Withhold the highest scores, which no probability tells."""
    if batch.outside_score is None:
        raise TypeError("There is no score from outside to withhold by.")
    values = batch.outside_score(shift.ratios)
    threshold = score_threshold(values, given.selection.capacity(now), batch.weight)
    withheld = values >= threshold
    rule = given.selection.rule(
        given.metric, now, batch.as_summarised(withheld), given.labelled, shift.ratios
    )
    region = ScoreThreshold(scores.DROPOUT_VARIANCE, threshold)
    return Chosen(Choice(region, rule), values=values, withheld=withheld)


def _certified(given: Given, proof: Proof, shift: ShiftEvidence, now: BatchSummary) -> Chosen:
    """Choose, and say what the held-out labels prove about the choice."""
    selection, metric, ratios = given.selection, given.metric, shift.ratios
    certifying = proof.labelled.at(ratios)
    if selection.arms is not None:
        choice, certificate, doubts = certified_arms(
            selection.arms,
            now,
            certifying,
            confidence=proof.confidence,
            prior_range=proof.prior_range,
            groups=proof.groups,
        )
        return Chosen(choice, certificate, doubts=doubts)
    rates = rates_of(metric, selection.target)
    if rates:
        return Chosen(*certified_window(rates, now, certifying, proof.confidence))
    if selection.target is not None:
        choice, certificate = certified_choice(
            claims_of(metric, selection.target),
            now,
            fitting=given.labelled.at(ratios),
            certifying=certifying,
            confidence=proof.confidence,
            family=selection.family(metric, now, given.seed, given.labelled, ratios),
            prior_range=proof.prior_range,
        )
        return Chosen(choice, certificate)
    choice = _selected(given, shift, now)
    evidence = Evidence.of(certifying, choice)
    return Chosen(choice, certify(evidence, confidence=proof.confidence, classes=given.classes))


def _reached_within(given: Given, shift: ShiftEvidence, now: BatchSummary) -> Chosen:
    """Withhold for the target, or what is best within the budget where the target takes more."""
    selection = given.selection
    if selection.budget is None:
        return _surely_reached(given, shift, now)
    alone = replace(selection, budget=None)
    try:
        found = _surely_reached(replace(given, selection=alone), shift, now)
        used = given.metric.point_on(now, found.choice).withheld
    except TargetUnreachable:
        used = np.inf
    if used <= selection.capacity(now) + WEIGHT_TOLERANCE * now.total:
        return found
    best = Chosen(_selected(replace(given, selection=replace(selection, target=None)), shift, now))
    return replace(best, reached=_sureness(given, best.choice, shift, now)[0])


def _surely_reached(given: Given, shift: ShiftEvidence, now: BatchSummary) -> Chosen:
    """Withhold more until the interval reaches the target; else the surest, and say how sure.

    The search for a target knows what is expected; how sure that is only the interval tells. So
    the search is asked for as much more as the interval falls short, or for half of that where
    there is not as much to be had.
    """
    metric, target = given.metric, given.selection.target or 0.0
    goals = goals_of(target, metric)
    raised = dict.fromkeys(goals, 0.0)
    chosen = surest = Chosen(_selected(given, shift, now), reached=-1.0)
    searched: Memory = {}
    for _ in range(_RAISES):
        sure, short = _sureness(given, chosen.choice, shift, now)
        chosen = replace(chosen, reached=sure)
        if max(short.values()) <= 0:
            return chosen
        surest = max(surest, chosen, key=lambda one: one.reached or 0.0)
        step = {name: float(np.clip(short[name], 0.0, _MOST_RAISED)) for name in goals}
        while max(step.values()) > _LEAST_RAISED:
            more = {name: raised[name] + step[name] for name in goals}
            try:
                choice = replace(
                    given.selection, target=raised_target(target, metric, more)
                ).choose(
                    metric,
                    now,
                    seed=given.seed,
                    labelled=given.labelled,
                    weights=shift.ratios,
                    tried=searched,
                )
                break
            except TargetUnreachable:
                step = {name: by / 2 for name, by in step.items()}
        else:
            break
        raised, chosen = more, Chosen(choice)
    return surest


def _sureness(
    given: Given, choice: Choice, shift: ShiftEvidence, now: BatchSummary
) -> tuple[float, dict[str, float]]:
    """Return how probably a choice reaches the target, and by how much each goal is missed."""
    short, reached, weight = {}, np.ones(1), np.ones(1)
    for name, goal in goals_of(given.selection.target or 0.0, given.metric).items():
        drawn = drawn_choice(
            goal.metric, now, choice, replicates=shift.replicates, seed=given.seed
        )
        short[name] = goal.shortfall(drawn.estimate(given.level).after.interval)
        reached = reached * goal.reached(drawn.after)
        weight = np.where(np.isfinite(reached), drawn.weight, 0.0)
    sure = float(np.average(np.nan_to_num(reached), weights=weight)) if weight.any() else 0.0
    return sure, short
