"""The withheld region on the histogram of probabilities."""

from typing import Any, Self

import numpy as np

from abstain._validation import FloatArray
from abstain.decisions import Decisions
from abstain.plots._style import COLORS, new_axes
from abstain.regions import Mask

__all__ = ["RegionDisplay"]

N_BINS = 40


class RegionDisplay:
    """Histogram of the positive class's probability, the withheld rows marked.

    Bars show the expected number of positives and negatives among the rows. Make one with
    :meth:`from_decisions`.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Probability of the positive class.
    abstain : ndarray of bool, shape (n,)
        Which rows are withheld.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the histogram.
    figure_ : matplotlib Figure
        The figure that holds it.
    """

    ax_: Any
    figure_: Any

    def __init__(self, p: FloatArray, abstain: Mask) -> None:
        self.p = p
        self.abstain = abstain

    @classmethod
    def from_decisions(cls, decisions: Decisions, *, ax: Any = None) -> Self:
        """Draw the histogram of a batch of binary decisions."""
        if decisions.proba.shape[1] != 2:
            raise ValueError(f"This histogram is for two classes; got {decisions.proba.shape[1]}.")
        return cls(decisions.proba[:, 1], decisions.abstain).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the histogram."""
        self.figure_, self.ax_ = new_axes(ax)
        edges = np.linspace(0, 1, N_BINS + 1)
        self.ax_.hist(
            [self.p, self.p],
            bins=edges,
            weights=[1 - self.p, self.p],
            stacked=True,
            color=[COLORS["negative"], COLORS["positive"]],
            label=["negatives (expected)", "positives (expected)"],
        )
        withheld = self.p[self.abstain]
        if withheld.size:
            self.ax_.axvspan(
                withheld.min(),
                withheld.max(),
                color=COLORS["withheld"],
                alpha=0.35,
                label=f"withheld: {withheld.min():.3f} to {withheld.max():.3f}",
            )
        self.ax_.set(
            xlabel="probability of the positive class",
            ylabel="rows",
            title="Who is withheld",
            xlim=(0, 1),
        )
        self.ax_.legend(frameon=False)
        return self
