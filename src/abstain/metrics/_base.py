"""What every metric knows: its expected value, its observed value, and what to withhold.

The expected value treats each row's probabilities as the distribution of its unknown label
(the paper's Section 5); the observed value is what everybody else calls the metric.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from numpy.typing import ArrayLike, NDArray

from abstain._inputs import FloatArray
from abstain.regions import Region
from abstain.rules import DecisionRule

__all__ = ["Choice", "Decision", "Metric"]

Decision = Literal["argmax", "optimal"]


@dataclass(frozen=True)
class Choice:
    """What a metric wants done with a batch: whom to withhold, how to predict the rest."""

    region: Region
    rule: DecisionRule


class Metric(ABC):
    """Base of all metrics.

    Subclasses set the three class attributes and define the abstract methods. Probabilities
    are ``(n, n_classes)``, or ``(n,)`` for the positive class of two. ``prediction`` holds
    column numbers, argmax when not given; a metric of the ranking alone does not read it.
    """

    #: Whether larger values are better.
    greater_is_better: bool = True
    #: Whether the metric is for two classes only.
    binary_only: ClassVar[bool] = False
    #: The least and the greatest value there can be; infinite where there is no bound.
    value_range: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    #: The registered name up to ``=`` or ``:``, and a whole one as an example.
    head: ClassVar[str] = ""
    example: ClassVar[str] = ""
    #: One line for lists of metrics: what it measures and for whom.
    summary: ClassVar[str] = ""

    @property
    def name(self) -> str:
        """The registered name, which ``abstain.metrics.get`` turns back into the metric."""
        return self.head

    @classmethod
    def parse(cls, argument: str | None) -> Self:
        """Return the metric that a registered name with this argument stands for."""
        if argument is not None:
            raise ValueError(f"`metric` {cls.head!r} takes no argument; got {argument!r}.")
        return cls()

    def to_dict(self) -> dict[str, Any]:
        """Return the metric as plain data, for a policy file."""
        return {"name": self.name}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the metric that ``to_dict`` described."""
        return cls.parse(data["name"][len(cls.head) + 1 :] or None).restored(data)

    def restored(self, data: dict[str, Any]) -> Self:
        """Return this metric with what else ``to_dict`` put into the data."""
        return self

    @abstractmethod
    def expected(
        self,
        proba: ArrayLike,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Estimate the metric without labels, from calibrated probabilities."""

    @abstractmethod
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

        Labels are column numbers, or any labels when ``classes`` names the columns.
        """

    @abstractmethod
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

        These are what intervals are made of. The result depends on the seed alone, not on the
        number of threads.
        """

    @abstractmethod
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
        """

    def __repr__(self) -> str:
        return f"<metric {self.name}>"
