"""How the experiments turn logits into probabilities: adapted, and by the library's defaults."""

from dataclasses import dataclass
from functools import cached_property

from abstain import calibration
from abstain._validation import FloatArray, IntArray
from abstain.paper._trial import Prepare
from abstain.shift import MaximumLikelihoodShift

__all__ = ["DefaultCalibration", "adapted"]


def adapted(calibrate: Prepare, logits_val: FloatArray, logits: FloatArray) -> Prepare:
    """Return the calibration followed by adapting to the class proportions of the test rows."""
    shift = MaximumLikelihoodShift().fit(calibrate(logits_val), calibrate(logits))
    return lambda scores: shift.transform(calibrate(scores))


@dataclass(frozen=True, eq=False)
class DefaultCalibration:
    """The library's default calibration of one repeat, fitted when first asked for.

    Parameters
    ----------
    logits_val, y_val : ndarray
        Logits and labels of the validation rows.
    logits : ndarray
        Logits of the test rows.
    """

    logits_val: FloatArray
    y_val: IntArray
    logits: FloatArray

    @cached_property
    def _calibrate(self) -> Prepare:
        calibrator = calibration.get("auto", scale="logits")
        return calibrator.fit(self.logits_val, self.y_val).predict_proba

    def unadapted(self) -> Prepare:
        """Return the calibration alone."""
        return self._calibrate

    def adapted(self) -> Prepare:
        """Return the calibration followed by adapting to the test rows."""
        return adapted(self._calibrate, self.logits_val, self.logits)
