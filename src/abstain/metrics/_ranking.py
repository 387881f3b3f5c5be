"""What all ranking metrics share: atoms, windows, draws, and the choice of a window.

A window in the order of p is withheld (the paper's Section 5.1 and Appendix C). A concrete
metric gives one thing only, its value after each of some windows is withheld; the value of a
whole batch is that of an empty window, expected and observed values differ in the labels alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import (
    FloatArray,
    IntArray,
    Mask,
    check_capacity,
    check_fraction,
    check_labels,
    check_seed,
    float_array,
)
from abstain._kernels._pieces import filled
from abstain._kernels.atoms import ATOMS_AT_A_TIME, drawn_masses
from abstain._numerics import ROUNDING, first_of_kind, gamma_draws
from abstain.metrics._base import Decision, Metric, Point
from abstain.metrics._estimation import Method, average_over_labels, check_estimation, smoothed
from abstain.regions import Choice, Interval
from abstain.rules import Argmax, DecisionRule, Threshold
from abstain.summaries import (
    BINS,
    MANY_ROWS,
    Atoms,
    BatchSummary,
    LabelledReplicates,
    Moves,
    RowSummary,
    Windows,
    compact,
    summarise,
)

# At or below this share of its total a class counts as gone, and a metric that needs it is
# undefined; no share is at or below minus infinity.
CLASS_GONE = 1e-9
NEVER_GONE = -np.inf
# A window must improve the metric by more than rounding to be worth withholding.
NO_GAIN = 1e-12
# Of more atoms than this, labels are drawn for about so many groups of neighbours.
MOST_ATOMS, GROUPS = 2_048, 1_024
# Labelled rows are compared in at most about this many groups, many times.
MOST_GROUPS = 2_048
_FEW = 4
# Of more atoms than this, so many windows are compared first, and then ever nearer neighbours of
# the best.
MOST_WINDOWS = 2**20
COARSE = 2**16
NEIGHBOURS = 16

#: Of the positives, and of the negatives.
Masses = tuple[FloatArray, FloatArray]

NOTHING = Windows(np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp))

#: Gives something of each window, from where they start and where they end.
ByWindow = Callable[[IntArray, IntArray], NDArray[Any]]


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
        How many label vectors to sample, up to 100,000; the paper's M.
    smoothing : (int, int) or None
        Window and order of the Savitzky-Golay filter over sampled window values, up to 10,001
        and 20. Order 1 over 11 windows is the paper's.
    random_state : int
        Seed of the samples. The same on any number of threads.
    bins : int, None or "auto"
        Sum the examples in this many equal bins of p (a power of two, such as 65536, up to 2**22)
        instead of sorting them, which is several times faster on millions of rows; or None, never.
        ``"auto"`` does it from a million rows on, where it does not move the value by 1e-5.
    """

    binary_only: ClassVar[bool] = True
    of_positive = True
    ranks: ClassVar[bool] = True
    value_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    #: The constructor's one argument that a name carries after ``=``; none when empty.
    level: ClassVar[str] = ""
    #: The share of positives, and of negatives, at or below which the metric is undefined.
    gone: ClassVar[tuple[float, float]] = (CLASS_GONE, CLASS_GONE)
    #: How many windows are looked at in one piece; all of them where that is quicker.
    windows_at_a_time: ClassVar[int | None] = ATOMS_AT_A_TIME

    def __init__(
        self,
        *,
        method: Method = "deterministic",
        n_samples: int = 100,
        smoothing: tuple[int, int] | None = (11, 1),
        random_state: int = 0,
        bins: int | Literal["auto"] | None = "auto",
    ) -> None:
        self.method = method
        self.n_samples = n_samples
        self.smoothing = smoothing
        self.random_state = random_state
        self.bins = bins
        self.check_parameters()

    def check_parameters(self) -> None:
        """Raise if a parameter is not what it should be."""
        check_estimation(self)
        if self.level:
            check_fraction(getattr(self, self.level), name=self.level)

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
        return f"{self.head}={float(getattr(self, self.level))!r}" if self.level else self.head

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

    def bins_for(self, n_rows: int) -> int | None:
        """Return in how many bins a batch of so many rows is summed; None for not at all."""
        if self.bins != "auto":
            return self.bins
        return BINS if n_rows >= MANY_ROWS and self.method == "deterministic" else None

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
            N distinct probabilities and capacity d. Equal probabilities, and those that rounding
            alone tells apart, stay together. NaN where a window leaves a class empty that the
            metric needs.
        """
        atoms = self.atoms_of(self._checked(proba, None, sample_weight)[0])
        windows = atoms.windows(check_capacity(capacity))
        if self.method == "deterministic":
            return self.safe_values(atoms, windows)
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
        atoms = self._labelled_atoms(y_true, proba, sample_weight, None)
        sides = float_array(lower, "lower"), float_array(upper, "upper")
        if sides[0].ndim != 1 or sides[0].shape != sides[1].shape:
            raise ValueError(
                f"`lower` and `upper` must be of one dimension and the same length; got shapes "
                f"{sides[0].shape} and {sides[1].shape}."
            )
        starts = np.searchsorted(atoms.p, sides[0], side="left")
        ends = np.searchsorted(atoms.p, sides[1], side="right")
        return self.safe_values(atoms, Windows(starts, np.maximum(starts, ends)))

    def observed_window_values(
        self,
        y_true: ArrayLike,
        proba: ArrayLike,
        capacity: float,
        *,
        sample_weight: ArrayLike | None = None,
        classes: Sequence[Any] | NDArray[Any] | None = None,
    ) -> FloatArray:
        """Compute the metric from true labels after each window is withheld.

        The windows are those of ``window_values``; their mean over label vectors drawn from
        the probabilities is the sampled estimate.
        """
        atoms = self._labelled_atoms(y_true, proba, sample_weight, classes)
        return self.safe_values(atoms, atoms.windows(check_capacity(capacity)))

    @abstractmethod
    def _by_window(self, atoms: Atoms) -> ByWindow:
        """Return what gives the metric after each window; NaN or anything where undefined."""

    def _threshold(self, atoms: Atoms, start: int, end: int) -> float | None:
        """Return the probability from which on to predict positive, if the metric has one."""
        return None

    def summarised(
        self, proba: FloatArray, weight: FloatArray | None, bins: int | None = None
    ) -> BatchSummary:
        p = proba if proba.ndim == 1 else np.ascontiguousarray(proba[:, 1])
        return summarise(p, weight, bins=bins)

    def expected_on(self, summary: BatchSummary, prediction: IntArray | None) -> float:
        atoms = self.atoms_of(summary)
        if self.method == "deterministic":
            return self._value(atoms)
        nothing = np.empty(0, dtype=np.intp)
        return self._sampled(atoms, Windows(nothing, nothing))[0]

    def observed_on(
        self, codes: IntArray, rows: BatchSummary, prediction: IntArray | None
    ) -> float:
        return self._value(_atoms_of_labels(codes, rows))

    def resampled(
        self, codes: IntArray, rows: RowSummary, prediction: IntArray, n_draws: int, seed: int
    ) -> tuple[float, FloatArray]:
        order = np.argsort(rows.proba[:, 1], kind="stable")
        p = rows.proba[order, 1]
        # Neighbours are one atom: their weights are drawn together.
        first = _first_of_groups(p, MOST_GROUPS)
        weight = np.ones(len(p)) if rows.weight is None else rows.weight[order]
        positive = codes[order] == 1
        masses = np.stack([np.add.reduceat(weight * own, first) for own in (positive, ~positive)])
        rng = np.random.default_rng(seed)
        drawn = np.concatenate([masses[None], gamma_draws(masses, n_draws, rng)])
        values = self._values_under(p[first], drawn.sum(axis=1), drawn[:, 0])
        return float(values[0]), values[1:]

    def draws_on(
        self, summary: BatchSummary, prediction: IntArray | None, n_draws: int, seed: int
    ) -> FloatArray:
        return self._drawn_values(self.atoms_of(summary), NOTHING, n_draws, seed)[0]

    def _drawn_values(
        self, atoms: Atoms, windows: Windows, moves: Moves | int, seed: int
    ) -> list[FloatArray]:
        """Return the value after each window is withheld, under many draws of labels.

        One draw for each of some moves, or so many draws without any. Labels are drawn for
        neighbouring atoms together where these are many.
        """
        few, ends = atoms, windows
        if len(atoms) > MOST_ATOMS:
            few, ends = atoms.compressed(GROUPS, windows)
        p = np.clip(few.positive / few.weight, 0.0, 1.0)
        p = np.tile(p, (moves, 1)) if isinstance(moves, int) else moves.of(p)
        positives = drawn_masses(few.weight, p, seed)
        # What grouping moves the value by is known, and taken back.
        coarse = self.safe_values(few, ends) - self.safe_values(atoms, windows)
        drawn = []
        for start, end, moved in zip(*ends, np.nan_to_num(coarse).tolist(), strict=True):
            place, weight, part = few.p, few.weight, positives
            if end > start:
                kept = np.r_[0:start, end : len(few)]
                place, weight, part = place[kept], weight[kept], np.take(part, kept, axis=1)
            drawn.append(self._values_under(place, weight, part) - moved)
        return drawn

    def moved_draws(
        self, summary: BatchSummary, prediction: IntArray, withheld: Mask, moves: Moves, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        window = None if withheld.all() else summary.window(withheld)
        if window is not None:
            before, after = self._drawn_values(self.atoms_of(summary), window, moves, seed)
            return before, after
        (before,) = self._drawn_values(self.atoms_of(summary), NOTHING, moves, seed)
        if not withheld.any():
            return before, before
        if withheld.all():
            return before, np.full(len(moves), np.nan)
        kept = self.atoms_of(summary.only(~withheld))
        (after,) = self._drawn_values(kept, NOTHING, moves, seed)
        return before, after

    def misfits(
        self, labelled: LabelledReplicates, prediction: IntArray, withheld: Mask, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        p, n = compact(labelled.proba), len(labelled.weight)
        order = np.argsort(p, kind="stable")
        ordered, out = p[order], withheld[order]
        # Of few replicates the rows are told apart; of many, neighbours are one atom.
        new = np.append(True, out[1:] != out[:-1])
        new[_first_of_groups(ordered, len(order) if n < _FEW else MOST_GROUPS)] = True
        first = np.flatnonzero(new)
        weight, believed = (
            np.take(values, order, axis=1) for values in (labelled.weight, labelled.believed)
        )
        positive = weight * (labelled.codes[order] == 1), weight * believed
        masses = [_in_groups(mass, first) for mass in (weight, *positive)]
        place, kept = ordered[first], ~out[first]
        sides = [self._misfit(place, *masses)]
        if not kept.all():
            some = (np.compress(kept, mass, axis=1) for mass in masses)
            sides.append(self._misfit(place[kept], *some) if kept.any() else np.full(n, np.nan))
        return sides[0], sides[-1]

    def _misfit(
        self, p: FloatArray, weight: FloatArray, observed: FloatArray, expected: FloatArray
    ) -> FloatArray:
        return self._values_under(p, weight, observed) - self._values_under(p, weight, expected)

    def _values_under(self, p: FloatArray, weight: FloatArray, positive: FloatArray) -> FloatArray:
        """Return the value of each row of weights and positive masses; NaN where undefined."""
        masses = positive, weight - positive
        kept = masses[0].sum(axis=1), masses[1].sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self._values_of_masses(p, masses, kept)
        if values is None:
            parts = zip(np.broadcast_to(weight, positive.shape), positive, strict=True)
            return np.array([self._value(Atoms(p, *part)) for part in parts], dtype=np.float64)
        total = kept[0] + kept[1]
        gone = (kept[0] <= self.gone[0] * total) | (kept[1] <= self.gone[1] * total)
        return np.where(gone, np.nan, values)

    def _values_of_masses(self, p: FloatArray, masses: Masses, kept: Masses) -> FloatArray | None:
        """Return the value of each row of masses of the atoms; None if not made for it.

        ``masses`` are of the positives and of the negatives, and ``kept`` their sums.
        """
        return None

    def before_and_after(
        self, summary: BatchSummary, prediction: IntArray, withheld: Mask
    ) -> tuple[float, float]:
        # Of few atoms the sums of the kept ones alone are as quick, and exact to the last digit.
        window = summary.window(withheld) if len(withheld) > MOST_ATOMS else None
        if self.method != "deterministic" or window is None:
            return super().before_and_after(summary, prediction, withheld)
        before, after = self.safe_values(self.atoms_of(summary), window)
        return float(before), float(after)

    def choose_on(self, summary: BatchSummary, capacity: float, decision: Decision) -> Choice:
        atoms = self.atoms_of(summary)
        best = self._best(atoms, capacity)
        return self.as_choice(atoms, best.start, best.end, decision)

    def curve_on(
        self, summary: BatchSummary, capacities: Sequence[float], decision: Decision
    ) -> list[Point]:
        """Choose for each capacity; ordering and sums are shared."""
        atoms = self.atoms_of(summary)
        weight = atoms.weight_below
        points = []
        for capacity in capacities:
            best = self._best(atoms, capacity)
            choice = self.as_choice(atoms, best.start, best.end, decision)
            points.append(Point(choice, best.value, float(weight[best.end] - weight[best.start])))
        return points

    def resolved(self, decision: Decision) -> Decision:
        """Return the metric's own threshold for ``"auto"``; without one that is argmax."""
        return "optimal" if decision == "auto" else decision

    def rule_on(self, summary: BatchSummary, decision: Decision) -> DecisionRule:
        return self.as_choice(self.atoms_of(summary), 0, 0, decision).rule

    def as_choice(self, atoms: Atoms, start: int, end: int, decision: Decision) -> Choice:
        # The threshold that the metric itself is taken at, where it has one.
        rule: DecisionRule = Argmax()
        if self.resolved(decision) == "optimal":
            threshold = self._threshold(atoms, start, end)
            rule = rule if threshold is None else Threshold(threshold)
        return Choice(Interval(*atoms.ends(start, end)), rule)

    def coarseness(self, summary: BatchSummary, capacity: float) -> float:
        """Return about how far the bins of a summary move the value, before and after.

        Half of how much further bins twice as wide would move it: between the third that an error
        in the square of the width would leave, and the whole of one in the width. A number of
        bins that was asked for is not questioned.
        """
        if self.bins != "auto":
            return 0.0
        atoms = self.atoms_of(summary)
        wider = atoms.paired()
        moved = self._value(atoms) - self._value(wider)
        kept = self._best(atoms, capacity).value - self._best(wider, capacity).value
        return float(np.nan_to_num(0.5 * max(abs(moved), abs(kept)), nan=np.inf))

    def atoms_of(self, summary: BatchSummary) -> Atoms:
        if self.bins is None or isinstance(self.bins, str):
            return summary.atoms
        return summary.in_bins(self.bins)

    def _value(self, atoms: Atoms) -> float:
        return float(self.safe_values(atoms, NOTHING)[0])

    def _candidates(self, atoms: Atoms, capacity: float) -> Windows:
        """Return the windows worth looking at; all, unless these are very many."""
        if len(atoms.p) <= MOST_WINDOWS:
            return atoms.windows(capacity)
        return self._narrowed(atoms, capacity, COARSE)

    def _narrowed(self, atoms: Atoms, capacity: float, coarse: int) -> Windows:
        """Return the best window found by looking closer and closer.

        Neighbouring windows share all but two atoms, so of millions they hardly differ.
        """
        last = atoms.last_start(capacity)
        step = max(-(-last // coarse), 1)
        looked = np.arange(0, last + 1, step)
        while True:
            windows = atoms.windows_at(looked, capacity)
            values = self.safe_values(atoms, windows)
            best = int(np.argmax(np.nan_to_num(values, nan=-np.inf)))
            if step == 1:
                return windows.only(slice(best, best + 1))
            centre, reach, step = int(looked[best]), step, max(step // NEIGHBOURS, 1)
            looked = np.arange(max(centre - reach, 0), min(centre + reach, last) + 1, step)

    def _best(self, atoms: Atoms, capacity: float) -> BestWindow:
        """Return the best window that fits, or an empty one when none improves the metric."""
        if self.method == "deterministic":
            windows = self._candidates(atoms, capacity)
            base, values = self._value(atoms), self._values(atoms, windows)
        else:
            windows = atoms.windows(capacity)
            base, values = self._sampled(atoms, windows)
        k = _first_highest(values)
        # Most often the highest of all is defined, and the others need not be looked at.
        if self._gone(atoms, windows.only(slice(k, k + 1))).any():
            values[self._gone(atoms, windows)] = np.nan
            k = _first_highest(values)
        if np.isnan(values[k]) or values[k] <= base + NO_GAIN:
            return BestWindow(0, 0, base)
        return BestWindow(int(windows.starts[k]), int(windows.ends[k]), float(values[k]))

    def _sampled(self, atoms: Atoms, windows: Windows) -> tuple[float, FloatArray]:
        """Return the mean value over sampled labels, of all atoms and after each window."""
        starts, ends = (np.append(side, 0) for side in windows)
        means = average_over_labels(
            lambda labelled: self.safe_values(labelled, Windows(starts, ends)),
            atoms,
            n_samples=self.n_samples,
            seed=check_seed(self.random_state),
        )
        return float(means[-1]), smoothed(means[:-1], self.smoothing)

    def safe_values(self, atoms: Atoms, windows: Windows) -> FloatArray:
        """Return the values with NaN where a window leaves no positives or no negatives."""
        values = self._values(atoms, windows)
        values[self._gone(atoms, windows)] = np.nan
        return values

    def _values(self, atoms: Atoms, windows: Windows) -> FloatArray:
        """Return the metric after each window is withheld; NaN or anything where undefined."""
        size = self.windows_at_a_time or len(windows.starts)
        return filled(np.empty(len(windows.starts)), self._by_window(atoms), *windows, size=size)

    def _gone(self, atoms: Atoms, windows: Windows) -> Mask:
        """Tell for each window whether it leaves too few positives or negatives."""
        start, stop = windows
        with np.errstate(invalid="ignore"):
            few = [
                below[start] + (below[-1] - below[stop]) <= share * below[-1]
                for below, share in zip(atoms.below, self.gone, strict=True)
            ]
        return np.asarray(few[0] | few[1])

    def _labelled_atoms(
        self,
        y_true: ArrayLike,
        proba: ArrayLike,
        sample_weight: ArrayLike | None,
        classes: Sequence[Any] | NDArray[Any] | None,
    ) -> Atoms:
        rows, _ = self._checked(proba, None, sample_weight)
        codes = check_labels(
            y_true, classes=classes, n_classes=2, n_rows=rows.n_rows, name="y_true"
        )
        return _atoms_of_labels(codes, rows)


_DEFAULTS: dict[str, Any] = RankingMetric.__init__.__kwdefaults__ or {}


def specificity_thresholds(negative: FloatArray, level: float) -> ByWindow:
    """Return what gives the lowest threshold that keeps the specificity without each window."""

    def lowest(start: IntArray, stop: IntArray) -> IntArray:
        below = negative[start]
        withheld = negative[stop] - below
        need = level * (negative[-1] - withheld)
        left = below >= need
        found = first_reaching(negative, np.where(left, need, need + withheld))
        return np.where(left, np.minimum(found, start), np.maximum(found, stop))

    return lowest


def first_reaching(values: FloatArray, need: FloatArray) -> IntArray:
    """Return the first index whose value (ascending) is at least what is needed, or the last one.

    Needs of neighbouring windows are alike, so they are looked for in the part they lie in.
    """
    low, high = np.searchsorted(values, [need.min(), need.max()]) if need.size else (0, 0)
    found = np.searchsorted(values[low : high + 1], need) + low
    return np.minimum(found, len(values) - 1)


def _first_highest(values: FloatArray) -> int:
    """Return the first of the values that is highest but for rounding."""
    return int(np.argmax(values >= np.fmax.reduce(values, initial=-np.inf) - ROUNDING))


def _atoms_of_labels(codes: IntArray, rows: BatchSummary) -> Atoms:
    return Atoms.from_labels(codes, rows.proba[:, 1], sample_weight=rows.weight)


def _in_groups(mass: FloatArray, first: IntArray) -> FloatArray:
    """Return the sums of columns between where groups begin."""
    return mass if len(first) == mass.shape[1] else np.add.reduceat(mass, first, axis=1)


def _first_of_groups(p: FloatArray, most: int) -> IntArray:
    """Return where groups of ascending values begin; equal ones are never apart."""
    distinct = np.flatnonzero(first_of_kind(p))
    if len(distinct) <= most:
        return distinct
    even = np.searchsorted(distinct, np.arange(most) * len(p) // most)
    return np.unique(distinct[np.minimum(even, len(distinct) - 1)])
