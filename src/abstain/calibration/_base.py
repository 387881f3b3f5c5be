"""The interface of all calibrators: scores of a classifier in, calibrated probabilities out.

And their weak prior, a few rows taken as if they had other labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain import program
from abstain._inputs import (
    FIT_LOGITS,
    CheckedScores,
    FloatArray,
    IntArray,
    Scale,
    both_columns,
    check_classes,
    check_sample_weight,
    check_scores,
    codes_of,
    label_array,
    number,
    one_column,
    rows_of,
)
from abstain._kernels._pieces import filled
from abstain._numerics import Parameters, raise_not_fitted
from abstain._schema import Keys
from abstain.exceptions import RepairWarning, warn_user
from abstain.program import Value

if TYPE_CHECKING:
    from abstain.calibration._folds import WithoutFolds

# Rows calibrated at a time: what is between stays in near cache.
_ROWS = 131_072
#: What the weak prior of calibrators is worth when nothing is said: half a row of each of two
#: classes, taken as if they had other labels. Scores that separate few rows without an error would
#: otherwise be stretched to certainty.
PRIOR_ROWS = 1.0
_MOST_ROWS = 1e15


class Calibrator(Parameters, ABC):
    """Base of all calibrators.

    Subclasses fit on logits (``_fit``), state what turns logits into probabilities
    (``operations``), and name their fitted arrays in ``state`` so that a policy can store them.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are; never guessed. Probabilities are used as their logarithms.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The label of each column.
    """

    #: The registered name; that of the class where it says no other.
    name: ClassVar[str]
    #: The fitted arrays, which define the calibrator, each with the names of its axes: "classes",
    #: or anything else that has one length throughout. None for a number.
    state: ClassVar[Keys] = {}
    #: Whether it is for two classes only.
    binary_only: ClassVar[bool] = False

    classes_: NDArray[Any]
    #: What it is without parts of the rows it was fitted on, where that was found in passing.
    without_folds: WithoutFolds | None = None

    def __init_subclass__(cls) -> None:
        """Name the class, so that one made from a built-in calibrator is not stored as that."""
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def __init__(self, *, scale: Scale = "probabilities") -> None:
        self.scale = scale

    def fit(
        self,
        scores: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        classes: Sequence[Any] | NDArray[Any] | None = None,
    ) -> Self:
        """Fit on labelled scores.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores of the classifier on data it was not trained on.
        y : array-like of shape (n,)
            True labels.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.
        classes : sequence, optional
            The label of each column, of two the positive one last; the sorted distinct labels
            when not given, of which for one dimension one must be positive by itself, as 1 is.

        Returns
        -------
        self
        """
        logits = CheckedScores.of(scores, scale=self.scale).logits
        n, n_classes = logits.shape
        self._check_n_classes(n_classes)
        labels = label_array(y, "y")
        columns = check_classes(labels, n_classes, classes, "y", one_column(scores, "scores"))
        codes = codes_of(labels, columns, n, "y")
        weight = check_sample_weight(sample_weight, n_rows=n)
        return self.fit_checked(logits, codes, weight, columns)

    def fit_checked(
        self, logits: FloatArray, codes: IntArray, weight: FloatArray | None, classes: NDArray[Any]
    ) -> Self:
        """Fit on what was checked already: logits, true columns, and the label of each column."""
        self._check_n_classes(logits.shape[1])
        _check_present(codes, weight, classes)
        self._fit(logits, codes, np.ones(len(codes)) if weight is None else weight)
        self.classes_ = self.picked.classes_ = classes
        return self

    def predict_proba(self, scores: ArrayLike) -> FloatArray:
        """Return calibrated probabilities.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the scale the calibrator was fitted on.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        return both_columns(self.compact(scores))

    def compact(self, scores: ArrayLike) -> FloatArray:
        """Return calibrated probabilities, of two classes those of the positive one alone.

        Scores are checked and calibrated part by part, so no copy of all of them is made. The
        result is the caller's, to change in place.
        """
        self._check_fitted()
        values = rows_of(scores, "scores")
        n_classes = len(self.classes_)
        shape = len(values) if n_classes == 2 else (len(values), n_classes)
        try:
            return filled(np.empty(shape), self.picked._compact, values, size=_ROWS)
        except ValueError:
            # The message should speak of all rows, not of a part.
            check_scores(values, scale=self.scale, n_classes=n_classes, remedy=FIT_LOGITS)
            raise

    def compact_checked(self, scores: CheckedScores) -> FloatArray:
        """Return the same for scores that were checked already."""
        proba = self._proba(scores.logits)
        return proba[:, 1] if len(self.classes_) == 2 else proba

    def operations(self, logits: Value) -> Value:
        """State the probabilities of a block of logits; of two classes the positive one's will do.

        What ``predict_proba`` does is what is stated here, and every export does the same.
        """
        raise TypeError(
            f"The calibration {type(self).__name__} does not state its operations, so that "
            f"nothing but Python can calibrate by it. Give it `operations(self, logits)`."
        )

    def stated(self, scores: Value, smallest: float) -> Value:
        """State the probabilities of a block of scores, of two classes the positive one's.

        Parameters
        ----------
        scores : Value
            Probabilities whose rows sum to 1, or logits.
        smallest : float
            What a probability of 0 is taken for.
        """
        if self.scale == "probabilities":
            scores = program.log(program.maximum(scores, smallest))
        proba = self.operations(scores)
        return proba[1] if proba.width == 2 else proba

    @property
    def logistic(self) -> tuple[float, float, float] | None:
        """What a logistic curve of two logits has for a, b and c; None for any other calibrator.

        The positive probability is ``1 / (1 + exp(a * negative + b * positive + c))``.
        """
        return None

    @property
    def picked(self) -> Calibrator:
        """The calibrator that does the work: this one, unless it has picked another."""
        return self

    def _compact(self, scores: NDArray[Any]) -> FloatArray:
        """Return the same for some unchecked rows."""
        n_classes = len(self.classes_)
        return self.compact_checked(
            CheckedScores.of(scores, scale=self.scale, n_classes=n_classes, remedy=FIT_LOGITS)
        )

    def _check_n_classes(self, n_classes: int) -> None:
        if self.binary_only and n_classes != 2:
            raise ValueError(
                f"{type(self).__name__} is for two classes; `scores` has {n_classes} columns. "
                f'Use calibration "bcts" or "vector" for more.'
            )

    def _check_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise_not_fitted(self)

    @abstractmethod
    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        """Set the arrays named in ``state``."""

    def _fit_again(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        """Set them anew, by most of the rows they were fitted on: near where they are."""
        self._fit(logits, codes, weight)

    def _proba(self, logits: FloatArray) -> FloatArray:
        """Return probabilities; a row's result must not depend on the other rows."""
        return program.of_rows(lambda rows: program.both_columns(self.operations(rows)), logits)

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted calibrator as plain data."""
        self._check_fitted()
        state = {key: np.asarray(getattr(self, key)).tolist() for key in self.state}
        return {"name": self.name, "scale": self.scale, **state}

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, classes: NDArray[Any]) -> Self:
        """Return the fitted calibrator that ``to_dict`` described."""
        if cls.binary_only and len(classes) != 2:
            raise ValueError(
                f"`calibration` {cls.name} is for two classes; there are {len(classes)}"
            )
        calibrator = cls(scale=data["scale"])
        for key in cls.state:
            setattr(calibrator, key, np.array(data[key], dtype=np.float64))
        calibrator.classes_ = classes
        return calibrator


class RegularisedCalibrator(Calibrator):
    """Base of the calibrators with the weak prior.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are.
    prior_rows : float
        How many rows the prior is worth; 0 for none.
    """

    def __init__(self, *, scale: Scale = "probabilities", prior_rows: float = PRIOR_ROWS) -> None:
        super().__init__(scale=scale)
        self.prior_rows = prior_rows


def _check_present(codes: IntArray, weight: FloatArray | None, classes: NDArray[Any]) -> None:
    mass = np.bincount(codes, weights=weight, minlength=len(classes))
    absent = classes[mass == 0].tolist()
    if len(absent) >= len(classes) - 1:
        raise ValueError(
            f"`y` must have at least two classes; all labels are "
            f"{classes[np.argmax(mass)].item()!r}. Calibration needs examples of both."
        )
    if absent:
        warn_user(
            f"No example of class {', '.join(map(repr, absent))} in `y`; its probability is "
            f"not calibrated by data of its own.",
            RepairWarning,
        )


def _check_prior_rows(prior_rows: float) -> float:
    """Return the number of rows the prior is worth, or raise."""
    rows = number(prior_rows, "prior_rows")
    if not 0 <= rows < np.inf:
        raise ValueError(f"`prior_rows` must be finite and at least 0; got {prior_rows!r}.")
    # More rows than anybody has weigh the same; their squares should be numbers.
    return min(rows, _MOST_ROWS)


def smoothed_targets(
    codes: IntArray, weight: FloatArray, n_classes: int, prior_rows: float
) -> FloatArray:
    """Return the distribution that the rows of each class aim at.

    Each class with examples hands at most ``prior_rows / n_classes`` of its rows to the others,
    and gets as much from each as it gives. The mean aim is therefore the class frequencies, and
    so is the mean probability of a calibrator with biases.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        True classes, as column numbers.
    weight : ndarray of shape (n,)
        How much each row counts.
    n_classes : int
        The number of columns.
    prior_rows : float
        How many rows the prior is worth; 0 for none.

    Returns
    -------
    ndarray of shape (n_classes, n_classes)
        Rows sum to 1.

    Notes
    -----
    Classes c and d of ``N_c`` and ``N_d`` rows exchange ``a / (k - 1) / (1 + a / N_c + a / N_d)``
    with ``a = prior_rows / k`` and k the number of classes that have examples. Two classes of N
    rows and ``prior_rows=2`` give Platt's targets, (N + 1) / (N + 2).
    """
    share = _check_prior_rows(prior_rows)
    counts = np.bincount(codes, weights=weight, minlength=n_classes).astype(np.float64)
    present = np.flatnonzero(counts > 0)
    targets = np.eye(n_classes)
    if share == 0 or len(present) < 2:
        return targets
    share /= len(present)
    rarity = share / counts[present]
    exchanged = share / (len(present) - 1) / (1 + rarity[:, None] + rarity)
    np.fill_diagonal(exchanged, 0.0)
    given = exchanged / counts[present, None]
    np.fill_diagonal(given, 1 - given.sum(axis=1))
    targets[np.ix_(present, present)] = given
    return targets
