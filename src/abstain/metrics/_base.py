"""What every metric knows: its expected value, its observed value, and what to withhold.

The expected value treats each row's probabilities as the distribution of its unknown label
(the paper's Section 5); the observed value is what everybody else calls the metric.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import (
    FloatArray,
    IntArray,
    Mask,
    both_columns,
    check_budget,
    check_capacity,
    check_labels,
    check_proba,
    check_sample_weight,
    check_whole,
    rows_of,
)
from abstain._numerics import Parameters
from abstain.regions import Choice, Region
from abstain.rules import Argmax, DecisionRule
from abstain.summaries import BatchSummary, LabelledReplicates, Moves, RowSummary, summarise

#: How many label vectors ``Metric.draws`` gives at a time, since it holds them all.
MOST_LABEL_DRAWS = 10_000
# How often labels are drawn for what labelled rows say as they are.
_STEADY = 16

#: How the kept rows are predicted.
Decision = Literal["auto", "argmax", "optimal"]


def check_decision(decision: str) -> None:
    """Raise if a decision has no such name."""
    if decision not in get_args(Decision):
        raise ValueError(f'`decision` must be "auto", "argmax" or "optimal"; got {decision!r}.')


class Point(NamedTuple):
    """A choice, what the metric is expected to be on what it keeps, and the weight withheld."""

    choice: Choice
    value: float
    withheld: float


@dataclass(frozen=True, eq=False)
class BudgetCurve:
    """The best choice for each of many budgets.

    Parameters
    ----------
    budgets : ndarray of shape (n_budgets,)
        Largest share of the weight that may be withheld.
    points : list of Point
        What each of them buys.
    """

    budgets: FloatArray
    points: list[Point]

    @property
    def choices(self) -> tuple[Choice, ...]:
        """What is withheld, and how the rest is predicted."""
        return tuple(point.choice for point in self.points)

    @property
    def regions(self) -> tuple[Region, ...]:
        """What is withheld."""
        return tuple(point.choice.region for point in self.points)

    @property
    def values(self) -> FloatArray:
        """The metric estimated for what is kept."""
        return np.array([point.value for point in self.points])

    @property
    def withheld(self) -> FloatArray:
        """The weight withheld: at most the budget, 0 where abstaining does not help."""
        return np.array([point.withheld for point in self.points])


class Metric(Parameters, ABC):
    """Base of all metrics.

    Subclasses set the class attributes and define the abstract methods, which take what is
    checked already. Probabilities are ``(n, n_classes)``, or ``(n,)`` for the positive class of
    two. Parameters follow scikit-learn's contract, so ``metric__specificity`` can be searched.
    """

    #: Whether larger values are better.
    greater_is_better: bool = True
    #: Whether the metric is for two classes only.
    binary_only: ClassVar[bool] = False
    #: Whether, of two classes, the value depends on which of them is the positive one.
    of_positive: bool = False
    #: Whether it is one of the order of two classes' probabilities alone, not of predictions.
    ranks: ClassVar[bool] = False
    #: Whether it is of final answers, a person's among them, and not of the kept rows alone.
    of_team: ClassVar[bool] = False
    # Whether it is a mean over the kept rows of what may be more than nothing for each, so that to
    # keep fewer makes it larger.
    per_kept_row: ClassVar[bool] = False
    #: Whether its values can be computed; of a loaded policy's own metric only once registered.
    known: ClassVar[bool] = True
    #: Whether labels are drawn to choose by, row by row: in another order they are others.
    draws_to_choose: ClassVar[bool] = False
    #: How many times an interval draws it anew.
    n_replicates: ClassVar[int] = 100
    #: The least and the greatest value there can be; infinite where there is no bound.
    value_range: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    #: The registered name up to ``=`` or ``:``, and a whole one as an example where it is longer.
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

    def check_parameters(self) -> None:
        """Raise if a parameter is not what it should be; they may have been set one by one."""
        return None

    @property
    def for_scores(self) -> Mapping[str, Any]:
        """What scores may be told that only a metric of a team knows."""
        return {}

    def at(self, ratios: FloatArray) -> Self:
        """Return the metric for probabilities that are adapted by these ratios: itself, here."""
        return self

    def for_choice(self, choice: Choice) -> Self:
        """Return the metric of what a choice gives: itself, where only the kept rows count."""
        return self

    def choice_by_cost(self, errors: FloatArray, price: FloatArray) -> Choice | None:
        """Return the choice of least cost where a person is no last word; None where one is."""
        return None

    def after_on(
        self, summary: BatchSummary, choice: Choice, prediction: IntArray, withheld: Mask
    ) -> float:
        """Return the expected value of what a choice leaves, given what it does to each row."""
        return self.expected_on(summary.only(~withheld), prediction[~withheld])

    def check_n_classes(self, n_classes: int) -> None:
        """Raise if the metric is not for this number of classes."""
        if self.binary_only and n_classes != 2:
            raise ValueError(
                f"`metric` {self.name!r} is for two classes; the scores have {n_classes}. "
                f"Use a metric for many, such as 'kappa:quadratic', or join the classes."
            )

    def bins_for(self, n_rows: int) -> int | None:
        """Return in how many bins of p a batch of so many rows is summed; None for not at all."""
        return None

    def coarseness(self, summary: BatchSummary, capacity: float) -> float:
        """Return about how far the bins of a summary move the value, before and after."""
        return 0.0

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
            Predicted column of each row; argmax when not given. A metric of the ranking alone
            does not read it.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.

        Returns
        -------
        float
            NaN where the metric is not defined, such as without a class that it needs.
        """
        rows, columns = self._checked(proba, prediction, sample_weight)
        return self.expected_on(rows, columns)

    def observed(
        self,
        y_true: ArrayLike,
        proba: ArrayLike,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: Sequence[Any] | NDArray[Any] | None = None,
    ) -> float:
        """Compute the metric from true labels.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Column numbers, or any labels when ``classes`` names the columns.
        proba : array-like of shape (n, n_classes) or (n,)
            Probabilities; a metric of predictions reads them for these where not given.
        prediction : array-like of shape (n,), optional
            Predicted column of each row; argmax when not given.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.
        classes : sequence of n_classes labels, optional
            The label of each column, of two the positive one last.

        Returns
        -------
        float
            NaN where the metric is not defined.
        """
        rows, columns = self._checked(proba, prediction, sample_weight)
        n, n_classes = rows.proba.shape
        codes = check_labels(y_true, classes=classes, n_classes=n_classes, n_rows=n, name="y_true")
        return self.observed_on(codes, rows, columns)

    def draws(
        self,
        proba: ArrayLike,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        n_draws: int,
        seed: int,
    ) -> FloatArray:
        """Return the metric's value under each of ``n_draws`` label vectors drawn from proba.

        These are what intervals are made of. The result depends on the seed alone, not on the
        number of threads. There may be up to 10,000 draws; a value that is not defined under
        some labels is NaN.
        """
        count = check_whole(n_draws, name="n_draws", most=MOST_LABEL_DRAWS)
        number = check_whole(seed, name="seed", least=0, most=2**64 - 1)
        rows, columns = self._checked(proba, prediction, sample_weight)
        return self.draws_on(rows, columns, count, number)

    def choose(
        self,
        proba: ArrayLike,
        capacity: float,
        *,
        sample_weight: ArrayLike | None = None,
        decision: Decision = "auto",
    ) -> Choice:
        """Choose whom to withhold so that the rest is expected to do best.

        Parameters
        ----------
        proba : array-like of shape (n, n_classes) or (n,)
            Calibrated, adapted probabilities.
        capacity : float
            The largest total weight that may be withheld (a count, for unit weights).
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.
        decision : {"auto", "argmax", "optimal"}
            Predict the most probable class; the class that suits the metric best; or, by
            ``"auto"``, the latter where it is expected to help.

        Returns
        -------
        Choice
            The region to withhold and the rule of prediction. Nothing is withheld where that
            does not help.
        """
        check_decision(decision)
        rows, _ = self._checked(proba, None, sample_weight)
        return self.choose_on(rows.in_own_order(), check_capacity(capacity), decision)

    def curve(
        self,
        proba: ArrayLike,
        budgets: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        decision: Decision = "auto",
    ) -> BudgetCurve:
        """Choose and estimate for each of many budgets.

        Parameters
        ----------
        proba : array-like of shape (n, n_classes) or (n,)
            Calibrated probabilities.
        budgets : array-like of shape (n_budgets,)
            Largest share of the weight to withhold, each in [0, 1).
        sample_weight : array-like of shape (n,), optional
            How much each row counts.
        decision : {"auto", "argmax", "optimal"}
            How the rest is predicted.

        Returns
        -------
        BudgetCurve

        Examples
        --------
        >>> from abstain.metrics import AUROC
        >>> AUROC().curve([0.1, 0.3, 0.6, 0.9], [0, 0.5]).values.tolist()
        [0.838, 0.9]
        """
        check_decision(decision)
        rows, _ = self._checked(proba, None, sample_weight)
        given = rows_of(budgets, "budgets").ravel().tolist()
        shares = np.array([check_budget(budget) for budget in given])
        capacities = [rows.capacity(share) for share in shares.tolist()]
        return BudgetCurve(shares, self.curve_on(rows.in_own_order(), capacities, decision))

    @abstractmethod
    def expected_on(self, summary: BatchSummary, prediction: IntArray | None) -> float:
        """Return the expected value on a summary; predictions are argmax when not given."""

    @abstractmethod
    def observed_on(
        self, codes: IntArray, rows: BatchSummary, prediction: IntArray | None
    ) -> float:
        """Return the value from labels."""

    @abstractmethod
    def draws_on(
        self, summary: BatchSummary, prediction: IntArray | None, n_draws: int, seed: int
    ) -> FloatArray:
        """Return the value under label vectors drawn from the probabilities."""

    @abstractmethod
    def choose_on(self, summary: BatchSummary, capacity: float, decision: Decision) -> Choice:
        """Choose whom to withhold."""

    def resolved(self, decision: Decision) -> Decision:
        """Return what ``"auto"`` is for this metric, where that does not depend on the rows."""
        return decision

    def rule_on(self, summary: BatchSummary, decision: Decision) -> DecisionRule:
        """Return how to predict a summary of which nothing is withheld: here by argmax."""
        return Argmax()

    def curve_on(
        self, summary: BatchSummary, capacities: Sequence[float], decision: Decision
    ) -> list[Point]:
        """Choose for each of many capacities; metrics that share work between them override it."""
        return [
            self.point_on(summary, self.choose_on(summary, capacity, decision))
            for capacity in capacities
        ]

    def applied(self, choice: Choice, summary: BatchSummary) -> tuple[IntArray, Mask]:
        """Return predictions and what is withheld; no predictions where nobody reads them."""
        if self.ranks and not choice.region.reads_prediction:
            nothing = np.empty(0, dtype=np.intp)
            return nothing, choice.region.contains(summary.compact, nothing)
        return choice.apply(summary.compact)

    def point_on(self, summary: BatchSummary, choice: Choice) -> Point:
        """Return what a choice does to a summary."""
        prediction, withheld = self.applied(choice, summary)
        weight = summary.weight
        weight_withheld = np.count_nonzero(withheld) if weight is None else weight[withheld].sum()
        _, value = self.before_and_after(summary, prediction, withheld)
        return Point(choice, value, float(weight_withheld))

    def summarised(
        self, proba: FloatArray, weight: FloatArray | None, bins: int | None = None
    ) -> BatchSummary:
        """Return what the metric reads of a batch: its rows, here."""
        return summarise(both_columns(proba), weight)

    def before_and_after(
        self, summary: BatchSummary, prediction: IntArray, withheld: Mask
    ) -> tuple[float, float]:
        """Return the expected value on everything, and on what is kept."""
        before = self.expected_on(summary, prediction)
        if not withheld.any():
            return before, before
        if withheld.all():
            return before, float("nan")
        kept = ~withheld
        return before, self.expected_on(summary.only(kept), _of(prediction, kept))

    def moved_draws(
        self, summary: BatchSummary, prediction: IntArray, withheld: Mask, moves: Moves, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the value on everything and on what is kept, once for each move.

        Labels are drawn from the moved probabilities.
        """
        kept, source = ~withheld, summary.adapted(moves.undoing)
        before, after = np.full((2, len(moves)), np.nan)
        for k, move in enumerate(zip(moves.slope, moves.bias, moves.ratios, strict=True)):
            moved = source.moved(*move)
            before[k] = self.draws_on(moved, prediction, 1, seed + k)[0]
            if not withheld.any():
                after[k] = before[k]
            elif kept.any():
                after[k] = self.draws_on(moved.only(kept), _of(prediction, kept), 1, seed + k)[0]
        return before, after

    def misfits(
        self, labelled: LabelledReplicates, prediction: IntArray, withheld: Mask, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return observed less expected value of labelled rows, on all and on the kept.

        Here by drawing rows in proportion to their weight, and labels for them: this asks
        nothing of the metric but a value of labels.
        """
        everyone = np.ones(len(withheld), dtype=np.bool_)
        before = self._misfit_of(labelled, prediction, everyone, seed)
        if not withheld.any():
            return before, before
        return before, self._misfit_of(labelled, prediction, ~withheld, seed)

    def _misfit_of(
        self, labelled: LabelledReplicates, prediction: IntArray, kept: Mask, seed: int
    ) -> FloatArray:
        rng = np.random.default_rng(seed)
        rows = np.flatnonzero(kept)
        result = np.full(len(labelled.weight), np.nan)
        if not len(rows):
            return result
        for k, weight in enumerate(labelled.weight[:, rows]):
            if weight.sum() <= 0:
                continue
            misfits = []
            # What the others are held against is drawn until its own noise is small.
            for _ in range(_STEADY if k < labelled.still else 1):
                drawn = rows[rng.choice(len(rows), size=len(rows), p=weight / weight.sum())]
                scored = RowSummary(np.ascontiguousarray(labelled.proba[drawn]))
                believed = both_columns(np.ascontiguousarray(labelled.believed[k, drawn]))
                columns = prediction[drawn]
                try:
                    observed = self.observed_on(labelled.codes[drawn], scored, columns)
                    expected = self.observed_on(_drawn_labels(believed, rng), scored, columns)
                except ValueError:
                    # A draw may have one class alone, of which the metric says nothing.
                    continue
                misfits.append(observed - expected)
            if misfits:
                result[k] = np.mean(misfits)
        return result

    def resampled(
        self, codes: IntArray, rows: RowSummary, prediction: IntArray, n_draws: int, seed: int
    ) -> tuple[float, FloatArray]:
        """Return the value of labelled rows, and what it is with their weights drawn anew.

        A bootstrap. Here rows are drawn in proportion to their weight, which asks nothing of the
        metric but a value of labels; others draw the total weight of rows that are alike.
        """
        rng = np.random.default_rng(seed)
        n = len(codes)
        share = None if rows.weight is None else rows.weight / rows.weight.sum()
        values = np.full(n_draws, np.nan)
        for k in range(n_draws):
            drawn = rng.choice(n, size=n, p=share)
            again = RowSummary(np.ascontiguousarray(rows.proba[drawn]))
            try:
                values[k] = self.observed_on(codes[drawn], again, prediction[drawn])
            except ValueError:
                # A draw may have one class alone, of which the metric says nothing.
                continue
        return float(np.nanmedian(values)) if np.isfinite(values).any() else np.nan, values

    def _checked(
        self, proba: ArrayLike, prediction: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[RowSummary, IntArray | None]:
        self.check_parameters()
        matrix = np.ascontiguousarray(check_proba(proba))
        n, n_classes = matrix.shape
        self.check_n_classes(n_classes)
        weight = check_sample_weight(sample_weight, n_rows=n)
        columns = None
        if prediction is not None:
            columns = check_labels(prediction, n_classes=n_classes, n_rows=n, name="prediction")
        return RowSummary(matrix, weight), columns

    def __repr__(self) -> str:
        return f"<metric {self.name}>"


class OfFunction(Parameters):
    """What metrics share that are a function of the user's."""

    function: Callable[..., float]
    #: What it is called where neither the user nor the function says.
    unnamed: ClassVar[str]
    _name: str | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; the name given, not the function's."""
        return super().get_params(deep) | {"name": self._name}

    @property
    def name(self) -> str:
        """The name given, or the function's."""
        return str(self._name or getattr(self.function, "__name__", self.unnamed))

    @staticmethod
    def check_function(name: str, function: Any, of: str) -> None:
        """Raise for what is no function."""
        if not callable(function):
            raise TypeError(f"`{name}` must be a function of {of}; got {function!r}.")


def _of(prediction: IntArray, kept: Mask) -> IntArray:
    """Return the predictions of what is kept; none are made where they are not read."""
    return prediction[kept] if prediction.size else prediction


def _drawn_labels(proba: FloatArray, rng: np.random.Generator) -> IntArray:
    reached = np.cumsum(proba[:, :-1], axis=1)
    return np.asarray((rng.random((len(proba), 1)) > reached).sum(axis=1))
