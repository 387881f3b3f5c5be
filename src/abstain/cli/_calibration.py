"""Two files of predictions as the library sees them: calibrated, then summarised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from abstain import calibration as calibrations
from abstain._inputs import ClassOrder, FloatArray, LabelledScores, read_labelled, read_scores
from abstain.calibration import Calibrator
from abstain.deciding import labelled_rows
from abstain.summaries import LabelledSummary

if TYPE_CHECKING:
    from abstain.cli._labels import Classes
    from abstain.cli._options import Method
    from abstain.cli._predictions import Predictions


class Calibrated(NamedTuple):
    """The calibrator, the validation data, and the batch's compact probabilities."""

    calibrator: Calibrator
    labelled: LabelledSummary
    proba: FloatArray
    order: ClassOrder


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


def calibrate_both(
    source: Predictions, new: Predictions, method: Method, classes: Classes, **options: Any
) -> Calibrated:
    """Calibrate on labelled predictions, and calibrate both with that."""
    calibrator, given = fitted_calibrator(source, method, classes, **options)
    order = given.order
    labelled = labelled_rows(calibrator, given.scores, given.codes, None)
    scores = read_scores(new.scores_for(order.columns), order, scale=method.scale).values
    return Calibrated(calibrator, labelled, calibrator.compact(scores), order)
