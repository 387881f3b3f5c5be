"""What displays of decisions share: how they are made, from a classifier, decisions or arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from numpy.typing import ArrayLike

from abstain.decisions import Decisions
from abstain.plots._rows import Classes, Rows


class DecisionsDisplay(ABC):
    """Base of the displays of decided rows.

    Subclasses take what they draw out of the rows (``_of``) and draw it (``plot``).

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.
    figure_ : matplotlib Figure
        The figure that holds them.
    """

    ax_: Any
    figure_: Any

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike | None = None, *, ax: Any = None
    ) -> Self:
        """Draw what a fitted classifier decides.

        Parameters
        ----------
        estimator : AbstainingClassifier
            A fitted classifier that abstains.
        X : array-like of shape (n, n_features)
            Features of the rows.
        y : array-like of shape (n,), optional
            True labels; without them the probabilities stand for them.
        ax : matplotlib Axes, optional
            Where to draw; new axes when not given.
        """
        return cls.from_decisions(estimator.decide(X), y, ax=ax)

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

    @abstractmethod
    def plot(self, *, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""
