"""ROC curves before and after abstaining."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain._validation import FloatArray, check_labels
from abstain.decisions import Decisions
from abstain.plots._style import COLORS, new_axes

__all__ = ["RocAbstentionDisplay"]

Curve = tuple[FloatArray, FloatArray]


class RocAbstentionDisplay:
    """ROC curves of all rows and of the kept rows, and the stretch that is withheld.

    Make one with :meth:`from_decisions`.

    Parameters
    ----------
    before, after : tuple of ndarray
        False-positive and true-positive rates along each curve.
    withheld : tuple of ndarray
        The part of the curve before that the withheld rows span.
    estimated : bool
        Whether the curves are estimated from probabilities rather than from labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the curves.
    figure_ : matplotlib Figure
        The figure that holds them.
    """

    ax_: Any
    figure_: Any

    def __init__(self, before: Curve, after: Curve, withheld: Curve, *, estimated: bool) -> None:
        self.before = before
        self.after = after
        self.withheld = withheld
        self.estimated = estimated

    @classmethod
    def from_decisions(
        cls, decisions: Decisions, y_true: ArrayLike | None = None, *, ax: Any = None
    ) -> Self:
        """Draw the curves of a batch of binary decisions.

        Parameters
        ----------
        decisions : Decisions
            What was decided.
        y_true : array-like of shape (n,), optional
            True labels; without them the curves are estimated from the probabilities.
        ax : matplotlib Axes, optional
            Where to draw; new axes when not given.
        """
        if decisions.proba.shape[1] != 2:
            raise ValueError(f"ROC curves are for two classes; got {decisions.proba.shape[1]}.")
        p = decisions.proba[:, 1]
        weight = np.ones(len(p)) if decisions.sample_weight is None else decisions.sample_weight
        if y_true is None:
            positive = p
        else:
            codes = check_labels(y_true, classes=decisions.classes, n_rows=len(p), name="y_true")
            positive = codes.astype(np.float64)
        kept = ~decisions.abstain
        before = _roc(p, positive * weight, (1 - positive) * weight)
        after = _roc(p[kept], (positive * weight)[kept], ((1 - positive) * weight)[kept])
        display = cls(before[:2], after[:2], _stretch(before, p[~kept]), estimated=y_true is None)
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the curves."""
        self.figure_, self.ax_ = new_axes(ax)
        self.ax_.plot([0, 1], [0, 1], color="0.85", linewidth=1)
        self.ax_.plot(*self.before, color=COLORS["before"], label="all rows")
        if len(self.withheld[0]):
            self.ax_.plot(
                *self.withheld,
                color=COLORS["withheld"],
                linewidth=5,
                alpha=0.6,
                solid_capstyle="butt",
                label="withheld rows",
            )
        self.ax_.plot(*self.after, color=COLORS["after"], label="kept rows")
        self.ax_.set(
            xlabel="1 - specificity",
            ylabel="sensitivity",
            title="ROC, estimated" if self.estimated else "ROC",
            xlim=(-0.01, 1.01),
            ylim=(-0.01, 1.01),
            aspect="equal",
        )
        self.ax_.legend(loc="lower right", frameon=False)
        return self


def _roc(
    p: FloatArray, positive: FloatArray, negative: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return false- and true-positive rates and thresholds, from the highest threshold down."""
    order = np.argsort(-p, kind="stable")
    last_of_tie = np.append(np.diff(p[order]) != 0, True)
    true_rate = np.cumsum(positive[order])[last_of_tie] / max(positive.sum(), np.finfo(float).tiny)
    false_rate = np.cumsum(negative[order])[last_of_tie] / max(
        negative.sum(), np.finfo(float).tiny
    )
    thresholds = p[order][last_of_tie]
    return (
        np.insert(false_rate, 0, 0.0),
        np.insert(true_rate, 0, 0.0),
        np.insert(thresholds, 0, np.inf),
    )


def _stretch(curve: tuple[FloatArray, FloatArray, FloatArray], withheld: FloatArray) -> Curve:
    if not withheld.size:
        return (np.empty(0), np.empty(0))
    false_rate, true_rate, thresholds = curve
    inside = (thresholds >= withheld.min()) & (thresholds <= withheld.max())
    # The step into the first withheld row belongs to the stretch.
    inside[:-1] |= inside[1:]
    return false_rate[inside], true_rate[inside]
