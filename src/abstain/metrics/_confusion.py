"""Base of the confusion metrics: a function psi(C) of the confusion matrix of the kept examples.

C[i, j] is the weight of kept examples of true class i predicted as j: counted when labels are
known, expected under the probabilities when they are not (the paper's Section 5).
"""

from abc import abstractmethod
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import (
    FloatArray,
    IntArray,
    check_labels,
    check_proba,
    check_sample_weight,
)
from abstain._kernels.confusion import expected_confusion
from abstain._kernels.label_draws import confusion_draws
from abstain.metrics._base import Choice, Decision, Metric
from abstain.metrics._confusion_solver import solve_joint, solve_marginal
from abstain.rules import Argmax

__all__ = ["BaseConfusionMetric", "Solver"]

Solver = Literal["marginal", "joint"]

NO_WEIGHT: FloatArray = np.empty(0)
ALL_KEPT: NDArray[np.bool_] = np.empty(0, dtype=np.bool_)

# Sampled confusion matrices are held this many entries at a time (64 MiB).
_MOST_ENTRIES = 2**23


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
        if solver not in get_args(Solver):
            raise ValueError(f'`solver` must be "joint" or "marginal"; got {solver!r}.')
        self.solver = solver

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
            down[entry] = max(down[entry] - step, 0.0)
            slope[entry] = (self.value(up) - self.value(down)) / (up[entry] - down[entry])
        return np.nan_to_num(slope, nan=0.0, posinf=0.0, neginf=0.0)

    def removal_gains(
        self, proba: FloatArray, prediction: IntArray, weight: FloatArray
    ) -> FloatArray:
        """Return what withholding one example of (true i, predicted j) adds to psi.

        Here to first order, from the expected confusion matrix of the whole batch.
        """
        return -self.gradient(expected_confusion(proba, prediction, weight, ALL_KEPT))

    def check_n_classes(self, n_classes: int) -> None:
        """Raise if the metric is not for this number of classes."""
        if self.binary_only and n_classes != 2:
            raise ValueError(
                f"`metric` {self.name!r} is for two classes; `proba` has {n_classes} columns."
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the metric as plain data, for a policy file."""
        return {"name": self.name, "solver": self.solver}

    def restored(self, data: dict[str, Any]) -> Self:
        """Return this metric with what else ``to_dict`` put into the data."""
        self.solver = data.get("solver", self.solver)
        return self

    def expected(
        self,
        proba: ArrayLike,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Estimate the metric without labels, from calibrated probabilities.

        Parameters
        ----------
        proba : array-like of shape (n, n_classes) or (n,)
            Calibrated probabilities.
        prediction : array-like of shape (n,), optional
            Predicted column of each row; argmax when not given.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.

        Returns
        -------
        float
            The metric of the expected confusion matrix.
        """
        matrix, columns, weight = self._checked(proba, prediction, sample_weight)
        return self.value(expected_confusion(matrix, columns, weight, ALL_KEPT))

    def observed(
        self,
        y_true: ArrayLike,
        proba: ArrayLike,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: NDArray[Any] | None = None,
    ) -> float:
        """Compute the metric from true labels.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Column numbers, or any labels when ``classes`` names the columns.
        proba : array-like of shape (n, n_classes) or (n,)
            Probabilities; read for the predictions when these are not given.
        prediction : array-like of shape (n,), optional
            Predicted column of each row; argmax when not given.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.
        classes : ndarray of shape (n_classes,), optional
            The label of each column.

        Returns
        -------
        float
        """
        matrix, columns, weight = self._checked(proba, prediction, sample_weight)
        n, n_classes = matrix.shape
        codes = check_labels(y_true, classes=classes, n_classes=n_classes, n_rows=n, name="y_true")
        cells = np.bincount(
            codes * n_classes + columns,
            weights=weight if weight.size else None,
            minlength=n_classes**2,
        )
        return self.value(cells.reshape(n_classes, n_classes).astype(np.float64))

    def draws(
        self,
        proba: FloatArray,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: FloatArray | None = None,
        n_draws: int,
        seed: int,
    ) -> FloatArray:
        """Return the metric's value under each of ``n_draws`` label vectors drawn from proba.

        A row of whole weight w is w independent labels; a fractional remainder is one label of
        that weight.
        """
        matrix, columns, weight = self._checked(proba, prediction, sample_weight)
        most = max(1, _MOST_ENTRIES // matrix.shape[1] ** 2)
        values = [
            self.value(confusion)
            for first in range(0, n_draws, most)
            for confusion in confusion_draws(
                matrix, columns, weight, seed, first, min(first + most, n_draws)
            )
        ]
        return np.array(values, dtype=np.float64)

    def choose(
        self,
        proba: FloatArray,
        capacity: float,
        *,
        sample_weight: FloatArray | None = None,
        decision: Decision = "argmax",
    ) -> Choice:
        """Choose whom to withhold so that the rest is expected to do best.

        Parameters
        ----------
        proba : ndarray of shape (n, n_classes)
            Calibrated, adapted probabilities, already checked.
        capacity : float
            The largest total weight that may be withheld (a count, for unit weights).
        sample_weight : ndarray of shape (n,), optional
            How much each row counts; a whole number equals repetition.
        decision : {"argmax", "optimal"}
            Predict the most probable class, or the class that suits the metric best.

        Returns
        -------
        Choice
            A threshold on the expected gain of withholding, and the rule of prediction.
        """
        if decision not in get_args(Decision):
            raise ValueError(f'`decision` must be "argmax" or "optimal"; got {decision!r}.')
        self.check_n_classes(proba.shape[1])
        proba = np.ascontiguousarray(proba)
        solve = solve_joint if self.solver == "joint" else solve_marginal
        return solve(self, proba, capacity, sample_weight, decision)

    def _checked(
        self, proba: ArrayLike, prediction: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        matrix = np.ascontiguousarray(check_proba(proba))
        n, n_classes = matrix.shape
        self.check_n_classes(n_classes)
        weight = check_sample_weight(sample_weight, n_rows=n)
        columns = (
            Argmax().predict(matrix)
            if prediction is None
            else check_labels(prediction, n_classes=n_classes, n_rows=n, name="prediction")
        )
        return matrix, columns, NO_WEIGHT if weight is None else weight
