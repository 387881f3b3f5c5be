"""The methods of the paper's tables, and ours beside them, by the names of their rows."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from abstain._inputs import FloatArray
from abstain.metrics import AUROC, Metric, SensitivityAtSpecificity, WeightedKappa
from abstain.paper._trial import Ordering, Trial
from abstain.regions import Choice
from abstain.rules import Argmax
from abstain.scores import distance_from_half, entropy, js_divergence, max_probability
from abstain.selection import choose_class_thresholds
from abstain.summaries import LabelledSummary, RowSummary

#: Orders the rows of a trial for a metric and a number of rows to withhold.
Method = Callable[[Trial, Metric, int], Ordering]


@dataclass(frozen=True)
class _DeltaMetric:
    """Withhold what is expected to raise the metric most.

    Parameters
    ----------
    sampled : bool
        Estimate over sampled labels, rather than with probabilities in their place.
    joint : bool
        Repeat a marginal choice from the rows kept, where the metric's choice is marginal.
    optimal : bool
        Use the library's default calibration, and predict what suits the metric best.
    """

    sampled: bool = False
    joint: bool = False
    optimal: bool = False

    def __call__(self, trial: Trial, metric: Metric, capacity: int) -> Ordering:
        proba = trial.proba_default if self.optimal else trial.proba
        variant = self._variant(metric, trial.seed)
        choice = variant.choose(
            proba, float(capacity), decision="optimal" if self.optimal else "argmax"
        )
        prediction = choice.rule.predict(proba)
        score = choice.region.score(proba, prediction)
        return Ordering(_nearness(choice, proba) if score is None else score, proba, prediction)

    def _variant(self, metric: Metric, seed: int) -> Metric:
        """Return the metric with the algorithm of this row."""
        method: Any = "sampled" if self.sampled else "deterministic"
        if isinstance(metric, SensitivityAtSpecificity):
            return SensitivityAtSpecificity(metric.specificity, method=method, random_state=seed)
        if isinstance(metric, AUROC):
            return AUROC(method=method, random_state=seed)
        if isinstance(metric, WeightedKappa):
            solver: Any = "joint" if self.joint or self.optimal else "marginal"
            return WeightedKappa(metric.weights, solver=solver, method=method, random_state=seed)
        return metric


def _nearness(choice: Choice, proba: FloatArray) -> FloatArray:
    """Score rows by how near their p is to an interval, 0 inside.

    The paper withholds a fixed number of rows. An interval holds no more than that number, and
    a little less where ties straddle its edge; then the nearest rows fill up.
    """
    ends = choice.region.to_dict()
    p = proba[:, 1]
    distance: FloatArray = np.maximum(np.maximum(ends["lower"] - p, p - ends["upper"]), 0.0)
    return -distance


def _class_thresholds(trial: Trial, metric: Metric, capacity: int) -> Ordering:
    """Choose an interval on the validation set, which is calibrated but, as there, not adapted."""
    interval = choose_class_thresholds(
        metric, RowSummary(trial.proba), capacity, LabelledSummary(trial.proba_val, trial.y_val)
    )
    return trial.by_score(_nearness(Choice(interval, Argmax()), trial.proba))


def _by(score: Callable[[Trial], FloatArray]) -> Method:
    def method(trial: Trial, metric: Metric, capacity: int) -> Ordering:
        return trial.by_score(score(trial))

    return method


METHODS: dict[str, Method] = {
    "delta-metric": _DeltaMetric(),
    "delta-metric-sampled": _DeltaMetric(sampled=True),
    "delta-metric-joint": _DeltaMetric(joint=True),
    "delta-metric-optimal": _DeltaMetric(optimal=True),
    "js-divergence": _by(
        lambda trial: js_divergence(trial.proba, priors=trial.proba.mean(axis=0))
    ),
    "distance-from-half": _by(lambda trial: distance_from_half(trial.proba)),
    "entropy": _by(lambda trial: entropy(trial.proba)),
    "max-probability": _by(lambda trial: max_probability(trial.proba)),
    "class-thresholds": _class_thresholds,
    "dropout-variance": _by(lambda trial: trial.dropout_variance),
}


def own_method(name: str) -> Method:
    """Return the method of a user's score, named as ``module:function``.

    The function gets the prepared probabilities of the test rows, of shape (n, n_classes), and
    returns one number per row; high is withheld first. Modules of the working folder are found.
    """
    module, _, function = name.partition(":")
    if not module or not function:
        raise ValueError(
            f"`--method` must be module:function, such as my_module:my_score; got {name!r}."
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        score = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"`--method` {name!r}: no module {error.name!r}, here in {here} or installed."
        ) from error
    except AttributeError as error:
        raise ValueError(f"`--method` {name!r}: {module} has no {function!r}.") from error

    def method(trial: Trial, metric: Metric, capacity: int) -> Ordering:
        values = np.asarray(score(trial.proba.copy()), dtype=np.float64)
        if values.shape != (len(trial.y),) or np.isnan(values).any():
            raise ValueError(
                f"`--method` {name!r} must return one number per row, no NaN; "
                f"{len(trial.y)} rows, got shape {values.shape}."
            )
        return trial.by_score(values)

    return method
