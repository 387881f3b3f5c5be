"""A metric from the user's own function of the confusion matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from abstain._inputs import FloatArray
from abstain.metrics._confusion import BaseConfusionMetric, Solver

__all__ = ["ConfusionMetric"]


class ConfusionMetric(BaseConfusionMetric):
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

    head: ClassVar[str] = ""
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
        if not callable(self.function):
            raise TypeError(
                f"`function` must be a function of the confusion matrix; got {self.function!r}."
            )
        if self._gradient is not None and not callable(self._gradient):
            raise TypeError(
                f"`gradient` must be a function of the confusion matrix; got {self._gradient!r}."
            )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; the gradient given, not the method of that name."""
        given: dict[str, Any] = super().get_params(deep)
        return given | {"name": self._name, "gradient": self._gradient}

    @property
    def name(self) -> str:
        """The name given, or the function's."""
        return str(self._name or getattr(self.function, "__name__", "confusion-metric"))

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
