"""What displays share: their look, the rows they draw, how they are made of decisions or arrays.

Every display of decisions reads its rows through one check: probabilities, what is withheld, and
labels where there are any. Matplotlib is imported when something is drawn.
"""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import (
    FloatArray,
    IntArray,
    Mask,
    check_classes,
    check_labels,
    check_proba,
    check_same_length,
    check_sample_weight,
    label_array,
    one_column,
    told_positive,
)
from abstain.decisions import Decisions, check_decisions
from abstain.exceptions import extra

# Okabe and Ito's palette, which colour-blind readers can tell apart.
COLORS = {
    "before": "#4D4D4D",
    "after": "#0072B2",
    "withheld": "#E69F00",
    "positive": "#D55E00",
    "negative": "#56B4E9",
}

# Colours and markers of several lines in one picture, so that colour is not all that differs.
SERIES = (
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#4D4D4D", "v"),
    ("#E69F00", "P"),
)

# Kinds of characters without a picture of their own.
_NOT_DRAWN = ("Cc", "Cs", "Zl", "Zp")
# Of a name in a picture.
_LONGEST = 60
Classes = Sequence[Any] | NDArray[Any] | None


def new_axes(ax: Any = None) -> tuple[Any, Any]:
    """Return the figure and axes to draw on, new ones when none are given."""
    if ax is not None:
        return ax.figure, ax
    return _pyplot().subplots(layout="constrained")  # type: ignore[no-any-return]


def as_label(name: Any) -> str:
    """Return a name to be drawn letter by letter: no formula, one line, not too long."""
    text = str(name)
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    text = "".join(
        " " if unicodedata.category(sign) in _NOT_DRAWN else sign for sign in text
    ).replace("$", r"\$")
    # An underscore in front would keep a name out of the legend.
    return f" {text}" if text.startswith("_") else text


def _pyplot() -> Any:
    with extra("plots", "Plots need matplotlib"):
        import matplotlib.pyplot as plt
    return plt


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to draw.

    Attributes
    ----------
    proba : ndarray of shape (n, n_classes)
        Calibrated, adapted probabilities.
    abstain : ndarray of bool, shape (n,)
        Which rows are withheld.
    prediction : ndarray of int, shape (n,)
        The predicted column.
    weight : ndarray of shape (n,) or None
        How much each row counts; None for once.
    classes : ndarray of shape (n_classes,)
        The label of each column.
    codes : ndarray of int, shape (n,), or None
        The column of the true label, where it is known.
    positive : label or None
        The positive class of two, where it is known; it is the last.
    """

    proba: FloatArray
    abstain: Mask
    prediction: IntArray
    weight: FloatArray | None
    classes: NDArray[Any]
    codes: IntArray | None
    positive: Any = None

    @classmethod
    def of_decisions(cls, decisions: Decisions, y_true: ArrayLike | None) -> Self:
        """Return the rows of a batch that was decided about."""
        check_decisions(decisions)
        # Rows without a score, or with a label that was known, have no place in any display.
        codes, scored = _codes(y_true, decisions.classes, len(decisions)), decisions.scored
        return cls(
            proba=scored.proba,
            abstain=scored.abstain,
            prediction=scored.columns,
            weight=scored.sample_weight,
            classes=scored.classes,
            codes=None if codes is None else codes[decisions.scored_at],
            positive=decisions.positive,
        )

    @classmethod
    def of_predictions(
        cls,
        y_true: ArrayLike | None,
        proba: ArrayLike,
        abstain: ArrayLike,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: Classes = None,
    ) -> Self:
        """Return rows given as arrays, checked."""
        matrix = check_proba(proba)
        n, n_classes = matrix.shape
        labels = np.arange(n_classes) if y_true is None else label_array(y_true, "y_true")
        columns = check_classes(labels, n_classes, classes, "y_true", one_column(proba, "proba"))
        mask = np.asarray(abstain)
        if mask.dtype != np.bool_ or mask.ndim != 1:
            raise TypeError(
                f"`abstain` must be true or false for each row; got {mask.dtype} of shape "
                f"{mask.shape}."
            )
        check_same_length(proba=matrix, abstain=mask)
        return cls(
            proba=matrix,
            abstain=mask,
            prediction=(
                np.argmax(matrix, axis=1)
                if prediction is None
                else check_labels(prediction, classes=columns, n_rows=n, name="prediction")
            ),
            weight=check_sample_weight(sample_weight, n_rows=n),
            classes=columns,
            codes=_codes(y_true, columns, n),
            positive=told_positive(columns) if classes is None else columns.tolist()[-1],
        )

    @property
    def estimated(self) -> bool:
        """Whether labels are missing, so that probabilities stand for them."""
        return self.codes is None

    def label_mass(self) -> FloatArray:
        """Return how much of each row belongs to each class: its label, or its probabilities."""
        mass: FloatArray = (
            self.proba if self.codes is None else np.eye(len(self.classes))[self.codes]
        )
        return mass if self.weight is None else mass * self.weight[:, None]

    def check_binary(self, what: str) -> None:
        """Raise if there are not two classes."""
        if len(self.classes) != 2:
            raise ValueError(f"{what} for two classes; got {len(self.classes)}.")

    def check_positive(self, what: str) -> None:
        """Raise if there are not two classes of which one is known to be positive."""
        self.check_binary(what)
        if self.positive is None:
            first, second = (repr(label) for label in self.classes.tolist())
            raise ValueError(
                f"{what} of the positive class, and nothing says which of {first} and {second} "
                f"that is. Pass classes=[{first}, {second}], the positive class last (and the "
                f"columns of `proba` in that order), or decide with positive={second}."
            )


def _codes(y_true: ArrayLike | None, classes: NDArray[Any], n: int) -> IntArray | None:
    return (
        None if y_true is None else check_labels(y_true, classes=classes, n_rows=n, name="y_true")
    )


class Display(ABC):
    """Base of all displays.

    Subclasses make themselves of decisions (``from_decisions``) and draw (``plot``).

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        The figure that holds them.
    """

    ax_: Any
    figure_: Any

    @abstractmethod
    def plot(self, *, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""


class BatchDisplay(Display):
    """Base of the displays of a batch that was decided about."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike | None = None, **options: Any
    ) -> Self:
        """Draw what a fitted classifier decides.

        Parameters
        ----------
        estimator : AbstainingClassifier
            A fitted classifier that abstains.
        X : array-like of shape (n, n_features)
            Features of the rows.
        y : array-like of shape (n,), optional
            True labels: what is drawn is of these where they are known.
        **options
            As for ``from_decisions``.
        """
        # Each has its own, with options of its own.
        return cls.from_decisions(estimator.decide(X), y, **options)  # type: ignore[attr-defined,no-any-return]


