"""How well calibrated probabilities are: log loss, Brier score, calibration error.

Errors are fractions, never percent. Intervals are by the bootstrap over rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import (
    MOST_DRAWS,
    FloatArray,
    IntArray,
    check_classes,
    check_fraction,
    check_generator,
    check_sample_weight,
    check_whole,
    label_array,
    read_labelled_proba,
    rows_of,
)
from abstain._numerics import Strategy, bin_numbers

# No more rows than this are drawn, however heavy they are.
_MOST_ROWS = 2.0**53

Kind = Literal["top-label", "class-wise"]


def log_loss(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Sequence[Any] | NDArray[Any] | None = None,
) -> float:
    """Return the mean of minus the log probability of the true class.

    Lower is better, in [0, inf); in nats.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    proba : array-like of shape (n,) or (n, n_classes)
        Probabilities; a probability of 0 counts as the smallest step of float64.
    sample_weight : array-like of shape (n,), optional
        How much each row counts; a whole number equals repetition.
    classes : sequence, optional
        The label of each column, of two the positive one last; the sorted distinct labels when
        not given.

    Returns
    -------
    float

    Examples
    --------
    >>> from abstain.calibration import log_loss
    >>> log_loss([0, 1], [0.5, 0.5])
    0.6931
    """
    codes, matrix, weight = _checked(y_true, proba, sample_weight, classes)
    own = matrix[np.arange(len(matrix)), codes]
    return float(np.average(-np.log(np.maximum(own, np.finfo(np.float64).eps)), weights=weight))


@dataclass(frozen=True)
class BrierScore:
    """The Brier score and what it is made of.

    Attributes
    ----------
    value : float
        Mean squared distance between probabilities and labels; lower is better, in [0, 2].
    reliability : float
        Squared distance of the probabilities from the frequencies; 0 is calibrated.
    resolution : float
        How far the frequencies differ from the overall ones; higher is better.
    uncertainty : float
        What the overall frequencies alone would score.
    """

    value: float
    reliability: float
    resolution: float
    uncertainty: float


def brier_score(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Sequence[Any] | NDArray[Any] | None = None,
    n_bins: int = 15,
    strategy: Strategy = "mass",
) -> BrierScore:
    """Return the Brier score with its reliability, resolution and uncertainty.

    Lower is better, in [0, 2]: the squared error summed over the classes (for two classes
    twice that of the positive one).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    proba : array-like of shape (n,) or (n, n_classes)
        Probabilities.
    sample_weight : array-like of shape (n,), optional
        How much each row counts; a whole number equals repetition.
    classes : sequence, optional
        The label of each column, of two the positive one last; the sorted distinct labels when
        not given.
    n_bins : int
        Number of bins of each class's probability, for the split; up to 1,000,000.
    strategy : {"mass", "width"}
        Bins of equal mass, or of equal width.

    Returns
    -------
    BrierScore

    Notes
    -----
    In each bin b of class c with weight w, mean probability p and frequency f,
    reliability sums ``w (p - f)^2``, resolution ``w (f - F)^2`` with F the overall frequency,
    and uncertainty is the sum of ``F (1 - F)``. Value = reliability - resolution + uncertainty
    exactly if the probabilities in a bin are all the same (Murphy, 1973), and nearly otherwise.

    References
    ----------
    A. Murphy (1973). A new vector partition of the probability score. Journal of Applied
    Meteorology 12.

    Examples
    --------
    >>> from abstain.calibration import brier_score
    >>> brier_score([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75])
    BrierScore(value=0.375, reliability=0.125, resolution=0.125, uncertainty=0.375)
    """
    codes, matrix, weight = _checked(y_true, proba, sample_weight, classes)
    share = _share(weight, len(matrix))
    reliability = resolution = uncertainty = value = 0.0
    for i in range(matrix.shape[1]):
        hit = (codes == i).astype(np.float64)
        value += float(share @ (matrix[:, i] - hit) ** 2)
        mass, mean, frequency = _binned(matrix[:, i], hit, share, n_bins, strategy)
        overall = float(share @ hit)
        reliability += float(mass @ (mean - frequency) ** 2)
        resolution += float(mass @ (frequency - overall) ** 2)
        uncertainty += overall * (1 - overall)
    return BrierScore(value, reliability, resolution, uncertainty)


def expected_calibration_error(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: Sequence[Any] | NDArray[Any] | None = None,
    n_bins: int = 15,
    strategy: Strategy = "width",
    kind: Kind = "top-label",
) -> float:
    """Return the mean distance between probability and frequency, over bins.

    Lower is better, in [0, 1]: a fraction, not percent.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels.
    proba : array-like of shape (n,) or (n, n_classes)
        Probabilities.
    sample_weight : array-like of shape (n,), optional
        How much each row counts; a whole number equals repetition.
    classes : sequence, optional
        The label of each column, of two the positive one last; the sorted distinct labels when
        not given.
    n_bins : int
        Number of bins, up to 1,000,000.
    strategy : {"width", "mass"}
        Bins of equal width, or of equal mass.
    kind : {"top-label", "class-wise"}
        Of the probability of the most likely class; or of every class, averaged over classes.

    Returns
    -------
    float

    Notes
    -----
    The sum over bins of ``w |p - f|``, w being the share of rows in the bin, p their mean
    probability and f the frequency. It is biased upwards on few rows.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger (2017). On calibration of modern neural networks.
    ICML.

    Examples
    --------
    >>> from abstain.calibration import expected_calibration_error
    >>> expected_calibration_error([0, 1, 1, 1], [0.2, 0.9, 0.9, 0.9])  # 3/4 of 0.1, 1/4 of 0.2
    0.125
    """
    codes, matrix, weight = _checked(y_true, proba, sample_weight, classes)
    share = _share(weight, len(matrix))
    if kind not in get_args(Kind):
        raise ValueError(f'`kind` must be "top-label" or "class-wise"; got {kind!r}.')
    if kind == "top-label":
        most_likely = np.argmax(matrix, axis=1)
        hit = (most_likely == codes).astype(np.float64)
        pairs = [(matrix[np.arange(len(matrix)), most_likely], hit)]
    else:
        pairs = [(matrix[:, i], (codes == i).astype(np.float64)) for i in range(matrix.shape[1])]
    error = 0.0
    for column, hit in pairs:
        mass, mean, frequency = _binned(column, hit, share, n_bins, strategy)
        error += float(mass @ np.abs(mean - frequency))
    return error / len(pairs)


def bootstrap_interval(
    measure: Callable[..., float | BrierScore],
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    confidence: float = 0.9,
    n_draws: int = 200,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
    **options: Any,
) -> tuple[float, float]:
    """Return an interval for a calibration measure, by the bootstrap over rows.

    Parameters
    ----------
    measure : callable
        ``log_loss``, ``brier_score``, ``expected_calibration_error``, or any function of
        labels and probabilities with a ``sample_weight``.
    y_true, proba : array-like
        As for the measure.
    confidence : float
        How often such intervals contain the measure of the whole population.
    n_draws : int
        Number of draws with replacement, up to 100,000.
    sample_weight : array-like of shape (n,), optional
        How much each row counts; a whole number equals repetition.
    random_state : int, Generator or None
        Seeds the draws.
    **options
        Passed on to the measure.

    Returns
    -------
    low, high : float
        The basic bootstrap interval, which takes the bias that drawing again adds to a
        calibration error off again; never below 0.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.calibration import bootstrap_interval, log_loss
    >>> y, p = np.tile([0, 1], 100), np.tile([0.2, 0.7], 100)
    >>> low, high = bootstrap_interval(log_loss, y, p, random_state=0)
    >>> low < log_loss(y, p) < high
    True
    """
    level = check_fraction(confidence, name="confidence")
    count = check_whole(n_draws, name="n_draws", most=MOST_DRAWS)
    if not callable(measure):
        raise TypeError(f"`measure` must be a function such as log_loss; got {measure!r}.")
    labels = label_array(y_true, "y_true")
    n = len(labels)
    weight = check_sample_weight(sample_weight, n_rows=n)
    if "classes" not in options:
        # A draw may miss a class, which must not change what the columns mean.
        shape = rows_of(proba, "proba").shape
        n_columns = shape[1] if len(shape) > 1 else 2
        options["classes"] = check_classes(labels, n_columns, None, "y_true")
    rng = check_generator(random_state)
    total = n if weight is None else max(round(min(float(weight.sum()), _MOST_ROWS)), 1)
    chances = np.full(n, 1 / n) if weight is None else weight / weight.sum()
    value = _number(measure(y_true, proba, sample_weight=weight, **options))
    draws = [
        _number(measure(y_true, proba, sample_weight=rng.multinomial(total, chances), **options))
        for _ in range(count)
    ]
    upper, lower = np.quantile(draws, [(1 + level) / 2, (1 - level) / 2])
    return max(2 * value - float(upper), 0.0), max(2 * value - float(lower), 0.0)


def _number(result: float | BrierScore) -> float:
    return result.value if isinstance(result, BrierScore) else float(result)


def _checked(
    y_true: ArrayLike,
    proba: ArrayLike,
    sample_weight: ArrayLike | None,
    classes: Sequence[Any] | NDArray[Any] | None,
) -> tuple[IntArray, FloatArray, FloatArray | None]:
    codes, matrix, _ = read_labelled_proba(y_true, proba, classes=classes)
    return codes, matrix, check_sample_weight(sample_weight, n_rows=len(matrix))


def _share(weight: FloatArray | None, n: int) -> FloatArray:
    if weight is None:
        return np.full(n, 1 / n)
    return np.asarray(weight / weight.sum())


def _binned(
    proba: FloatArray, hit: FloatArray, share: FloatArray, n_bins: int, strategy: Strategy
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mass, mean probability and frequency of the bins that have rows."""
    bins = bin_numbers(proba, share, n_bins=n_bins, strategy=strategy)
    mass = np.bincount(bins, weights=share).astype(np.float64)
    used = mass > 0
    mean = np.bincount(bins, weights=share * proba)[used] / mass[used]
    frequency = np.bincount(bins, weights=share * hit)[used] / mass[used]
    return mass[used], mean, frequency
