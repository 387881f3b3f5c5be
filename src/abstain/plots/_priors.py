"""Class proportions: the source's, and the target's with how sure they are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain import shift as shift_estimators
from abstain._inputs import FloatArray, check_labels, check_proba, read_labelled_proba
from abstain._numerics import clone
from abstain.decisions import Decisions, check_decisions
from abstain.plots._display import COLORS, BatchDisplay, Classes, as_label, new_axes
from abstain.shift import ShiftEstimator

# With more classes than these, their names are written aslant.
MANY_CLASSES = 6


class PriorsDisplay(BatchDisplay):
    """Class proportions of the source and of the target, with a 90% interval of the latter.

    Make one with :meth:`from_decisions`, :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        The class labels.
    source, target : array-like of shape (n_classes,)
        Class proportions of the labelled data, and those estimated of the target.
    interval : array-like of shape (n_classes, 2), optional
        Ends of the interval of each target proportion, where there is one.
    true : array-like of shape (n_classes,), optional
        The target's true proportions, where labels are known.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the proportions.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from abstain.plots import PriorsDisplay
    >>> display = PriorsDisplay(["well", "ill"], [0.8, 0.2], [0.6, 0.4])
    >>> display.plot().ax_.get_ylabel()  # doctest: +SKIP
    'share of the rows'
    """

    def __init__(
        self,
        classes: ArrayLike,
        source: ArrayLike,
        target: ArrayLike,
        interval: ArrayLike | None = None,
        true: ArrayLike | None = None,
    ) -> None:
        self.classes = np.asarray(classes)
        self.source = np.asarray(source, dtype=np.float64)
        self.target = np.asarray(target, dtype=np.float64)
        self.interval = None if interval is None else np.asarray(interval, dtype=np.float64)
        self.true = None if true is None else np.asarray(true, dtype=np.float64)

    @classmethod
    def from_decisions(
        cls, decisions: Decisions, y_true: ArrayLike | None = None, *, ax: Any = None
    ) -> Self:
        """Draw the proportions estimated from the rows of a batch of decisions.

        Where they are not estimated from these rows there is no interval: what is shown then are
        the proportions that the decisions were made with.

        Parameters
        ----------
        decisions : Decisions
            What was decided.
        y_true : array-like of shape (n,), optional
            True labels, to show the true proportions too.
        ax : matplotlib Axes, optional
            Where to draw; new axes when not given.
        """
        check_decisions(decisions)
        current, n, weight = decisions.current_priors, len(decisions), decisions.sample_weight
        display = cls(
            decisions.classes,
            decisions.source_priors,
            decisions.priors if current is None else current.values,
            None if current is None else current.interval,
            _frequencies(y_true, decisions.classes, n, "y_true", weight),
        )
        return display.plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_source: ArrayLike,
        proba_source: ArrayLike,
        proba_target: ArrayLike,
        *,
        y_target: ArrayLike | None = None,
        shift: ShiftEstimator | str = "em",
        classes: Classes = None,
        random_state: int = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the proportions of a target, estimated from calibrated probabilities.

        Parameters
        ----------
        y_source : array-like of shape (n_source,)
            True labels of the source.
        proba_source, proba_target : array-like of shape (n, n_classes)
            Calibrated probabilities of both.
        y_target : array-like of shape (n_target,), optional
            True labels of the target, to show the true proportions too.
        shift : ShiftEstimator or str
            How the proportions are estimated.
        classes : sequence, optional
            The label of each column; the sorted distinct labels when not given.
        random_state : int
            Seeds the draws that the interval is made of.
        ax : matplotlib Axes, optional
            Where to draw; new axes when not given.
        """
        codes, source, columns = read_labelled_proba(
            y_source, proba_source, classes=classes, y_name="y_source", name="proba_source"
        )
        target = check_proba(proba_target, name="proba_target", n_classes=len(columns))
        estimator = clone(shift_estimators.get(shift)).fit(source, target, codes)
        display = cls(
            columns,
            estimator.source_priors_,
            estimator.priors_,
            _interval(estimator, random_state),
            _frequencies(y_target, columns, len(target), "y_target"),
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the proportions."""
        self.figure_, self.ax_ = new_axes(ax)
        place = np.arange(len(self.classes))
        width = 0.38
        self.ax_.bar(
            place - width / 2, self.source, width, color=COLORS["before"], alpha=0.7,
            label="validation",
        )  # fmt: skip
        label = "batch, estimated" + ("" if self.interval is None else " (90% interval)")
        reach = None if self.interval is None else np.abs(self.interval.T - self.target)
        self.ax_.bar(
            place + width / 2, self.target, width, color=COLORS["after"], yerr=reach,
            capsize=4, error_kw={"ecolor": "black", "linewidth": 1.2}, label=label,
        )  # fmt: skip
        if self.true is not None:
            self.ax_.plot(
                place + width / 2, self.true, linestyle="none", marker="D", markersize=7,
                markerfacecolor=COLORS["withheld"], markeredgecolor="black", label="batch, true",
            )  # fmt: skip
        self.ax_.set(ylabel="share of the rows", title="Class proportions", ylim=(0, None))
        many = len(place) > MANY_CLASSES
        self.ax_.set_xticks(place, [as_label(name) for name in self.classes.tolist()])
        self.ax_.tick_params(axis="x", rotation=45 if many else 0)
        # Room for the legend above the tallest bar.
        self.ax_.margins(y=0.25)
        self.ax_.set_ylim(0, None)
        self.ax_.legend(frameon=False)
        return self


def _interval(estimator: ShiftEstimator, seed: int) -> FloatArray:
    """Return the 90% interval of each proportion, wide enough to hold the estimate itself."""
    low, high = estimator.priors_interval(0.9, seed=seed).T
    return np.column_stack(
        [np.minimum(low, estimator.priors_), np.maximum(high, estimator.priors_)]
    )


def _frequencies(
    y: ArrayLike | None, classes: NDArray[Any], n: int, name: str, weight: FloatArray | None = None
) -> FloatArray | None:
    """Return how frequent each class is among true labels; None where there are none."""
    if y is None:
        return None
    codes = check_labels(y, classes=classes, n_rows=n, name=name)
    counts = np.bincount(codes, weights=weight, minlength=len(classes)).astype(np.float64)
    frequencies: FloatArray = counts / counts.sum()
    return frequencies