class DecisionsDisplay(BatchDisplay):
    """Base of the displays of decided rows.

    Subclasses take what they draw out of the rows (``_of``) and draw it (``plot``).
    """

    @classmethod
    def from_decisions(
        cls, decisions: Decisions, y_true: ArrayLike | None = None, *, ax: Any = None
    ) -> Self:
        """Draw a batch of decisions.

        Parameters
        ----------
        decisions : Decisions
            What was decided.
        y_true : array-like of shape (n,), optional
            True labels; without them the probabilities stand for them.
        ax : matplotlib Axes, optional
            Where to draw; new axes when not given.
        """
        return cls._of(Rows.of_decisions(decisions, y_true)).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | None,
        proba: ArrayLike,
        abstain: ArrayLike,
        *,
        prediction: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: Classes = None,
        ax: Any = None,
    ) -> Self:
        """Draw probabilities and a mask of what is withheld.

        Parameters
        ----------
        y_true : array-like of shape (n,) or None
            True labels; without them the probabilities stand for them.
        proba : array-like of shape (n,) or (n, n_classes)
            Probabilities.
        abstain : array-like of bool, shape (n,)
            Which rows are withheld.
        prediction : array-like of shape (n,), optional
            Predicted labels; the most probable class when not given.
        sample_weight : array-like of shape (n,), optional
            How much each row counts.
        classes : sequence, optional
            The label of each column.
        ax : matplotlib Axes, optional
            Where to draw; new axes when not given.
        """
        rows = Rows.of_predictions(
            y_true,
            proba,
            abstain,
            prediction=prediction,
            sample_weight=sample_weight,
            classes=classes,
        )
        return cls._of(rows).plot(ax=ax)

    @classmethod
    @abstractmethod
    def _of(cls, rows: Rows) -> Self:
        """Return the display of some rows, not drawn yet."""
