"""What all ranking metrics share: atoms, windows, draws, and the choice of a window.

A window in the order of p is withheld (the paper's Section 5.1 and Appendix C). A concrete
metric gives one thing only, its value after each of some windows is withheld; the value of a
whole batch is that of an empty window, expected and observed values differ in the labels alone.
"""

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import (
    FloatArray,
    check_budget,
    check_labels,
    check_proba,
    check_sample_weight,
    check_seed,
)
from abstain._kernels._threads import n_threads
from abstain._kernels.atom_labels import drawn_positives
from abstain._kernels.ranking import best_window, undefined_windows
from abstain.metrics._atoms import Atoms, Windows
from abstain.metrics._base import Choice, Decision, Metric
from abstain.metrics._curve import BudgetCurve
from abstain.metrics._estimation import Method, check_estimation
from abstain.metrics._sampled_windows import average_over_labels, smoothed
from abstain.regions import Interval
from abstain.rules import Argmax, DecisionRule, Threshold

__all__ = ["BestWindow", "RankingMetric"]

# At or below this share of its total a class counts as gone, and a metric that needs it is
# undefined; no share is at or below minus infinity.
CLASS_GONE = 1e-9
NEVER_GONE = -np.inf
# A window must improve the metric by more than rounding to be worth withholding.
NO_GAIN = 1e-12
# Draws are made on at most about this many atoms, which keeps 200 draws of a million examples
# far below a second.
MOST_ATOMS = 16_384


class BestWindow(NamedTuple):
    """The best window, ``start .. end - 1``, and the metric's value once it is withheld."""

    start: int
    end: int
    value: float


