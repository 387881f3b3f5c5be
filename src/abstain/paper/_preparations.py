"""How the experiments turn logits into probabilities: adapted, and by the library's defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from abstain import calibration
from abstain._inputs import FloatArray, IntArray
from abstain.paper._trial import Prepare
from abstain.shift import MaximumLikelihoodShift, adapt_proba

# When the paper's EM stops: no proportion moved by more, or after this many rounds. It stops short
# of the maximum of the likelihood where a class is rare, and that shows in the third decimal.
_TOLERANCE, _MOST_ROUNDS = 1e-6, 100


def adapted(calibrate: Prepare, logits_val: FloatArray, logits: FloatArray) -> Prepare:
    """Return the calibration followed by adapting to the test rows as the paper does, by EM."""
    source = calibrate(logits_val).mean(axis=0)
    proba = calibrate(logits)
    priors = source
    for _ in range(_MOST_ROUNDS):
        before, priors = priors, adapt_proba(proba, priors / source).mean(axis=0)
        if np.abs(priors - before).max() <= _TOLERANCE:
            break
    weights = priors / source
    return lambda scores: adapt_proba(calibrate(scores), weights)


@dataclass(frozen=True, eq=False)
class DefaultCalibration:
    """The library's default calibration of one repeat, fitted when first asked for.

    Parameters
    ----------
    logits_val, y_val : ndarray
        Logits and labels of the validation rows.
    logits : ndarray
        Logits of the test rows.
    kind : callable
        Returns the name of the calibration; the default picks by cross-validation.
    """

    logits_val: FloatArray
    y_val: IntArray
    logits: FloatArray
    kind: Callable[[], str] = lambda: "auto"

    @cached_property
    def _calibrate(self) -> Prepare:
        calibrator = calibration.get(self.kind(), scale="logits")
        return calibrator.fit(self.logits_val, self.y_val).predict_proba

    def unadapted(self) -> Prepare:
        """Return the calibration alone."""
        return self._calibrate

    def adapted(self) -> Prepare:
        """Return the calibration followed by adapting to the test rows."""
        calibrate = self._calibrate
        shift = MaximumLikelihoodShift()
        shift.fit(calibrate(self.logits_val), calibrate(self.logits))
        return lambda scores: shift.transform(calibrate(scores))
