"""Reliability diagrams: how often what was said to be likely happens."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray, check_sample_weight, read_labelled_proba
from abstain._numerics import Strategy, bin_numbers, clopper_pearson
from abstain.calibration import Calibrator
from abstain.plots._display import COLORS, Classes, Display, as_label, new_axes


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(Display):
    """Frequency against probability in bins, with intervals and the share of rows in each bin.

    Make one with :meth:`from_predictions` or :meth:`from_estimator`.

    Parameters
    ----------
    probability, frequency : ndarray of shape (n_bins,)
        Mean probability in each bin, and how often it came true.
    intervals : ndarray of shape (n_bins, 2)
        A 90% interval for each frequency.
    mass : ndarray of shape (n_bins,)
        Share of the rows in each bin.
    what : str
        Whose probability it is.
    name : str, optional
        Name of the curve, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the diagram.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from abstain.plots import ReliabilityDisplay
    >>> display = ReliabilityDisplay([0.2, 0.8], [0.3, 0.7], [[0.2, 0.4], [0.6, 0.8]],
    ...                              [0.5, 0.5], what="the positive class")
    >>> display.plot().ax_.get_xlabel()  # doctest: +SKIP
    'probability of the positive class'
    """

    probability: FloatArray
    frequency: FloatArray
    intervals: FloatArray
    mass: FloatArray
    _: KW_ONLY
    what: str
    name: str | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Calibrator, scores: ArrayLike, y_true: ArrayLike, **options: Any
    ) -> Self:
        """Draw the diagram of a fitted calibrator on scores it was not fitted on.

        Parameters
        ----------
        estimator : Calibrator
            A fitted calibrator.
        scores : array-like of shape (n,) or (n, n_classes)
            Scores, on its scale.
        y_true : array-like of shape (n,)
            True labels.
        **options
            As for :meth:`from_predictions`.
        """
        options.setdefault("name", type(estimator).__name__)
        return cls.from_predictions(
            y_true, estimator.predict_proba(scores), classes=estimator.classes_, **options
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        proba: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        classes: Classes = None,
        n_bins: int = 10,
        strategy: Strategy = "width",
        name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the diagram of probabilities with known labels.

        Two classes: the probability of the positive one. More: that of the most likely class.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels.
        proba : array-like of shape (n,) or (n, n_classes)
            Probabilities.
        sample_weight : array-like of shape (n,), optional
            How much each row counts; a whole number equals repetition.
        classes : sequence, optional
            The label of each column; the sorted distinct labels when not given.
        n_bins : int
            Number of bins.
        strategy : {"width", "mass"}
            Bins of equal width, or of equal mass.
        name : str, optional
            Name of the curve, for the legend.
        ax : matplotlib Axes, optional
            Where to draw; new axes when not given.
        """
        codes, matrix, columns = read_labelled_proba(y_true, proba, classes=classes)
        given = check_sample_weight(sample_weight, n_rows=len(matrix))
        weight = np.ones(len(matrix)) if given is None else given
        if matrix.shape[1] == 2:
            p, hit = matrix[:, 1], codes == 1
            what = f"class {columns[1]}"
        else:
            p, hit = matrix.max(axis=1), np.argmax(matrix, axis=1) == codes
            what = "the most likely class"
        bins = bin_numbers(p, weight, n_bins=n_bins, strategy=strategy)
        count = np.bincount(bins, weights=weight).astype(np.float64)
        used = count > 0
        hits = np.bincount(bins, weights=weight * hit)[used].astype(np.float64)
        count = count[used]
        probability = np.bincount(bins, weights=weight * p)[used] / count
        display = cls(
            probability,
            hits / count,
            np.column_stack(clopper_pearson(hits, count, 0.05)),
            count / count.sum(),
            what=what,
            name=name,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the diagram."""
        self.figure_, self.ax_ = new_axes(ax)
        probability, frequency = np.asarray(self.probability), np.asarray(self.frequency)
        intervals, mass = np.asarray(self.intervals), np.asarray(self.mass)
        self.ax_.plot([0, 1], [0, 1], color="0.75", linewidth=1, label="calibrated")
        # The share of rows stands at the foot, as a rug: where the probabilities are.
        self.ax_.vlines(
            probability, 0, 0.25 * mass / mass.max(), color="0.8", linewidth=4, label="rows"
        )
        reach = np.abs(intervals.T - frequency)
        self.ax_.errorbar(
            probability,
            frequency,
            yerr=reach,
            color=COLORS["after"],
            marker="o",
            markersize=4,
            linewidth=1.2,
            capsize=2,
            label=as_label(self.name) if self.name else "observed, 90% interval",
        )
        self.ax_.set(
            xlabel=f"probability of {as_label(self.what)}",
            ylabel="frequency",
            title="Reliability",
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
            aspect="equal",
        )
        self.ax_.legend(loc="upper left", frameon=False)
        return self
