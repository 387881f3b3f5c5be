"""What all ranking metrics share: atoms, windows, draws, and the choice of a window.

A window in the order of p is withheld (the paper's Section 5.1 and Appendix C). A concrete
metric gives one thing only, its value after each of some windows is withheld; the value of a
whole batch is that of an empty window, expected and observed values differ in the labels alone.
"""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._kernels.atom_labels import drawn_positives
from abstain._validation import (
    FloatArray,
    check_labels,
    check_proba,
    check_sample_weight,
)
from abstain.metrics._atoms import Atoms, Windows
from abstain.metrics._base import Choice, Decision, Metric
from abstain.regions import Interval
from abstain.rules import Argmax, DecisionRule, Threshold

__all__ = ["BestWindow", "RankingMetric"]

# Below this share of its total a class counts as gone, and a metric that needs it is undefined.
CLASS_GONE = 1e-9
# A window must improve the metric by more than rounding to be worth withholding.
NO_GAIN = 1e-12
# Draws are made on at most about this many atoms. Neighbouring atoms are merged such that none
# holds more than 3 / MOST_ATOMS of the weight or of either class, which moves no metric by more
# than that and keeps 200 draws of a million examples far below a second.
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
    bins : int, optional
        Sum the examples in this many equal bins of p (a power of two, such as 65536) instead
        of sorting them: several times faster on millions of rows, and very nearly as good.
    """

    binary_only: ClassVar[bool] = True
    value_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    #: The constructor's one argument that a name carries after ``=``; none when empty.
    level: ClassVar[str] = ""

    def __init__(self, *, bins: int | None = None) -> None:
        if bins is not None and (not isinstance(bins, int) or bins < 2 or bins & (bins - 1)):
            raise ValueError(
                f"`bins` must be a power of two, such as 65536, or None; got {bins!r}."
            )
        self.bins = bins

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
        return self._value(self._checked_atoms(proba, sample_weight))

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
        matrix = check_proba(proba, n_classes=2)
        labels = check_labels(
            y_true, classes=classes, n_classes=2, n_rows=len(matrix), name="y_true"
        )
        weight = check_sample_weight(sample_weight, n_rows=len(matrix))
        return self._value(Atoms.from_labels(labels, matrix[:, 1], sample_weight=weight))

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
        atoms = _compressed(self._atoms(proba, sample_weight))
        positives = drawn_positives(atoms.weight, atoms.positive / atoms.weight, n_draws, seed)
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

    def _candidates(self, atoms: Atoms, windows: Windows) -> Windows:
        """Return the windows worth looking at; all, unless the metric knows better."""
        return windows

    def _best(self, atoms: Atoms, capacity: float) -> BestWindow:
        """Return the best window that fits, or an empty one when none improves the metric."""
        base = self._value(atoms)
        windows = self._candidates(atoms, atoms.windows(capacity))
        values = np.nan_to_num(self._safe_values(atoms, windows), nan=-np.inf)
        k = int(np.argmax(values))
        start, end, value = int(windows.starts[k]), int(windows.ends[k]), float(values[k])
        if value > base + NO_GAIN or (np.isnan(base) and value > -np.inf):
            return BestWindow(start, end, value)
        return BestWindow(0, 0, base)

    def _safe_values(self, atoms: Atoms, windows: Windows) -> FloatArray:
        """Return the values with NaN where a window leaves no positives or no negatives."""
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self._values(atoms, windows)
        gone = np.zeros(len(values), dtype=bool)
        for below in (atoms.positive_below, atoms.negative_below):
            kept = below[-1] - (below[windows.ends] - below[windows.starts])
            gone |= kept <= CLASS_GONE * below[-1]
        values[gone] = np.nan
        return values


def _compressed(atoms: Atoms) -> Atoms:
    """Merge neighbouring atoms of a large batch, evenly in weight and in both classes."""
    if len(atoms) <= MOST_ATOMS:
        return atoms
    sums = (atoms.weight_below, atoms.positive_below, atoms.negative_below)
    passed = sum((below[:-1] / below[-1] for below in sums if below[-1] > 0), np.zeros(len(atoms)))
    group = np.floor(passed * (MOST_ATOMS / len(sums)))
    first = np.flatnonzero(np.diff(group, prepend=-1.0))
    weight, positive = (np.add.reduceat(mass, first) for mass in (atoms.weight, atoms.positive))
    return Atoms(atoms.p[first], weight, positive, atoms.width)