class RankingMetric(Metric):
    """Base of the metrics of a binary ranking.

    Parameters
    ----------
    method : {"deterministic", "sampled"}
        Put the probability for the label, in one pass; or average over sampled label vectors,
        as the paper does for sensitivity at specificity.
    n_samples : int
        How many label vectors to sample; the paper's M.
    smoothing : (int, int) or None
        Window and order of the Savitzky-Golay filter over sampled window values. Order 1 over
        11 windows is the paper's.
    random_state : int
        Seed of the samples. The same on any number of threads.
    bins : int, optional
        Sum the examples in this many equal bins of p (a power of two, such as 65536) instead
        of sorting them: several times faster on millions of rows, and very nearly as good.
    """

    binary_only: ClassVar[bool] = True
    value_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    #: The constructor's one argument that a name carries after ``=``; none when empty.
    level: ClassVar[str] = ""
    #: Whether the metric is undefined without positives, and without negatives.
    needs: ClassVar[tuple[bool, bool]] = (True, True)

    def __init__(
        self,
        *,
        method: Method = "deterministic",
        n_samples: int = 100,
        smoothing: tuple[int, int] | None = (11, 1),
        random_state: int = 0,
        bins: int | None = None,
    ) -> None:
        check_estimation(method, n_samples, smoothing, bins)
        self.method = method
        self.n_samples = n_samples
        self.smoothing = None if smoothing is None else (int(smoothing[0]), int(smoothing[1]))
        self.random_state = random_state
        self.bins = bins

    def to_dict(self) -> dict[str, Any]:
        """Return the metric as plain data, for a policy file."""
        usual = _DEFAULTS.items()
        unusual = {key: getattr(self, key) for key, value in usual if getattr(self, key) != value}
        return {"name": self.name, **({"estimation": unusual} if unusual else {})}

    def restored(self, data: dict[str, Any]) -> Self:
        """Return this metric with what else ``to_dict`` put into the data."""
        argument = (getattr(self, self.level),) if self.level else ()
        return type(self)(*argument, **data.get("estimation", {}))

    @property
    def name(self) -> str:
        """The registered name, which ``abstain.metrics.get`` turns back into the metric."""
        return f"{self.head}={getattr(self, self.level)!r}" if self.level else self.head

    @classmethod
    def parse(cls, argument: str | None) -> Self:
        """Return the metric that a registered name with this argument stands for."""
        if not cls.level:
            return super().parse(argument)
        try:
            return cls(float(argument or ""))  # type: ignore[call-arg,arg-type]
        except ValueError as error:
            raise ValueError(
                f"`metric` {cls.head!r} needs its {cls.level}, as in {cls.example!r}; "
                f"got {argument!r}. {error}"
            ) from error

    @abstractmethod
    def _values(self, atoms: Atoms, windows: Windows) -> FloatArray:
        """Return the metric after each window is withheld; NaN or anything where undefined."""

    def _threshold(self, atoms: Atoms, start: int, end: int) -> float | None:
        """Return the probability from which on to predict positive, if the metric has one."""
        return None

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
        proba : array-like of shape (n,) or (n, 2)
            Calibrated probabilities.
        prediction : ignored
            A metric of the ranking does not read predictions.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.

        Returns
        -------
        float
            NaN when a class that the metric needs is not expected at all.
        """
        atoms = self._checked_atoms(proba, sample_weight)
        if self.method == "deterministic":
            return self._value(atoms)
        nothing = np.empty(0, dtype=np.intp)
        return self._sampled(atoms, Windows(nothing, nothing))[0]

    def observed(
        self,
        y_true: ArrayLike,
        proba: ArrayLike,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: NDArray[Any] | None = None,
    ) -> float:
        """Compute the metric from true labels; NaN when a class it needs is absent."""
        return self._value(_labelled_atoms(y_true, proba, sample_weight, classes))

    def window_values(
        self, proba: ArrayLike, capacity: float, *, sample_weight: ArrayLike | None = None
    ) -> FloatArray:
        """Estimate the metric after each window in the order of p is withheld.

        Parameters
        ----------
        proba : array-like of shape (n,) or (n, 2)
            Calibrated probabilities.
        capacity : float
            The largest total weight that may be withheld (a count, for unit weights).
        sample_weight : array-like of shape (n,), optional
            How much each row counts.

        Returns
        -------
        ndarray
            One value per window, from the lowest probabilities to the highest: N - d + 1 for
            N distinct probabilities and capacity d. Equal probabilities stay together. NaN
            where a window leaves a class empty that the metric needs.
        """
        atoms = self._checked_atoms(proba, sample_weight)
        windows = atoms.windows(capacity)
        if self.method == "deterministic":
            return self._safe_values(atoms, windows)
        return self._sampled(atoms, windows)[1]

    def observed_intervals(
        self,
        y_true: ArrayLike,
        proba: ArrayLike,
        lower: FloatArray,
        upper: FloatArray,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> FloatArray:
        """Compute the metric from true labels after each of many intervals of p is withheld.

        All intervals share one sort and its prefix sums, so thousands cost little more than one.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels, 0 and 1.
        proba : array-like of shape (n,) or (n, 2)
            Probabilities.
        lower, upper : ndarray of shape (n_intervals,)
            The intervals, both ends included.
        sample_weight : array-like of shape (n,), optional
            How much each row counts.

        Returns
        -------
        ndarray of shape (n_intervals,)
            NaN where an interval leaves a class empty that the metric needs.
        """
        matrix = check_proba(proba, n_classes=2)
        labels = check_labels(y_true, n_classes=2, n_rows=len(matrix), name="y_true")
        weight = check_sample_weight(sample_weight, n_rows=len(matrix))
        atoms = Atoms.from_labels(labels, matrix[:, 1], sample_weight=weight)
        starts = np.searchsorted(atoms.p, lower, side="left")
        ends = np.searchsorted(atoms.p, upper, side="right")
        return self._safe_values(atoms, Windows(starts, np.maximum(starts, ends)))

    def observed_window_values(
        self,
        y_true: ArrayLike,
        proba: ArrayLike,
        capacity: float,
        *,
        sample_weight: ArrayLike | None = None,
        classes: NDArray[Any] | None = None,
    ) -> FloatArray:
        """Compute the metric from true labels after each window is withheld.

        The windows are those of ``window_values``; their mean over label vectors drawn from
        the probabilities is the sampled estimate.
        """
        atoms = _labelled_atoms(y_true, proba, sample_weight, classes)
        return self._safe_values(atoms, atoms.windows(capacity))

    def choose(
        self,
        proba: FloatArray,
        capacity: float,
        *,
        sample_weight: FloatArray | None = None,
        decision: Decision = "argmax",
    ) -> Choice:
        """Choose the interval of p to withhold so that the rest is expected to do best.

        Nothing is withheld when no window that fits improves the metric.
        """
        atoms = self._atoms(proba, sample_weight)
        best = self._best(atoms, capacity)
        rule: DecisionRule = Argmax()
        if decision == "optimal":
            threshold = self._threshold(atoms, best.start, best.end)
            rule = rule if threshold is None else Threshold(threshold)
        return Choice(self._region(atoms, best), rule)

    def curve(
        self,
        proba: ArrayLike,
        budgets: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> BudgetCurve:
        """Choose a window and estimate the metric for each of many budgets.

        Ordering and sums are shared, so many budgets cost little more than one.

        Parameters
        ----------
        proba : array-like of shape (n,) or (n, 2)
            Calibrated probabilities.
        budgets : array-like of shape (n_budgets,)
            Largest share of the weight to withhold, each in [0, 1).
        sample_weight : array-like of shape (n,), optional
            How much each row counts.

        Returns
        -------
        BudgetCurve

        Examples
        --------
        >>> from abstain.metrics import AUROC
        >>> AUROC().curve([0.1, 0.3, 0.6, 0.9], [0, 0.5]).values.tolist()
        [0.838, 0.9]
        """
        shares = np.array([check_budget(budget) for budget in np.ravel(budgets).tolist()])
        atoms = self._checked_atoms(proba, sample_weight)
        capacities = shares * atoms.weight_below[-1]
        if sample_weight is None:
            capacities = np.floor(capacities)
        # NumPy's loops leave the interpreter, so budgets run beside each other.
        with ThreadPoolExecutor(n_threads()) as threads:
            best = list(threads.map(lambda capacity: self._best(atoms, capacity), capacities))
        weight = atoms.weight_below
        return BudgetCurve(
            budgets=shares,
            values=np.array([window.value for window in best]),
            withheld=np.array([weight[window.end] - weight[window.start] for window in best]),
            regions=tuple(self._region(atoms, window) for window in best),
        )

    def draws(
        self,
        proba: FloatArray,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: FloatArray | None = None,
        n_draws: int,
        seed: int,
    ) -> FloatArray:
        """Return the metric's value under each of ``n_draws`` label vectors drawn from proba."""
        atoms = self._atoms(proba, sample_weight).compressed(MOST_ATOMS)
        p = atoms.positive / atoms.weight
        positives = drawn_positives(atoms.weight, p, 0, n_draws, seed)
        return np.array([self._value(atoms.relabelled(positive)) for positive in positives])

    def _atoms(self, proba: FloatArray, sample_weight: FloatArray | None) -> Atoms:
        p = np.ascontiguousarray(proba[:, 1])
        return Atoms.from_proba(p, sample_weight=sample_weight, bins=self.bins)

    def _checked_atoms(self, proba: ArrayLike, sample_weight: ArrayLike | None) -> Atoms:
        matrix = check_proba(proba, n_classes=2)
        weight = check_sample_weight(sample_weight, n_rows=len(matrix))
        return self._atoms(matrix, weight)

    def _region(self, atoms: Atoms, best: BestWindow) -> Interval:
        return atoms.interval(best.start, best.end)

    def _value(self, atoms: Atoms) -> float:
        nothing = np.zeros(1, dtype=np.intp)
        return float(self._safe_values(atoms, Windows(nothing, nothing))[0])

    def _candidates(self, atoms: Atoms, capacity: float) -> Windows:
        """Return the windows worth looking at; all, unless the metric knows better."""
        return atoms.windows(capacity)

    def _best(self, atoms: Atoms, capacity: float) -> BestWindow:
        """Return the best window that fits, or an empty one when none improves the metric."""
        if self.method == "deterministic":
            windows = self._candidates(atoms, capacity)
            base = self._value(atoms)
            with np.errstate(divide="ignore", invalid="ignore"):
                values = self._values(atoms, windows)
        else:
            windows = atoms.windows(capacity)
            base, values = self._sampled(atoms, windows)
        sums = atoms.positive_below, atoms.negative_below
        k = best_window(values, *sums, *windows, self._shares)
        if k < 0 or values[k] <= base + NO_GAIN:
            return BestWindow(0, 0, base)
        return BestWindow(int(windows.starts[k]), int(windows.ends[k]), float(values[k]))

    def _sampled(self, atoms: Atoms, windows: Windows) -> tuple[float, FloatArray]:
        """Return the mean value over sampled labels, of all atoms and after each window."""
        starts, ends = (np.append(side, 0) for side in windows)
        means = average_over_labels(
            lambda labelled: self._safe_values(labelled, Windows(starts, ends)),
            atoms,
            n_samples=self.n_samples,
            seed=check_seed(self.random_state),
        )
        return float(means[-1]), smoothed(means[:-1], self.smoothing)

    @property
    def _shares(self) -> tuple[float, float]:
        """The share of positives, and of negatives, that must be kept."""
        positive, negative = (CLASS_GONE if needed else NEVER_GONE for needed in self.needs)
        return positive, negative

    def _safe_values(self, atoms: Atoms, windows: Windows) -> FloatArray:
        """Return the values with NaN where a window leaves no positives or no negatives."""
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self._values(atoms, windows)
        gone = undefined_windows(
            atoms.positive_below, atoms.negative_below, *windows, self._shares
        )
        values[gone] = np.nan
        return values


_DEFAULTS: dict[str, Any] = RankingMetric.__init__.__kwdefaults__ or {}


def _labelled_atoms(
    y_true: ArrayLike,
    proba: ArrayLike,
    sample_weight: ArrayLike | None,
    classes: NDArray[Any] | None,
) -> Atoms:
    matrix = check_proba(proba, n_classes=2)
    labels = check_labels(y_true, classes=classes, n_classes=2, n_rows=len(matrix), name="y_true")
    weight = check_sample_weight(sample_weight, n_rows=len(matrix))
    return Atoms.from_labels(labels, matrix[:, 1], sample_weight=weight)
