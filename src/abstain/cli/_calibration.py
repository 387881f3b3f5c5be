"""Two files of predictions as the library sees them: calibrated, and what moved between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from abstain import calibration as calibrations
from abstain import metrics
from abstain import shift as shifts
from abstain._inputs import (
    ClassOrder,
    LabelledScores,
    check_seed,
    read_labelled,
    read_scores,
)
from abstain.calibration import Calibrator
from abstain.deciding import Batch, Given, ShiftEvidence, estimate_shift, labelled_rows
from abstain.selection import Selection
from abstain.summaries import BatchSummary, LabelledSummary

if TYPE_CHECKING:
    from abstain.cli._labels import Classes
    from abstain.cli._options import Method
    from abstain.cli._predictions import Predictions
    from abstain.metrics import Metric


def fitted_calibrator(
    source: Predictions, method: Method, classes: Classes, **options: Any
) -> tuple[Calibrator, LabelledScores]:
    """Return a calibrator fitted on labelled predictions, as what was picked, and the scores."""
    calibrator = calibrations.get(method.calibration, scale=method.scale, **options)
    given = read_labelled(
        source.scores,
        source.labels,
        scale=method.scale,
        classes=classes.columns,
        positive=classes.positive,
    )
    calibrator.fit(given.values, source.labels, classes=given.order.classes)
    return calibrator.picked, given


@dataclass(frozen=True, eq=False)
class Basis:
    """The two files calibrated, and what is estimated of them before anything is chosen.

    Attributes
    ----------
    calibrator : Calibrator
        Fitted on the validation data.
    labelled, summary : LabelledSummary and BatchSummary
        The validation data and the batch, calibrated and not adapted.
    evidence : ShiftEvidence
        What moved.
    order : ClassOrder
        How the classes stand.
    seed : int
        What seeds draws.
    """

    calibrator: Calibrator
    labelled: LabelledSummary
    summary: BatchSummary
    evidence: ShiftEvidence
    order: ClassOrder
    seed: int

    @classmethod
    def of(
        cls,
        source: Predictions,
        new: Predictions,
        classes: Classes,
        method: Method,
        metric: Metric | None = None,
    ) -> Self:
        """Calibrate both on the labelled one, and estimate what moved."""
        metric = metrics.get("accuracy") if metric is None else metric
        seed, estimator = check_seed(method.random_state), shifts.get(method.shift)
        calibrator, given = fitted_calibrator(
            source, method, classes, estimating_shift=estimator.name != "none"
        )
        order = given.order
        labelled = labelled_rows(calibrator, given.scores, given.codes, None)
        scores = read_scores(new.scores_for(order.columns), order, scale=method.scale).values
        metric.check_n_classes(len(order.classes))
        rows = calibrator.compact(scores)
        summary = Batch.of_rows(rows, None, metric, Selection()).summary
        how = Given(labelled, estimator, metric, Selection(), order.classes, seed)
        return cls(calibrator, labelled, summary, estimate_shift(how, summary), order, seed)
