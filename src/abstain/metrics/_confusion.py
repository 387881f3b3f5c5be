"""Functions psi(C) of the confusion matrix of the kept examples: their base, and the user's own.

C[i, j] is the weight of kept examples of true class i predicted as j: counted when labels are
known, expected under the probabilities when they are not (the paper's Section 5).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask
from abstain._kernels.confusion import expected_confusion
from abstain._numerics import gamma_draws
from abstain.metrics._base import Decision, Metric, OfFunction
from abstain.metrics._confusion_draws import (
    MOST_CLASSES,
    drawn_counts,
    labelled_confusions,
    labels_drawn,
    moved_counts,
    moved_shares,
)
from abstain.metrics._confusion_solver import ConfusionBatch, solve_joint, solve_marginal
from abstain.metrics._likely_classes import LikelyClasses
from abstain.regions import Choice
from abstain.rules import Argmax, DecisionRule
from abstain.summaries import BatchSummary, LabelledReplicates, Moves, RowSummary

Solver = Literal["marginal", "joint"]

NO_WEIGHT: FloatArray = np.empty(0)
ALL_KEPT: Mask = np.empty(0, dtype=np.bool_)


class BaseConfusionMetric(Metric):
    """Base of the metrics of a confusion matrix; subclasses define ``value``.

    Parameters
    ----------
    solver : {"joint", "marginal"}
        How the examples to withhold are chosen. ``"marginal"`` scores each example by what
        withholding it alone would do, once, as the paper does for kappa. ``"joint"`` repeats
        that from the confusion matrix of those kept so far until the metric stops improving.
    """

    def __init__(self, *, solver: Solver = "joint") -> None:
        self.solver = solver
        self.check_parameters()

    def check_parameters(self) -> None:
        """Raise if a parameter is not what it should be."""
        if self.solver not in get_args(Solver):
            raise ValueError(f'`solver` must be "joint" or "marginal"; got {self.solver!r}.')

    @abstractmethod
    def value(self, confusion: FloatArray) -> float:
        """Return psi(C); NaN where the metric is not defined."""

    def gradient(self, confusion: FloatArray) -> FloatArray:
        """Return the derivative of psi by each entry of C, here by central differences."""
        step = max(confusion.sum(), 1.0) * 1e-6
        slope = np.zeros_like(confusion)
        for entry in np.ndindex(confusion.shape):
            up, down = confusion.copy(), confusion.copy()
            up[entry] += step
            # A count is never negative, so at 0 the difference is one-sided.
            down[entry] = max(float(down[entry] - step), 0.0)
            slope[entry] = (self.value(up) - self.value(down)) / (up[entry] - down[entry])
        return np.nan_to_num(slope, nan=0.0, posinf=0.0, neginf=0.0)

    def removal_gains(
        self, proba: FloatArray, prediction: IntArray, weight: FloatArray
    ) -> FloatArray:
        """Return what withholding one example of (true i, predicted j) adds to psi.

        Here to first order, from the expected confusion matrix of the whole batch.
        """
        return -self.gradient(expected_confusion(proba, prediction, weight, ALL_KEPT))

    def to_dict(self) -> dict[str, Any]:
        """Return the metric as plain data, for a policy file."""
        return {"name": self.name, "solver": self.solver}

    def restored(self, data: dict[str, Any]) -> Self:
        """Return this metric with what else ``to_dict`` put into the data."""
        self.solver = data.get("solver", self.solver)
        self.check_parameters()
        return self

    def expected_on(self, summary: BatchSummary, prediction: IntArray | None) -> float:
        columns = _columns(summary, prediction)
        weight = _weight(summary)
        return self.value(expected_confusion(summary.proba, columns, weight, ALL_KEPT))

    def observed_on(
        self, codes: IntArray, rows: BatchSummary, prediction: IntArray | None
    ) -> float:
        return self.value_of(codes, _columns(rows, prediction), rows.weight, rows.proba.shape[1])

    def value_of(
        self, codes: IntArray, prediction: IntArray, weight: FloatArray | None, n_classes: int
    ) -> float:
        """Return psi of labels: true columns, predicted ones and how much each pair counts."""
        cells = np.bincount(codes * n_classes + prediction, weight, n_classes**2)
        return self.value(cells.reshape(n_classes, n_classes).astype(np.float64, copy=False))

    def resampled(
        self, codes: IntArray, rows: RowSummary, prediction: IntArray, n_draws: int, seed: int
    ) -> tuple[float, FloatArray]:
        n_classes = rows.proba.shape[1]
        counts = np.bincount(codes * n_classes + prediction, rows.weight, n_classes**2)
        cells: FloatArray = counts.reshape(n_classes, n_classes).astype(np.float64)
        rng = np.random.default_rng(seed)
        # Weights of rows are gamma variates; so is the sum of those in a cell.
        drawn = gamma_draws(cells, n_draws, rng)
        return self.value(cells), self._values(drawn)

    def draws_on(
        self, summary: BatchSummary, prediction: IntArray | None, n_draws: int, seed: int
    ) -> FloatArray:
        return self._values(labels_drawn(summary, _columns(summary, prediction), n_draws, seed))

    def moved_draws(
        self, summary: BatchSummary, prediction: IntArray, withheld: Mask, moves: Moves, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        if summary.proba.shape[1] > MOST_CLASSES:
            return self._label_by_label(summary, prediction, withheld, moves, seed)
        drawn = drawn_counts(summary, prediction, withheld, len(moves), seed)
        by_move = moved_shares(summary, prediction, withheld, moves)
        kept, out = (moved_counts(*one) for one in zip(drawn, by_move, strict=True))
        before = self._values(kept + out)
        if not withheld.any():
            return before, before
        return before, np.full(len(moves), np.nan) if withheld.all() else self._values(kept)

    def _label_by_label(
        self, summary: BatchSummary, prediction: IntArray, withheld: Mask, moves: Moves, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        """Draw the labels of many classes, of which a matrix is mostly zeros."""
        k = summary.proba.shape[1]
        before, after = np.full((2, len(moves)), np.nan)
        for draw, (rows, codes, weight) in enumerate(LikelyClasses.of(summary).drawn(moves, seed)):
            columns = prediction[rows]
            before[draw] = self.value_of(codes, columns, weight, k)
            if withheld.any() and not withheld.all():
                kept = ~withheld[rows]
                counts = None if weight is None else weight[kept]
                after[draw] = self.value_of(codes[kept], columns[kept], counts, k)
        return before, after if withheld.any() else before

    def misfits(
        self, labelled: LabelledReplicates, prediction: IntArray, withheld: Mask, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        if labelled.proba.shape[1] > MOST_CLASSES:
            before = self._excess(labelled, prediction, np.ones_like(withheld))
            return before, self._excess(
                labelled, prediction, ~withheld
            ) if withheld.any() else before
        observed, expected = labelled_confusions(labelled, prediction, withheld)
        before = self._values(observed.sum(axis=0)) - self._values(expected.sum(axis=0))
        if not withheld.any():
            return before, before
        return before, self._values(observed[0]) - self._values(expected[0])

    def _excess(
        self, labelled: LabelledReplicates, prediction: IntArray, kept: Mask
    ) -> FloatArray:
        """Return observed less expected value of the kept labelled rows, of many classes."""
        codes, prediction, k = labelled.codes[kept], prediction[kept], labelled.proba.shape[1]
        truths = np.tile(np.arange(k), len(codes))
        columns, found = np.repeat(prediction, k), np.empty(len(labelled.weight))
        for draw, (counts, proba) in enumerate(
            zip(labelled.weight[:, kept], labelled.believed, strict=True)
        ):
            believed = (proba[kept] * counts[:, None]).ravel()
            found[draw] = self.value_of(codes, prediction, counts, k)
            found[draw] -= self.value_of(truths, columns, believed, k)
        return found

    def before_and_after(
        self, summary: BatchSummary, prediction: IntArray, withheld: Mask
    ) -> tuple[float, float]:
        before = self.expected_on(summary, prediction)
        if not withheld.any():
            return before, before
        kept = expected_confusion(summary.proba, prediction, _weight(summary), ~withheld)
        return before, float("nan") if withheld.all() else self.value(kept)

    def _values(self, confusions: Iterable[FloatArray]) -> FloatArray:
        return np.array([self.value(confusion) for confusion in confusions], dtype=np.float64)

    def rule_on(self, summary: BatchSummary, decision: Decision) -> DecisionRule:
        return self.choose_on(summary, 0.0, decision).rule

    def choose_on(self, summary: BatchSummary, capacity: float, decision: Decision) -> Choice:
        solve = solve_joint if self.solver == "joint" else solve_marginal
        batch = ConfusionBatch(self, summary.proba, capacity, summary.weight)
        return solve(batch, self.resolved(decision))


class ConfusionMetric(OfFunction, BaseConfusionMetric):
    """Any function of the confusion matrix, as a metric.

    Parameters
    ----------
    function : callable
        Takes a float matrix C with C[i, j] the weight of examples of class i predicted as j (of
        two classes [negative, positive], so that C[1, 1] holds the true positives),
        and returns a number; NaN where it is not defined. It should be smooth, and the same
        for C and any multiple of C: entries are expected counts, not whole numbers.
    name : str, optional
        What to call it; the function's own name when not given.
    greater_is_better : bool
        Whether larger values are better.
    gradient : callable, optional
        Takes C and returns the derivative of the function by each entry; by finite differences
        when not given, which takes two calls of the function for each entry.
    solver : {"joint", "marginal"}
        How the examples to withhold are chosen.

    Examples
    --------
    Youden's J, sensitivity plus specificity minus 1:

    >>> from abstain.metrics import ConfusionMetric
    >>> def youden(C):
    ...     return C[1, 1] / C[1].sum() + C[0, 0] / C[0].sum() - 1
    >>> metric = ConfusionMetric(youden)
    >>> metric
    <metric youden>
    >>> metric.expected([0.1, 0.2, 0.7, 0.9])
    0.6516
    """

    unnamed: ClassVar[str] = "confusion-metric"
    # What the function makes of C[1, 1] nobody knows.
    of_positive = True

    def __init__(
        self,
        function: Callable[[FloatArray], float],
        *,
        name: str | None = None,
        greater_is_better: bool = True,
        gradient: Callable[[FloatArray], Any] | None = None,
        solver: Solver = "joint",
    ) -> None:
        self.function = function
        self._name = name
        self.greater_is_better = greater_is_better
        self._gradient = gradient
        super().__init__(solver=solver)

    def check_parameters(self) -> None:
        """Raise if a parameter is not what it should be."""
        super().check_parameters()
        self.check_function("function", self.function, "the confusion matrix")
        if self._gradient is not None:
            self.check_function("gradient", self._gradient, "the confusion matrix")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; the gradient given, not the method of that name."""
        return super().get_params(deep) | {"gradient": self._gradient}

    def value(self, confusion: FloatArray) -> float:
        """Return the function's value; what it divides by zero is NaN."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(self.function(confusion.copy()))
        return value if np.isfinite(value) else float("nan")

    def gradient(self, confusion: FloatArray) -> FloatArray:
        """Return the derivative by each entry of C: the user's, or by finite differences."""
        if self._gradient is None:
            return super().gradient(confusion)
        slope: FloatArray = np.asarray(self._gradient(confusion.copy()), dtype=np.float64)
        if slope.shape != confusion.shape:
            raise ValueError(
                f"`gradient` must return a matrix of shape {confusion.shape}; "
                f"got shape {slope.shape}."
            )
        return np.nan_to_num(slope, nan=0.0, posinf=0.0, neginf=0.0)


def _columns(summary: BatchSummary, prediction: IntArray | None) -> IntArray:
    return Argmax().predict(summary.proba) if prediction is None else prediction


def _weight(summary: BatchSummary) -> FloatArray:
    return NO_WEIGHT if summary.weight is None else summary.weight
