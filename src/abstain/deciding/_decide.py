"""The one function: a batch in; proportions, choice and estimate out.

Calls, files, clusters, pages and monitors come through here, whether the rows are at hand or a
summary of them is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from abstain._logs import logger, stopwatch
from abstain.deciding._batch import Batch
from abstain.deciding._choosing import Chosen, choose, off_edges
from abstain.deciding._doubts import (
    choice_doubts,
    in_vain,
    may_be_in_vain,
    with_undefined,
    worsens,
)
from abstain.deciding._given import Given
from abstain.deciding._outcome import Outcome
from abstain.deciding._shift import ShiftEvidence, estimate_shift
from abstain.estimation import Estimate, drawn_rows
from abstain.metrics import Metric
from abstain.shift import Assumption
from abstain.summaries import SKETCH, BatchSummary

_logger = logger("flow")


def decide(given: Given, batch: Batch, shift: ShiftEvidence | None = None) -> Outcome:
    """Estimate what happened to a batch, choose whom to withhold, estimate what that does.

    Parameters
    ----------
    given : Given
        What the decision is made from.
    batch : Batch
        What is decided about; its rows may be overwritten.
    shift : ShiftEvidence, optional
        What happened, where that was estimated on rows of which these are a part.
    """
    lap = stopwatch()
    of_these = shift is None
    if shift is None:
        shift = estimate_shift(given, batch.summary, known=batch.known)
    _logger.info(
        "proportions of %d rows estimated and checked in %.2f s", batch.summary.n_rows, lap()
    )
    given = replace(given, metric=given.metric.at(shift.ratios))
    # Many rows of many classes are not kept twice, where nobody reads them any more.
    reuse = batch.at_hand and len(batch.rows) > SKETCH and not shift.reads_rows
    now = batch.chosen_from.adapted(shift.ratios, in_place=reuse)
    chosen = choose(given, shift, now, batch)
    if batch.binned and batch.too_coarse(given.metric, now, chosen.choice):
        return decide(given, batch.exact(given.metric), None if of_these else shift)
    points = batch.points(now, shift.ratios)
    chosen = off_edges(given, chosen, now, batch, points)
    _logger.info(
        "chosen for %s in %.2f s, %s", given.metric.name, lap(), chosen.choice.region.describe()
    )
    estimate, doubts = _estimated(given, shift, now, chosen, batch)
    if may_be_in_vain(given) and worsens(given.metric, estimate):
        _logger.info("not expected to help, so nobody is withheld: %r", estimate)
        nobody = replace(given, selection=given.selection.nothing())
        doubts = [in_vain(given.metric, estimate)]
        chosen = off_edges(nobody, choose(nobody, shift, now, batch), now, batch, points)
        estimate, more = _estimated(nobody, shift, now, chosen, batch)
        doubts += more
    withheld = chosen.withheld
    told = np.count_nonzero(withheld), given.metric.name, lap(), estimate.before, estimate.after
    _logger.info("%d rows withheld; %s estimated in %.2f s: %s, then %s", *told)
    return Outcome(
        given.metric,
        chosen.choice,
        points,
        withheld,
        batch.weight,
        shift,
        _assumed(shift, given.metric, estimate, doubts, bool(withheld.all())),
        given.seed,
        given.level,
        certificate=chosen.certificate,
        reached=chosen.reached,
        values=chosen.values,
        figures=estimate,
    )


def _assumed(
    shift: ShiftEvidence, metric: Metric, estimate: Estimate, doubts: list[str], nothing_left: bool
) -> Assumption:
    """Return what figures rest on, with what speaks against the choice."""
    found = shift.assumption
    if not nothing_left:
        found = with_undefined(found, metric.name, estimate.before, estimate.after)
    return replace(found, doubts=(*found.doubts, *doubts)) if doubts else found


def _estimated(
    given: Given, shift: ShiftEvidence, now: BatchSummary, chosen: Chosen, batch: Batch
) -> tuple[Estimate, list[str]]:
    """Estimate what a choice does, to the rows where these are what was chosen from; doubt it."""
    choice, metric, replicates = chosen.choice, given.metric, shift.replicates
    proba = replicates[0].labelled.proba
    # What a score from outside would do to labelled rows nobody knows: all are kept.
    labelled = choice.apply(proba) if chosen.values is None else choice.predicted(proba)
    if not batch.by_rows:
        decided = metric.applied(choice, now)
    else:
        prediction = (
            batch.as_summarised(chosen.prediction)
            if chosen.prediction.size
            else choice.rule.predict(now.compact)
        )
        decided = prediction, batch.as_summarised(chosen.withheld)
    metric = metric.for_choice(choice)
    drawn = drawn_rows(metric, now, decided, labelled, replicates=replicates, seed=given.seed)
    estimate = drawn.estimate(given.level)
    return estimate, choice_doubts(given, chosen, now, decided, estimate)
