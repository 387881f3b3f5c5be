"""ROC curves before and after abstaining."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from abstain._inputs import FloatArray
from abstain.plots._display import COLORS, DecisionsDisplay, Rows, new_axes

Curve = tuple[FloatArray, FloatArray]


@dataclass(eq=False, repr=False)
class RocAbstentionDisplay(DecisionsDisplay):
    """ROC curves of all rows and of the kept rows, and the stretch that is withheld.

    Make one with :meth:`from_decisions`, :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    before, after : tuple of ndarray
        False-positive and true-positive rates along each curve.
    withheld : tuple of ndarray
        The parts of the curve before that the withheld rows span, NaN between them.
    estimated : bool
        Whether the curves are estimated from probabilities rather than from labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the curves.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from abstain.plots import RocAbstentionDisplay
    >>> display = RocAbstentionDisplay.from_predictions(
    ...     [0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9], [False, True, True, False]
    ... )  # doctest: +SKIP
    >>> display.after  # what is kept is in perfect order  # doctest: +SKIP
    (array([0., 0., 1.]), array([0., 1., 1.]))
    """

    before: Curve
    after: Curve
    withheld: Curve
    _: KW_ONLY
    estimated: bool

    @classmethod
    def _of(cls, rows: Rows) -> Self:
        rows.check_positive("ROC curves are")
        p, kept = rows.proba[:, 1], ~rows.abstain
        negative, positive = rows.label_mass().T
        before = _roc(p, positive, negative)
        after = _roc(p[kept], positive[kept], negative[kept])
        return cls(before[:2], after[:2], _stretches(before, p[~kept]), estimated=rows.estimated)

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
    false_rate, true_rate = (
        np.cumsum(mass[order])[last_of_tie] / max(mass.sum(), np.finfo(float).tiny)
        for mass in (negative, positive)
    )
    begins = ((false_rate, 0.0), (true_rate, 0.0), (p[order][last_of_tie], np.inf))
    x, y, thresholds = (np.insert(values, 0, first) for values, first in begins)
    return x, y, thresholds


def _stretches(curve: tuple[FloatArray, FloatArray, FloatArray], withheld: FloatArray) -> Curve:
    """Return the parts of a curve that withheld rows span, NaN between one part and the next."""
    false_rate, true_rate, thresholds = curve
    inside = np.isin(thresholds, withheld)
    # The step into the first withheld row of a part belongs to it.
    first = ~inside & np.append(inside[1:], False)
    points = np.flatnonzero(inside | first)
    breaks = np.flatnonzero(first[points])[1:]
    x, y = (np.insert(rate[points], breaks, np.nan) for rate in (false_rate, true_rate))
    return x, y
