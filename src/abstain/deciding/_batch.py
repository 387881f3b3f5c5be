"""A batch: rows at hand, or a summary of rows elsewhere, calibrated and in an order of its own.

Order and bins are settled when it is made. Behind that nobody asks which of the two it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray, RowRoles, both_columns
from abstain._kernels.proportions import adapted
from abstain.calibration import Calibrator
from abstain.metrics import Metric
from abstain.regions import Choice
from abstain.selection import Selection
from abstain.shift import KnownLabels, standing_for
from abstain.summaries import (
    BatchSummary,
    LabelledSummary,
    RowSummary,
    Summary,
    compact,
    own_order,
    summarise,
)

#: Gives a score of each row that no probability tells, from new over old class proportions.
OutsideScore = Callable[[FloatArray], FloatArray]

# Bins are taken where they move the value by less than this, about.
_COARSE = 1e-5


@dataclass(frozen=True, eq=False)
class Batch:
    """What is to be decided about.

    Attributes
    ----------
    summary : BatchSummary
        What class proportions are estimated from: calibrated, not adapted.
    rows : ndarray of shape (n, n_classes), or (n,) for the positive class of two
        Probabilities that no edge of a region may be near: of all rows in the order they came,
        or of those that a summary of rows elsewhere has kept.
    chosen_from : BatchSummary
        What is chosen from and drawn on, where that is another summary than the first.
    weight : ndarray of shape (n,) or None
        How much each row counts.
    order : ndarray of int or None
        Which row stands where in ``summary``, where it holds rows and not in the order they came.
    at_hand : bool
        Whether the rows are those that are decided about.
    by_rows : bool
        Whether they are what is chosen from, one by one.
    known : KnownLabels or None
        Further rows of the batch, about which nothing is to be decided.
    outside_score : callable or None
        A score to withhold by that no probability tells.
    binned : bool
        Whether it is summed in bins, which may be too wide.
    """

    summary: BatchSummary
    rows: FloatArray
    chosen_from: BatchSummary
    weight: FloatArray | None = None
    order: IntArray | None = None
    at_hand: bool = True
    by_rows: bool = False
    known: KnownLabels | None = None
    outside_score: OutsideScore | None = None
    binned: bool = False

    @classmethod
    def of_rows(
        cls,
        rows: FloatArray,
        weight: FloatArray | None,
        metric: Metric,
        selection: Selection,
        *,
        known: KnownLabels | None = None,
        outside_score: OutsideScore | None = None,
    ) -> Self:
        """Return the batch of calibrated, compact rows, which become its own.

        What a metric of the order reads is summed to atoms, of very many rows in bins; the rows of
        others are put in an order that does not depend on how they came.
        """
        by_rows = not metric.ranks or outside_score is not None
        # Without weights the atoms of a ranking are in an order of their own as they are. Where
        # labels are drawn to choose by, the order stays: a curve, or a rule adapted, is to draw
        # the same.
        sorts = (by_rows or weight is not None) and not metric.draws_to_choose
        order = own_order(rows, weight) if sorts else None
        ordered = rows if order is None else rows[order]
        heavy = weight if order is None or weight is None else weight[order]
        bins = None if by_rows or selection.score is not None else metric.bins_for(len(rows))
        summary = (
            summarise(both_columns(ordered), heavy)
            if by_rows
            else metric.summarised(ordered, heavy, bins)
        )
        return cls(
            _with_selected(metric, summary, known, bins),
            rows,
            summary,
            weight,
            order if by_rows else None,
            by_rows=by_rows,
            known=known,
            outside_score=outside_score,
            binned=bins is not None,
        )

    @classmethod
    def of_summary(cls, summary: Summary, metric: Metric) -> Self:
        """Return the batch of a summary of rows that are elsewhere."""
        # Of two classes the proportions are always those of the atoms; a metric that ranks
        # nothing then looks at them as rows.
        of_two = summary.n_classes == 2
        whole = summary.batch(ranks=of_two)
        chosen_from = summary.batch(ranks=False) if of_two and not metric.ranks else whole
        return cls(whole, summary.points.copy(), chosen_from, at_hand=False)

    def points(self, now: BatchSummary, ratios: FloatArray) -> FloatArray:
        """Return the adapted probabilities of the rows, in the order they came.

        It is the last use of the calibrated ones of two classes, whose place they take.
        """
        if self.rows.ndim == 1:
            return adapted(self.rows, ratios, out=self.rows)
        if self.at_hand and self.order is None:
            return now.compact
        return adapted(self.rows, ratios)

    def too_coarse(self, metric: Metric, now: BatchSummary, choice: Choice) -> bool:
        """Tell whether bins move the metric by more than they may."""
        return metric.coarseness(now, metric.point_on(now, choice).withheld) > _COARSE

    def exact(self, metric: Metric) -> Self:
        """Return the same batch without bins."""
        summary = metric.summarised(self.rows, self.weight, None)
        whole = _with_selected(metric, summary, self.known, None)
        return replace(self, summary=whole, chosen_from=summary, binned=False)

    def as_summarised(self, values: Any) -> Any:
        """Return what there is for each row in the order of the summary."""
        return values if self.order is None else values[self.order]


def _with_selected(
    metric: Metric, summary: BatchSummary, known: KnownLabels | None, bins: int | None
) -> BatchSummary:
    """Return the summary with rows of known label that were picked by their scores.

    Without these the others do not look like the batch that they are of.
    """
    if known is None or known.standing is None:
        return summary
    proba, weight = known.rows.proba, known.rows.weight
    if isinstance(summary, RowSummary):
        return summary.merged(RowSummary(proba, weight))
    return summary.merged(metric.summarised(compact(proba), weight, bins))


def calibrated_apart(
    calibrator: Calibrator, values: Any, roles: RowRoles
) -> tuple[FloatArray, FloatArray | None]:
    """Return the rows to be decided about calibrated and compact, and those of known label.

    None of the latter where no row is set aside.
    """
    if roles.nothing:
        return _compact(calibrator, values), None
    try:
        return _compact(calibrator, roles.scored(values)), _compact(
            calibrator, roles.labelled(values)
        )
    except ValueError:
        # The message should number rows as they came.
        roles.check(values, scale=calibrator.scale, n_classes=len(calibrator.classes_))
        raise


def known_labels(
    roles: RowRoles,
    codes: IntArray,
    proba: FloatArray,
    weight: FloatArray | None,
    probability: FloatArray | None,
    n_classes: int,
) -> KnownLabels:
    """Return the rows of known label, for what they say of the batch."""
    at, counts = roles.labelled_at, roles.counts(weight, n_classes)
    standing = None
    if probability is not None:
        counts, standing = standing_for(codes, probability, weight, n_classes)
    return KnownLabels(
        counts,
        LabelledSummary(
            # Probabilities that are to be adapted in place elsewhere.
            np.array(both_columns(proba)),
            codes[at],
            None if weight is None else weight[at],
        ),
        n=int((codes >= 0).sum()),
        standing=None if standing is None else standing[at],
    )


def _compact(calibrator: Calibrator, values: Any) -> FloatArray:
    if len(values):
        return calibrator.compact(values)
    n_classes = len(calibrator.classes_)
    return np.empty(0 if n_classes == 2 else (0, n_classes))
