"""The flow on a summary alone: the rows are elsewhere, and a policy will decide about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from abstain._flow._basis import basis_of
from abstain._flow._calibrated import adapted_in_place
from abstain._flow._rows import Chooser
from abstain._flow._settled import Settled, as_certified, cleared, surely_reached
from abstain._flow._warnings import with_undefined
from abstain._logs import logger, stopwatch
from abstain.certificates import Certificate
from abstain.estimation import LEVEL, Estimate, drawn_choice
from abstain.metrics import Metric
from abstain.regions import Choice
from abstain.selection import Selection
from abstain.shift import Assumption, ShiftEstimator
from abstain.summaries import LabelledSummary, Summary

__all__ = ["SummaryOutcome", "flow_of_summary"]

_logger = logger("flow")


@dataclass(frozen=True, eq=False)
class SummaryOutcome:
    """What the flow found for rows that are elsewhere.

    Attributes
    ----------
    estimator, assumption, choice, estimate, certificate
        As of :class:`abstain._flow.Outcome`.
    """

    estimator: ShiftEstimator
    assumption: Assumption
    choice: Choice
    estimate: Estimate
    certificate: Certificate | None


def flow_of_summary(
    given: Summary,
    *,
    labelled: LabelledSummary,
    shift: ShiftEstimator,
    metric: Metric,
    selection: Selection,
    seed: int = 0,
    level: float = LEVEL,
    classes: Sequence[Any] | None = None,
    choose: Chooser | None = None,
) -> SummaryOutcome:
    """Estimate the class proportions of summarised rows, choose a region, estimate what it does.

    Parameters
    ----------
    given : Summary
        The rows, merged from wherever they are.
    labelled, shift, metric, selection, seed, level, classes, choose
        As of :func:`abstain._flow.flow`.
    """
    lap = stopwatch()
    # Of two classes the proportions are always those of the atoms; a metric that ranks nothing
    # then looks at them as rows.
    of_two = given.n_classes == 2
    batch = given.batch(ranks=of_two)
    basis = basis_of(shift, labelled, batch, seed, classes)
    ratios = basis.estimator.weights_
    if of_two and not metric.ranks:
        batch = given.batch(ranks=False)
    now = batch.adapted(ratios)
    if choose is not None:
        found = Settled(basis, now, *choose(now, basis.estimator))
    else:
        choice = selection.choose(metric, now, seed=seed, labelled=labelled, weights=ratios)
        found = Settled(basis, now, choice)
        if selection.target is not None:
            found, _ = surely_reached(found, metric, selection, labelled, level, seed)
    decide = cleared if found.certificate is None else as_certified
    points = adapted_in_place(given.points.copy(), ratios)
    choice, _, _ = decide(found.choice, points, outwards=selection.budget is None)
    estimate = drawn_choice(metric, now, choice, replicates=basis.replicates, seed=seed).estimate(
        level
    )
    _logger.info(
        "chosen for %s in %.2f s from a summary of %d rows, %s",
        metric.name,
        lap(),
        given.n_rows,
        choice.region.describe(),
    )
    assumption = with_undefined(basis.assumption, metric.name, estimate.before, estimate.after)
    return SummaryOutcome(
        basis.estimator,
        assumption,
        choice,
        estimate,
        found.certificate,
    )
