"""Bounds for rates and areas from labelled examples, bins of probabilities, resamples and draws.

The bounds are Clopper-Pearson's, exact, and DeLong's, asymptotic. They are not in the paper, which
estimates without labels; here held-out labels prove a fixed rule.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtri

from abstain._inputs import FloatArray, IntArray, check_whole

#: Bins of equal width, or of equal mass.
Strategy = Literal["width", "mass"]

_MOST_BINS = 1_000_000
# How far quantiles of weighted values look to both sides, in levels.
_WIDEST_BAND = 0.05
# From this shape on a gamma variable is close to the cube of a normal one; no usual weight is it.
_CUBED_FROM = 0.6180339887


def clopper_pearson(
    hits: FloatArray | float, n: FloatArray | float, error: float
) -> tuple[FloatArray, FloatArray]:
    r"""Return one-sided lower and upper bounds of a binomial rate.

    Parameters
    ----------
    hits, n : float or ndarray
        How often it happened, of how many; expected counts need not be whole.
    error : float
        The chance that a bound is allowed to be wrong, for each side by itself.

    Returns
    -------
    lower, upper : ndarray
        0 and 1 where there is nothing to go by.

    Notes
    -----
    The lower bound is the rate at which so many hits or more have the chance ``error``: the
    ``error`` quantile of a Beta(hits, n - hits + 1).

    References
    ----------
    C. Clopper, E. Pearson (1934). The use of confidence or fiducial limits illustrated in the
    case of the binomial. Biometrika 26(4).

    Examples
    --------
    Nothing missed in 30 kept cases (the "rule of three" says 1 - 3 / 30):

    >>> low, high = clopper_pearson(30, 30, 0.05)
    >>> round(float(low), 4), float(high)
    (0.905, 1.0)
    """
    hits, n = np.broadcast_arrays(np.asarray(hits, float), np.asarray(n, float))
    # The beta function wants both of its parameters positive; the ends are set below.
    k, rest = np.clip(hits, 1e-9, None), np.clip(n - hits, 1e-9, None)
    lower = np.where(hits > 0, betaincinv(k, n - k + 1, error), 0.0)
    upper = np.where(rest > 1e-9, betaincinv(hits + 1, rest, 1 - error), 1.0)
    return lower, upper


def auroc_lower(p: FloatArray, y: IntArray, error: float) -> tuple[float, float]:
    """Return the area under the ROC curve of labelled examples, and a lower bound of it.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Scores.
    y : ndarray of shape (n,)
        Labels, 0 and 1.
    error : float
        The chance that the bound is allowed to be wrong, in the limit of many examples.

    Returns
    -------
    area, lower : float
        NaN and 0 where a class is absent.

    Notes
    -----
    DeLong's variance, on the scale of log-odds, which keeps the bound inside (0, 1).

    References
    ----------
    E. DeLong, D. DeLong, D. Clarke-Pearson (1988). Comparing the areas under two or more
    correlated receiver operating characteristic curves. Biometrics 44(3).
    """
    positives, negatives = np.sort(p[y == 1]), np.sort(p[y == 0])
    n1, n0 = len(positives), len(negatives)
    if n1 == 0 or n0 == 0:
        return float("nan"), 0.0
    above = _share_below(positives, negatives)
    below = 1 - _share_below(negatives, positives)
    area = float(above.mean())
    if n1 < 2 or n0 < 2:
        return area, 0.0
    variance = above.var(ddof=1) / n1 + below.var(ddof=1) / n0
    return area, _lower_on_log_odds(area, float(np.sqrt(variance)), min(n0, n1), error)


def auroc_lower_expected(area: float, n0: float, n1: float, error: float) -> float:
    """Return the lower bound to be expected for an area, by the variance of Hanley and McNeil."""
    if min(n0, n1) < 2 or not np.isfinite(area):
        return 0.0
    twice, squared = area / (2 - area), 2 * area**2 / (1 + area)
    variance = (
        area * (1 - area) + (n1 - 1) * (twice - area**2) + (n0 - 1) * (squared - area**2)
    ) / (n0 * n1)
    return _lower_on_log_odds(area, float(np.sqrt(max(variance, 0.0))), min(n0, n1), error)


def _share_below(values: FloatArray, others: FloatArray) -> FloatArray:
    """Return for each value the share of the others (sorted) below it, ties half."""
    left = np.searchsorted(others, values, side="left")
    right = np.searchsorted(others, values, side="right")
    return (left + right) / (2 * len(others))


def _lower_on_log_odds(area: float, deviation: float, n: float, error: float) -> float:
    if area <= 0:
        return 0.0
    if area >= 1 or deviation == 0:
        # Without a single wrong pair there is no variance; bound it like a rate of n hits in n.
        return min(area, float(error ** (1 / n)))
    return float(expit(logit(area) + ndtri(error) * deviation / (area * (1 - area))))


def bin_numbers(
    proba: FloatArray, weight: FloatArray, *, n_bins: int, strategy: Strategy
) -> IntArray:
    """Return the bin of each row.

    Rows with the same probability are in the same bin. A row is put where the middle of its
    mass lies, so weight 2 equals two rows.
    """
    check_whole(n_bins, name="n_bins", most=_MOST_BINS)
    if strategy not in get_args(Strategy):
        raise ValueError(f'`strategy` must be "width" or "mass"; got {strategy!r}.')
    if strategy == "width":
        return _numbered(proba, n_bins)
    distinct, inverse = np.unique(proba, return_inverse=True)
    mass = np.bincount(inverse, weights=weight, minlength=len(distinct))
    # Rounded, so that a row on the edge of a bin does not depend on how weights were summed.
    middle = np.round((np.cumsum(mass) - mass / 2) / mass.sum(), 12)
    return _numbered(middle[inverse], n_bins)


def _numbered(place: FloatArray, n_bins: int) -> IntArray:
    """Return which of equally wide bins of [0, 1] a place is in; 1 is in the last."""
    return np.minimum((place * n_bins).astype(np.intp), n_bins - 1)


def resampled_weight(
    n_rows: int, weight: FloatArray | None, rng: np.random.Generator
) -> FloatArray:
    """Return how often each row is drawn when as many are drawn with replacement as there are.

    A row of weight 2 is two rows, either of which may be drawn.
    """
    if weight is None:
        return np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows).astype(np.float64)
    total = weight.sum()
    return rng.multinomial(max(round(total), 1), weight / total).astype(np.float64)


def gamma_draws(shape: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Draw standard gamma variables, ``n_draws`` of each shape; a shape of 0 gives 0.

    Each is a continuous function of its shape and of what the generator gives, which is as much
    for any shape. A sampler that rejects falls out of step when a shape moves in its last digit,
    and then all that follows is drawn otherwise.

    Notes
    -----
    The cube of a normal variable, whose mean and variance are those of a gamma variable within
    1%; for small shapes that of ``shape + 1``, times ``U ** (1 / shape)``.

    References
    ----------
    E. Wilson, M. Hilferty (1931). The distribution of chi-square. PNAS 17(12).
    """
    normal = rng.standard_normal((n_draws, *shape.shape))
    small = shape < _CUBED_FROM
    raised = np.where(small, shape + 1, shape)
    root = 1 / (3 * np.sqrt(raised))
    normal *= root
    normal += 1 - root**2
    np.maximum(normal, 0.0, out=normal)
    drawn: FloatArray = raised * normal * normal * normal
    if small.any():
        # A shape of 0 makes this the exponential of minus infinity.
        with np.errstate(divide="ignore"):
            rate = 1 / shape[small]
        drawn[:, small] *= np.exp(-rate * rng.standard_exponential((n_draws, small.sum())))
    return drawn


def even_in_spread(n: int) -> FloatArray:
    """Return n + 1 levels from 0 to 1, as far apart as a share of draws varies at each of them."""
    return np.sin(np.linspace(0.0, np.pi / 2, n + 1)) ** 2


def weighted_quantiles(
    values: FloatArray, weight: FloatArray, levels: FloatArray | list[float]
) -> FloatArray:
    """Return quantiles of weighted values, each a mean over a band of levels around its own.

    Continuous in values and in weights, at weight 0 too; one draw more or less hardly moves it.
    The band reaches half of the way to the nearer end of the levels, and no farther than 0.05.
    """
    order = np.argsort(values, kind="stable")
    heavy = weight[order] / weight.sum()
    below = np.concatenate([[0.0], np.cumsum(heavy)])
    sums = np.concatenate([[0.0], np.cumsum(heavy * values[order])])
    at = np.asarray(levels, dtype=np.float64)
    half = np.clip(np.minimum(at, 1 - at) / 2, 1e-6, _WIDEST_BAND)
    ends = np.interp([at - half, at + half], below / below[-1], sums / below[-1])
    means: FloatArray = (ends[1] - ends[0]) / (2 * half)
    return np.clip(means, values.min(), values.max())
