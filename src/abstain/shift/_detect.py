"""Is there a shift? A test of whether mean probabilities moved between source and target.

Under label shift the proportions moved if and only if the mean probabilities did, as long as
the classes can be told apart; this is the score test of the likelihood that EM maximises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from abstain._inputs import (
    FloatArray,
    check_fraction,
    check_proba,
    check_sample_weight,
    column_labels,
)
from abstain.summaries import BatchSummary, LabelledSummary, RowSummary

# Variance of a mean probability that rounding alone gives.
_ROUNDING = 1e-28


@dataclass(frozen=True)
class ShiftTest:
    """Whether the class proportions moved.

    Attributes
    ----------
    statistic : float
        Hotelling's T squared: the squared distance between the mean probabilities, in units of
        its own noise.
    degrees_of_freedom : int
        Number of directions the means can differ in.
    p_value : float
        How often chance alone gives a statistic as large.
    level : float
        The rate of false alarms accepted.
    difference : ndarray of shape (n_classes,)
        Mean probability of each class on the target, less that on the source.
    classes : sequence
        The label of each column.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    level: float
    difference: FloatArray
    classes: Sequence[Any]

    @property
    def shifted(self) -> bool:
        """Whether a shift is shown at the level."""
        return self.p_value < self.level

    def finding(self) -> str:
        """Say in plain words whether the proportions moved."""
        chance = _in_words(self.p_value)
        if not self.shifted:
            return (
                f"No shift shown: the mean probabilities of validation data and batch differ no "
                f"more than chance makes them ({chance})."
            )
        return (
            f"The class proportions moved: chance alone would separate the mean probabilities "
            f"this far {chance}."
        )

    def summary(self) -> str:
        """Say in plain words what was found, and which mean probability moved most."""
        if not self.shifted:
            return self.finding()
        # Two classes move alike; people think of the positive one.
        column = 1 if len(self.difference) == 2 else int(np.argmax(np.abs(self.difference)))
        return (
            f"{self.finding()} Most moved that of class {self.classes[column]}, by "
            f"{self.difference[column]:+.3f}."
        )


def detect_shift(
    proba_source: ArrayLike,
    proba_target: ArrayLike,
    *,
    sample_weight_source: ArrayLike | None = None,
    sample_weight_target: ArrayLike | None = None,
    level: float = 0.05,
    classes: Sequence[Any] | None = None,
) -> ShiftTest:
    """Test whether the class proportions of the target differ from the source's.

    Parameters
    ----------
    proba_source : array-like of shape (n_source, n_classes)
        Probabilities on the source.
    proba_target : array-like of shape (n_target, n_classes)
        Probabilities on the target.
    sample_weight_source, sample_weight_target : array-like, optional
        How much each row counts; a whole number equals repetition.
    level : float
        The rate of false alarms accepted, in [0, 1].
    classes : sequence, optional
        The label of each column, for the summary; column numbers when not given.

    Returns
    -------
    ShiftTest

    Notes
    -----
    Hotelling's two-sample T squared of the rows of probabilities, without assuming equal
    covariances: ``d' (S / n + T / m)^-1 d``, d being the difference of the means and S and T
    the covariances, referred to the F distribution.

    References
    ----------
    Z. Lipton, Y.-X. Wang, A. Smola (2018). Detecting and correcting for label shift with black
    box predictors. ICML. (A test on predictions; theirs is of Kolmogorov-Smirnov type.)

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.shift import detect_shift
    >>> p = np.linspace(0.1, 0.9, 200)
    >>> source = np.column_stack([1 - p, p])
    >>> detect_shift(source, source[50:150]).shifted
    False
    >>> detect_shift(source, source[100:]).shifted
    True
    """
    source = check_proba(proba_source, name="proba_source")
    target = check_proba(proba_target, name="proba_target", n_classes=source.shape[1])
    names = column_labels(classes, source.shape[1]).tolist()
    accepted = check_fraction(level, name="level")
    return shift_test(
        LabelledSummary(
            source,
            weight=check_sample_weight(
                sample_weight_source, n_rows=len(source), name="sample_weight_source"
            ),
        ),
        RowSummary(
            target,
            check_sample_weight(
                sample_weight_target, n_rows=len(target), name="sample_weight_target"
            ),
        ),
        level=accepted,
        classes=names,
    )


def shift_test(
    source: LabelledSummary, target: BatchSummary, *, level: float = 0.05, classes: Sequence[Any]
) -> ShiftTest:
    """Test whether the class proportions differ, from summaries."""
    n, mean_source, spread_source = _mean_and_spread(source.proba, source.weight)
    m, mean_target, spread_target = _mean_and_spread(target.proba, target.weight)
    difference = mean_target - mean_source
    noise = spread_source / n + spread_target / m
    values, vectors = np.linalg.eigh(noise)
    # Rows sum to 1, so one direction at least has no noise; nor has any that never varies.
    varied = values > max(1e-10 * float(values[-1]), _ROUNDING)
    k = int(varied.sum())
    along = vectors[:, varied].T @ difference
    statistic = float(np.sum(along**2 / values[varied]))
    if k == 0:
        same = bool(np.abs(difference).max() < 1e-9)
        return ShiftTest(0.0, 0, 1.0 if same else 0.0, level, difference, classes)
    rest = max(n + m - 2 - k + 1, 1.0)
    scaled = statistic * rest / (k * max(n + m - 2, 1.0))
    p_value = float(fdtrc(k, rest, scaled))
    return ShiftTest(statistic, k, p_value, level, difference, classes)


def _mean_and_spread(
    proba: FloatArray, weight: FloatArray | None
) -> tuple[float, FloatArray, FloatArray]:
    """Return how many rows there are, their mean, and their covariance."""
    count = float(len(proba)) if weight is None else float(weight.sum())
    mean = np.average(proba, axis=0, weights=weight)
    centred = proba - mean
    weighted = centred if weight is None else centred * weight[:, None]
    # A single row says nothing about the spread.
    return count, mean, weighted.T @ centred / max(count - 1, 1.0)


def _in_words(p_value: float) -> str:
    return "less than once in a thousand" if p_value < 1e-3 else f"p = {p_value:.3f}"
