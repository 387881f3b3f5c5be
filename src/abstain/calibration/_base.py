"""The interface of all calibrators: scores of a classifier in, calibrated probabilities out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import (
    FIT_LOGITS,
    FloatArray,
    IntArray,
    Scale,
    both_columns,
    check_classes,
    check_labels,
    check_sample_weight,
    check_scores,
    one_column,
    rows_of,
    to_logits,
)
from abstain._kernels._threads import over_rows
from abstain._numerics import Parameters, raise_not_fitted
from abstain.exceptions import RepairWarning, warn_user

__all__ = ["Calibrator"]

# Rows calibrated at a time: what is between stays in near cache.
_ROWS = 131_072


class Calibrator(Parameters, ABC):
    """Base of all calibrators.

    Subclasses fit on logits (``_fit``), turn logits into probabilities (``_proba``), and name
    their fitted arrays in ``_state`` so that a policy can store them.

    Parameters
    ----------
    scale : {"probabilities", "logits"}
        What the scores are; never guessed. Probabilities are used as their logarithms.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The label of each column.
    """

    #: The registered name.
    name: ClassVar[str]
    #: The fitted arrays, which define the calibrator.
    _state: ClassVar[tuple[str, ...]]
    #: Whether it is for two classes only.
    binary_only: ClassVar[bool] = False

    classes_: NDArray[Any]

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
        logits = to_logits(scores, scale=self.scale)
        n, n_classes = logits.shape
        if self.binary_only and n_classes != 2:
            raise ValueError(
                f"{type(self).__name__} is for two classes; `scores` has {n_classes} columns. "
                f'Use calibration "bcts" or "vector" for more.'
            )
        columns = check_classes(
            y, n_columns=n_classes, classes=classes, of_one_column=one_column(scores, "scores")
        )
        codes = check_labels(y, classes=columns, n_rows=n)
        weight = check_sample_weight(sample_weight, n_rows=n)
        _check_present(codes, weight, columns)
        self._fit(logits, codes, np.ones(n) if weight is None else weight)
        self.classes_ = columns
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
        if len(values) <= _ROWS:
            return self._compact(values, n_classes)
        shape = len(values) if n_classes == 2 else (len(values), n_classes)
        result = np.empty(shape)

        def calibrate(begin: int, end: int) -> None:
            self._compact_into(result[begin:end], values[begin:end], n_classes)

        try:
            over_rows(calibrate, len(values), size=_ROWS)
        except ValueError:
            # The message should speak of all rows, not of a part.
            check_scores(values, scale=self.scale, n_classes=n_classes, remedy=FIT_LOGITS)
            raise
        return result

    @property
    def picked(self) -> Calibrator:
        """The calibrator that does the work: this one, unless it has picked another."""
        return self

    def _compact(self, scores: NDArray[Any], n_classes: int) -> FloatArray:
        """Return probabilities of unchecked scores, of two classes those of the positive one."""
        logits = to_logits(scores, scale=self.scale, n_classes=n_classes, remedy=FIT_LOGITS)
        proba = self._proba(logits)
        return proba[:, 1] if n_classes == 2 else proba

    def _compact_into(self, out: FloatArray, scores: NDArray[Any], n_classes: int) -> None:
        """Put the same where it is to stand."""
        out[...] = self._compact(scores, n_classes)

    def _check_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise_not_fitted(self)

    @abstractmethod
    def _fit(self, logits: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        """Set the arrays named in ``_state``."""

    @abstractmethod
    def _proba(self, logits: FloatArray) -> FloatArray:
        """Return probabilities; a row's result must not depend on the other rows."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted calibrator as plain data."""
        self._check_fitted()
        state = {key: np.asarray(getattr(self, key)).tolist() for key in self._state}
        return {"name": self.name, "scale": self.scale, **state}

    @classmethod
    def from_dict(cls, data: dict[str, Any], *, classes: NDArray[Any]) -> Self:
        """Return the fitted calibrator that ``to_dict`` described."""
        calibrator = cls(scale=data["scale"])
        for key in cls._state:
            setattr(calibrator, key, np.array(data[key], dtype=np.float64))
        calibrator.classes_ = classes
        return calibrator


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
