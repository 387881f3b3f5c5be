"""Two files of predictions as the library sees them: calibrated, then summarised."""

from typing import TYPE_CHECKING, Any, NamedTuple

from abstain import calibration as calibrations
from abstain._flow import labelled_rows
from abstain._inputs import FloatArray, Scale, check_labels
from abstain.calibration import Calibrator
from abstain.summaries import LabelledSummary

if TYPE_CHECKING:
    from abstain.cli._tables import Predictions

__all__ = ["Calibrated", "calibrated", "fitted_calibrator"]


class Calibrated(NamedTuple):
    """The calibrator, the validation data, and the batch's compact probabilities."""

    calibrator: Calibrator
    labelled: LabelledSummary
    proba: FloatArray


def fitted_calibrator(
    source: "Predictions", calibration: str, scale: Scale, **options: Any
) -> Calibrator:
    """Return a calibrator fitted on labelled predictions, as what was picked."""
    calibrator = calibrations.get(calibration, scale=scale, **options)
    scores = source.array_for(source.classes or ())
    return calibrator.fit(scores, source.labels, classes=source.classes).picked


def calibrated(
    source: "Predictions", new: "Predictions", calibration: str, scale: Scale, **options: Any
) -> Calibrated:
    """Calibrate on labelled predictions, and calibrate both with that."""
    calibrator = fitted_calibrator(source, calibration, scale, **options)
    classes = calibrator.classes_
    codes = check_labels(source.labels, classes=classes)
    labelled = labelled_rows(calibrator, source.array_for(classes), codes, None)
    return Calibrated(calibrator, labelled, calibrator.compact(new.array_for(classes)))
