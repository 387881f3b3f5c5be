"""How well a model does on a batch without labels, when nothing is withheld.

The same calibration, class proportions and intervals as of decisions; only that nothing is chosen:
the predictions are the model's own, or given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain import metrics as metric_registry
from abstain import shift as shifts
from abstain._display import block, intervals, next_steps, proportions
from abstain._inputs import (
    ClassOrder,
    FloatArray,
    IntArray,
    Mask,
    Scale,
    check_labels,
    check_level,
    check_sample_weight,
    check_scores,
    check_seed,
    check_time,
    read_labelled,
    read_scores,
    to_native_frame,
)
from abstain._numerics import highest_of_rows, plain
from abstain.calibration import Calibrator
from abstain.deciding import (
    Given,
    KnownRows,
    ShiftEvidence,
    calibrated,
    estimate_shift,
    warn_of,
    with_drift,
    with_undefined,
)
from abstain.estimation import LEVEL, EstimatedValue, Replicates, drawn_rows
from abstain.exceptions import ArgumentError, Way
from abstain.metrics import Metric
from abstain.selection import Selection
from abstain.shift import Assumption, ShiftEstimator, World
from abstain.summaries import summarise

__all__ = ["estimate"]

# Of more classes than this those are shown whose proportion moved most.
_MANY_CLASSES = 10
_SHOWN_CLASSES = 8


@dataclass(frozen=True, eq=False)
class BatchEstimate:
    """How well a model does on a batch, estimated without labels.

    Attributes
    ----------
    values : dict of str to EstimatedValue
        Each metric's estimate with its interval; ``found["accuracy"]`` is the same as
        ``found.values["accuracy"]``.
    level : float
        How often the intervals are meant to hold.
    classes : ndarray of shape (n_classes,)
        The classes; of two, [negative, positive].
    positive : label or None
        The positive class; None for more than two, or where neither is known to be it.
    priors, source_priors : ndarray of shape (n_classes,)
        Estimated class proportions of the batch, and those of the validation data.
    assumption : Assumption
        What the figures rest on, the evidence, and what speaks against it.
    alternative : dict of str to dict, or None
        The same in each world, where several were weighed.
    """

    values: dict[str, EstimatedValue]
    level: float
    classes: NDArray[Any]
    priors: FloatArray
    source_priors: FloatArray
    assumption: Assumption
    positive: Any = None
    # What it was estimated from, for what is worked out when it is asked for.
    _asked: _Asked | None = field(default=None, repr=False)

    @cached_property
    def alternative(self) -> dict[World, dict[str, EstimatedValue]] | None:
        """The same in each world, where several were weighed."""
        if self._asked is None:
            return None
        worlds = self._asked.evidence.worlds
        return {name: self._asked.values(one) for name, one in worlds.items()} or None

    def __getitem__(self, metric: str) -> EstimatedValue:
        if metric not in self.values:
            raise KeyError(f"{metric!r} was not estimated; there is {', '.join(self.values)}.")
        return self.values[metric]

    def to_frame(self) -> Any:
        """Return one row per metric: its name, value, and the ends of its interval.

        A frame of pandas, Polars or PyArrow, the first of them that is installed.
        """
        found = self.values.values()
        columns = {
            "metric": [*self.values],
            "value": [one.value for one in found],
            "low": [one.interval[0] for one in found],
            "high": [one.interval[1] for one in found],
        }
        return to_native_frame(columns, like=None, carried=())

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data; what is not defined is None."""
        facts: dict[str, Any] = {
            "level": self.level,
            "metrics": _plain_values(self.values),
            "classes": self.classes.tolist(),
            "positive": self.positive,
            "priors": {"validation": self.source_priors, "target": self.priors},
            "assumption": {**self.assumption.to_dict(), "summary": self.assumption.summary()},
            "alternative": self.alternative
            and {world: _plain_values(found) for world, found in self.alternative.items()},
        }
        return plain(facts)  # type: ignore[no-any-return]

    def to_text(self) -> str:
        """Return the estimate as lines for people."""
        lines = _lines(self.values)
        names, shown = self.classes.tolist(), [*range(len(self.classes))]
        if len(shown) > _MANY_CLASSES:
            by = np.abs(self.priors - self.source_priors)
            shown = np.argsort(-by, kind="stable")[:_SHOWN_CLASSES].tolist()
        moved = ", ".join(
            f"{names[k]} {self.source_priors[k]:.3f} -> {self.priors[k]:.3f}" for k in shown
        )
        if len(shown) < len(names):
            moved += f", and {len(names) - len(shown)} more that moved less"
        lines += [f"Class proportions, validation -> batch: {moved}", self.assumption.summary()]
        if self.positive is not None:
            lines.insert(-1, f"Positive class: {self.positive}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(name, one.value, one.interval) for name, one in self.values.items()]
        return block(
            "Estimate",
            "of a batch, without labels; nothing is withheld",
            intervals(rows, self.level),
            proportions(self.classes.tolist(), self.source_priors, self.priors),
            self.assumption.html(),
            next_steps(".to_frame()", ".assumption", ".alternative"),
        )

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        listed = "; ".join(f"{name} {value}" for name, value in self.values.items())
        named = "" if self.positive is None else f"; positive class {self.positive}"
        return f"<BatchEstimate: {listed}{named}>"


def estimate(
    scores_val: ArrayLike,
    y_val: ArrayLike,
    scores: ArrayLike,
    metrics: Metric | str | Sequence[Metric | str],
    *,
    prediction_val: ArrayLike | None = None,
    prediction: ArrayLike | None = None,
    sample_weight_val: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    classes: Sequence[Any] | NDArray[Any] | None = None,
    calibration: Calibrator | str = "auto",
    shift: ShiftEstimator | str = "auto",
    scale: Scale = "probabilities",
    level: float = LEVEL,
    positive: Any = None,
    random_state: Any = None,
    time_val: ArrayLike | None = None,
    time: Any = None,
) -> BatchEstimate:
    """Estimate how well a model does on a batch without labels; nothing is withheld.

    Parameters
    ----------
    scores_val : array-like or frame of shape (n,) or (n, n_classes)
        Scores of the model on data it was not trained on.
    y_val : array-like of shape (n,)
        True labels of these.
    scores : array-like or frame of shape (m,) or (m, n_classes)
        Scores of the same model on the batch.
    metrics : Metric or str, or a sequence of them
        What to estimate.
    prediction_val, prediction : array-like of shape (n,) and (m,), optional
        The labels that were predicted, for both sets or for none. When not given, the model's
        own: the class with the highest score as it came, of two classes the positive one from
        0.5 (a logit of 0) on. Nothing here adapts them. Metrics of the order alone, such as
        auROC, do not read them.
    sample_weight_val, sample_weight : array-like of shape (n,) and (m,), optional
        How much each row counts; a whole number equals repetition.
    classes : sequence, optional
        The label of each column of an array, of two the positive one last (unless ``positive``
        is given); the sorted distinct labels when not given.
    calibration, shift, scale, level, positive, random_state
        As of :class:`abstain.Abstainer`.
    time_val, time : array-like of shape (n,) and of shape (m,) or one time, optional
        When the rows were, as of :meth:`abstain.Abstainer.fit` and its ``decide``.

    Returns
    -------
    BatchEstimate
        ``found["accuracy"].value`` and ``.interval``, and what they rest on.

    Warns
    -----
    AssumptionWarning
        If something speaks against the figures; it says what, and what to do.

    Notes
    -----
    What the calibrated probabilities say, at the class proportions estimated for the batch,
    rectified by how the labelled rows turned out. Metrics of probabilities rather than of
    predictions or of their order read the calibrated, adapted ones.

    Examples
    --------
    >>> import abstain
    >>> from abstain.datasets import screening_clinic
    >>> clinic = screening_clinic(random_state=0)
    >>> found = abstain.estimate(clinic.scores_val, clinic.y_val, clinic.scores_target,
    ...                          ["accuracy", "auroc"], scale="logits", random_state=0)
    >>> right = (clinic.scores_target >= 0) == clinic.y_target
    >>> found["accuracy"].holds(right.mean())
    True
    """
    wanted = _metrics(metrics)
    check_level(level)
    how, seed = shifts.get(shift), check_seed(random_state)
    source = read_labelled(scores_val, y_val, scale=scale, classes=classes, positive=positive)
    codes, order = source.codes, source.order
    n, n_classes = source.scores.matrix.shape
    columns = order.classes
    _check_metrics(wanted, how, order, n_classes)
    weight_val = check_sample_weight(sample_weight_val, n_rows=n, name="sample_weight_val")
    new = read_scores(scores, order, scale=scale).values
    raw = source.scores.matrix, check_scores(new, scale=scale, n_classes=n_classes)
    weight = check_sample_weight(sample_weight, n_rows=len(raw[1]))
    predicted_val, predicted = _predicted(raw, (prediction_val, prediction), classes=columns)

    calibrator, labelled = calibrated(calibration, how, source.scores, codes, weight_val, columns)
    if labelled.held_out is not None:
        predicted_val = predicted_val[labelled.held_out.numbers]
    proba = calibrator.picked.compact(new)
    given = Given(labelled, how, next(iter(wanted.values())), Selection(), columns, seed, level)
    if time_val is not None:
        rows = KnownRows(source.scores, codes, weight_val, check_time(time_val, n))
        given = with_drift(given, calibrator, rows, [*wanted.values()])
    given = given.at_time(time)
    evidence = estimate_shift(given, summarise(proba, weight))
    asked = _Asked(proba, weight, predicted, predicted_val, wanted, given, evidence)
    found = asked.values(evidence.replicates)
    assumption = evidence.assumption
    for name, one in found.items():
        assumption = with_undefined(assumption, name, one)
    warn_of(assumption)
    return BatchEstimate(
        values=found,
        level=level,
        classes=columns,
        priors=evidence.proportions(level).values,
        source_priors=evidence.estimator.source_priors_,
        assumption=assumption,
        positive=order.positive,
        _asked=asked,
    )


class _Asked(NamedTuple):
    """Calibrated rows of which nothing is withheld, what was predicted, and what is asked."""

    proba: FloatArray
    weight: FloatArray | None
    prediction: IntArray
    prediction_val: IntArray
    metrics: dict[str, Metric]
    given: Given
    evidence: ShiftEvidence

    def values(self, replicates: tuple[Replicates, ...]) -> dict[str, EstimatedValue]:
        """Return each metric at the class proportions that were estimated."""
        found, ratios = {}, self.evidence.ratios
        for name, metric in self.metrics.items():
            bins = metric.bins_for(len(self.proba))
            summary = metric.summarised(self.proba, self.weight, bins).adapted(ratios)
            # Metrics of the order read atoms, of which there is no prediction.
            own = np.empty(0, dtype=np.intp) if metric.ranks else self.prediction
            drawn = drawn_rows(
                metric,
                summary,
                (own, _nothing(len(summary.compact))),
                (self.prediction_val, _nothing(len(self.prediction_val))),
                replicates=replicates,
                seed=self.given.seed,
            )
            found[name] = drawn.estimate(self.given.level).before
        return found


def _check_metrics(
    wanted: dict[str, Metric], how: ShiftEstimator, order: ClassOrder, n_classes: int
) -> None:
    for name, metric in wanted.items():
        metric.check_n_classes(n_classes)
        if metric.of_positive:
            order.need_positive(f"`metrics` {name!r} is of the positive class")
    if how.of_positive:
        order.need_positive("`shift` has one proportion: it is of the positive class")


def _metrics(metrics: Metric | str | Sequence[Metric | str]) -> dict[str, Metric]:
    found = metric_registry.get_several(metrics)
    by_name = {metric.name: metric for metric in found}
    if not found or len(by_name) < len(found):
        raise ValueError(
            f"`metrics` must be one metric or several of different names; got "
            f"{', '.join(metric.name for metric in found) or 'none'}."
        )
    return by_name


def _predicted(
    raw: tuple[FloatArray, FloatArray],
    given: tuple[ArrayLike | None, ArrayLike | None],
    *,
    classes: NDArray[Any],
) -> tuple[IntArray, IntArray]:
    """Return the predicted columns of validation rows and batch: those given, or the model's."""
    validation, batch = given
    if validation is None and batch is None:
        return _highest(raw[0]), _highest(raw[1])
    if validation is None or batch is None:
        missing = "prediction_val" if validation is None else "prediction"
        both = "pass the predictions for both sets, or for none to take the model's own"
        raise ArgumentError(
            f"`prediction_val` and `prediction` go together; `{missing}` is missing. P{both[1:]}.",
            missing,
            ways=[Way("predictions", python=both)],
        )
    return (
        check_labels(validation, classes=classes, n_rows=len(raw[0]), name="prediction_val"),
        check_labels(batch, classes=classes, n_rows=len(raw[1]), name="prediction"),
    )


def _highest(raw: FloatArray) -> IntArray:
    """Return the column that is highest; of two the positive one, where both are as high."""
    if raw.shape[1] > 2:
        return highest_of_rows(raw)[0]
    return 1 - highest_of_rows(raw[:, ::-1])[0]


def _nothing(n: int) -> Mask:
    return np.zeros(n, dtype=np.bool_)


def _plain_values(values: dict[str, EstimatedValue]) -> dict[str, Any]:
    return {
        name: {"value": one.value, "interval": one.interval, "level": one.level}
        for name, one in values.items()
    }


def _lines(values: dict[str, EstimatedValue], indent: str = "") -> list[str]:
    width = max(len(name) for name in values)
    return [f"{indent}{name:<{width}}  {one}" for name, one in values.items()]
