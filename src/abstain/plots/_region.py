"""The withheld region on the histogram of probabilities."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from abstain._inputs import FloatArray, Mask
from abstain.plots._display import COLORS, DecisionsDisplay, Rows, as_label, new_axes

N_BINS = 40
# More stretches than these are no region to shade but rows among others.
MOST_STRETCHES = 6


@dataclass(eq=False, repr=False)
class RegionDisplay(DecisionsDisplay):
    """Histogram of the positive class's probability, the withheld rows marked.

    Bars show the number of positives and negatives among the rows: expected, or true where
    labels are given. What is withheld is shaded, each stretch of it; where withheld and kept
    rows alternate, so that there are no stretches, the withheld rows have bars of their own.
    Make one with :meth:`from_decisions`, :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Probability of the positive class.
    abstain : ndarray of bool, shape (n,)
        Which rows are withheld.
    positive, negative : ndarray of shape (n,)
        How much of each row is a positive and a negative.
    estimated : bool
        Whether these are expected rather than true.
    positive_label : object
        What the positive class is called.

    Attributes
    ----------
    stretches : list of tuple of float
        First and last probability of each run of withheld rows without a kept one between.
    ax_ : matplotlib Axes
        The axes with the histogram.
    figure_ : matplotlib Figure
        The figure that holds it.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.plots import RegionDisplay
    >>> p = np.array([0.1, 0.4, 0.5, 0.6, 0.9])
    >>> outside = RegionDisplay(p, (p < 0.2) | (p > 0.8), positive=p, negative=1 - p)
    >>> outside.stretches
    [(0.1, 0.1), (0.9, 0.9)]
    """

    p: FloatArray
    abstain: Mask
    _: KW_ONLY
    positive: FloatArray
    negative: FloatArray
    estimated: bool = True
    positive_label: Any = 1

    @classmethod
    def _of(cls, rows: Rows) -> Self:
        rows.check_binary("This histogram is")
        negative, positive = rows.label_mass().T
        return cls(
            rows.proba[:, 1],
            rows.abstain,
            positive=positive,
            negative=negative,
            estimated=rows.estimated,
            positive_label=rows.classes[1],
        )

    @property
    def stretches(self) -> list[tuple[float, float]]:
        """First and last probability of each run of withheld rows."""
        values, inverse = np.unique(self.p, return_inverse=True)
        inside = np.bincount(inverse, weights=self.abstain) > 0
        edges = np.flatnonzero(np.diff(np.concatenate([[0], inside, [0]]))).reshape(-1, 2)
        return [(float(values[first]), float(values[end - 1])) for first, end in edges]

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the histogram."""
        self.figure_, self.ax_ = new_axes(ax)
        edges = np.linspace(0, 1, N_BINS + 1)
        kind = "expected" if self.estimated else "true"
        self.ax_.hist(
            [self.p, self.p],
            bins=edges,
            weights=[self.negative, self.positive],
            stacked=True,
            color=[COLORS["negative"], COLORS["positive"]],
            label=[f"negatives ({kind})", f"positives ({kind})"],
        )
        self._mark_withheld(edges)
        self.ax_.set(
            xlabel=f"probability of class {as_label(self.positive_label)}",
            ylabel="rows",
            title="Who is withheld",
            xlim=(0, 1),
        )
        self.ax_.legend(facecolor="white", edgecolor="none", framealpha=0.8)
        return self

    def _mark_withheld(self, edges: FloatArray) -> None:
        stretches = self.stretches
        if not stretches:
            return
        if len(stretches) > MOST_STRETCHES:
            rows = self.abstain
            self.ax_.hist(
                self.p[rows],
                bins=edges,
                weights=(self.positive + self.negative)[rows],
                facecolor="none",
                edgecolor="black",
                hatch="////",
                linewidth=0.8,
                label="withheld rows",
            )
            return
        first, last = stretches[0][0], stretches[-1][1]
        label = f"withheld: {first:.3f} to {last:.3f}"
        if len(stretches) > 1:
            label += f", in {len(stretches)} parts"
        for begin, end in stretches:
            # The edge keeps a stretch of one value visible.
            self.ax_.axvspan(
                begin,
                end,
                facecolor=COLORS["withheld"],
                edgecolor=COLORS["withheld"],
                linewidth=1,
                alpha=0.35,
                zorder=0,
                label=label,
            )
            label = "_nolegend_"
