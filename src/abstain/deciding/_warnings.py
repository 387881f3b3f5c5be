"""What speaks against the figures for a batch, said once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import both_columns
from abstain.calibration import Calibrator
from abstain.estimation import EstimatedValue
from abstain.exceptions import AssumptionWarning, Way, warn_user
from abstain.shift import Assumption
from abstain.summaries import LabelledSummary

# Fewer logits may all lie in [0, 1] by chance.
_FEWEST_LOOKED_AT = 100
_SUM_OF_PROBABILITIES = 1e-3
_KNOWN = Way("KnownPriors", python="give the proportions with shift=KnownPriors(...)")
_SCALES = [Way("scale", name, f'scale="{name}"') for name in ("logits", "probabilities")]


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


def warn_of(assumption: Assumption | None) -> None:
    """Warn once of everything that speaks against the figures for a batch."""
    if assumption is not None and assumption.doubts:
        warn_user(" ".join(assumption.doubts), AssumptionWarning, ways=[_KNOWN])


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
            ways=[*_SCALES, Way("", python="pass the logits")],
        )
