"""The confusion matrix with abstention: where the rows of each class go, the withheld ones too."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray
from abstain.plots._display import DecisionsDisplay, Rows, as_label, new_axes

# With more classes than these, the numbers in the cells could not be read.
MOST_WRITTEN = 12
# Shares above this have dark cells, and light writing.
DARK = 0.55


class ConfusionAbstentionDisplay(DecisionsDisplay):
    """Confusion matrix of the kept rows, with a column for what is withheld of each class.

    Each cell says how many rows are kept of how many there were before abstaining, and nothing
    where there were none. Its shade is the share of the true class that is kept there or, in the
    last column, withheld. Make one with :meth:`from_decisions`, :meth:`from_estimator` or
    :meth:`from_predictions`.

    Parameters
    ----------
    before, kept : ndarray of shape (n_classes, n_classes)
        Rows of true class i predicted as class j: all of them, and the kept ones.
    classes : array-like of shape (n_classes,)
        The class labels.
    estimated : bool
        Whether the true classes are expected rather than known.

    Attributes
    ----------
    withheld : ndarray of shape (n_classes,)
        Rows withheld of each true class.
    ax_ : matplotlib Axes
        The axes with the matrix.
    figure_ : matplotlib Figure
        The figure that holds it.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.plots import ConfusionAbstentionDisplay
    >>> before, kept = np.array([[50, 10], [5, 35]]), np.array([[48, 2], [1, 33]])
    >>> ConfusionAbstentionDisplay(before, kept, ["well", "ill"]).withheld.tolist()
    [10, 6]
    """

    def __init__(
        self, before: FloatArray, kept: FloatArray, classes: ArrayLike, *, estimated: bool = False
    ) -> None:
        self.before = np.asarray(before)
        self.kept = np.asarray(kept)
        self.classes = np.asarray(classes)
        self.estimated = estimated

    @property
    def withheld(self) -> FloatArray:
        """Rows withheld of each true class."""
        rows: FloatArray = (self.before - self.kept).sum(axis=1)
        return rows

    @classmethod
    def _of(cls, rows: Rows) -> Self:
        mass, kept = rows.label_mass(), ~rows.abstain
        predicted = np.eye(len(rows.classes))[rows.prediction]
        return cls(
            mass.T @ predicted,
            mass[kept].T @ predicted[kept],
            rows.classes,
            estimated=rows.estimated,
        )

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the matrix."""
        self.figure_, self.ax_ = new_axes(ax)
        k = len(self.classes)
        totals = np.maximum(self.before.sum(axis=1, keepdims=True), 1e-12)
        shares = np.column_stack([self.kept / totals, self.withheld / totals[:, 0]])
        empty = np.full((k, 1), np.nan)
        sides = (
            (np.column_stack([shares[:, :k], empty]), "Blues"),
            (np.column_stack([np.full((k, k), np.nan), shares[:, k]]), "Oranges"),
        )
        for values, shades in sides:
            self.ax_.imshow(values, cmap=shades, vmin=0, vmax=1, aspect="auto")
        # White lines set the cells apart, a thick one the withheld column.
        for place in np.arange(-0.5, k):
            self.ax_.axhline(place, color="white", linewidth=1)
            self.ax_.axvline(place, color="white", linewidth=6 if place == k - 0.5 else 1)
        if k <= MOST_WRITTEN:
            self._write_cells(shares)
        names = [as_label(name) for name in self.classes.tolist()]
        self.ax_.set_xticks(range(k + 1), [*names, "withheld"])
        self.ax_.set_yticks(range(k), names)
        self.ax_.tick_params(length=0)
        self.ax_.spines[:].set_visible(False)
        kind = "expected" if self.estimated else "observed"
        self.ax_.set(
            xlabel="predicted class",
            ylabel="true class" + (" (expected)" if self.estimated else ""),
            title=f"Where the rows of each class go, {kind}",
        )
        return self

    def _write_cells(self, shares: FloatArray) -> None:
        k = len(self.classes)
        size = 10 if k <= 5 else 8
        for row, column in np.ndindex(k, k + 1):
            if column < k:
                number, total = self.kept.item(row, column), self.before.item(row, column)
                if round(total, 1) == 0:
                    continue
                text = f"{_count(number)}\nof {_count(total)}"
            else:
                text = f"{_count(self.withheld.item(row))}\n({shares[row, column]:.0%})"
            color = "white" if shares[row, column] > DARK else "black"
            self.ax_.text(column, row, text, ha="center", va="center", color=color, fontsize=size)


def _count(number: float) -> str:
    """Write a count; an expected one below ten keeps a decimal."""
    return f"{number:.0f}" if number >= 10 else f"{round(number, 1):g}"
