"""Which methods of a column are best: one-sided Wilcoxon signed-rank tests on paired values.

Two procedures: a sound one, and the paper's own, which its tables are in bold by. Both compare
every method with the one that wins most often.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import FloatArray, check_fraction, float_array

Procedure = Literal["signed-rank", "paper"]

#: Of the exact procedure, which takes a time that grows with their square.
MOST_REPEATS = 1_000


def best_methods(
    values: ArrayLike,
    *,
    greater_is_better: bool = True,
    level: float = 0.05,
    procedure: Procedure = "signed-rank",
) -> NDArray[np.bool_]:
    """Tell which methods are not significantly worse than the best one.

    Parameters
    ----------
    values : array-like of shape (n_methods, n_repeats)
        The metric of each method in each repeat; repeats are paired.
    greater_is_better : bool
        Whether larger values are better.
    level : float
        Level of each one-sided test.
    procedure : {"signed-rank", "paper"}
        ``"signed-rank"`` tests with :func:`signed_rank_test`. ``"paper"`` ranks as the paper's
        own analysis did: ties of the differences ranked in their order, zeros ranked but
        counted for neither side, and a statistic equal to the critical value not significant;
        for at most 1,000 repeats.

    Returns
    -------
    ndarray of bool, shape (n_methods,)
        True for the best method and for those it does not beat significantly.

    Notes
    -----
    The best method is the one with the most wins less losses against the others, the first of
    equals; a win is a larger sum of ranks, significant or not. The mark is for one column of a
    table: it does not correct for the number of methods.

    References
    ----------
    Wilcoxon. Individual comparisons by ranking methods. Biometrics Bulletin 1(6), 1945.

    Examples
    --------
    >>> rounds = np.arange(10) / 10
    >>> best_methods([rounds, rounds + 0.1, rounds + 0.1]).tolist()
    [False, True, True]
    """
    table = float_array(values, "values")
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 1:
        raise ValueError(
            f"`values` must have a row per method and a column per repeat; got shape "
            f"{table.shape}."
        )
    if procedure not in get_args(Procedure):
        raise ValueError(f'`procedure` must be "signed-rank" or "paper"; got {procedure!r}.')
    check_fraction(level, name="level")
    if procedure == "paper" and table.shape[1] > MOST_REPEATS:
        raise ValueError(
            f'`procedure` "paper" is exact, for at most {MOST_REPEATS:,} repeats; got '
            f'{table.shape[1]:,}. Pass procedure="signed-rank".'
        )
    # A repeat in which a method has no value counts as its worst.
    table = table if greater_is_better else -table
    table = np.where(np.isnan(table), -np.inf, table)
    won = [[_rank_sums(_difference(own, other)) for other in table] for own in table]
    wins = [sum(1 if lost <= gained else -1 for gained, lost in row) for row in won]
    best = int(np.argmax(wins))
    top = table[best]
    if procedure == "paper":
        critical = _critical_value(table.shape[1], level)
        return np.array([_paper_statistic(top, own) >= critical for own in table])
    return np.array(
        [k == best or signed_rank_test(top, own) > level for k, own in enumerate(table)]
    )


def signed_rank_test(first: ArrayLike, second: ArrayLike) -> float:
    """Return the p-value for ``first`` being larger than ``second``, paired.

    In [0, 1]; small means that the first is larger. 1 when the two are equal throughout.

    Parameters
    ----------
    first, second : array-like of shape (n,)
        Paired values.

    Returns
    -------
    float
        One-sided. Exact up to 50 pairs without ties or zeros, otherwise by a normal
        approximation that corrects for ties; zeros are ranked, half for either side.

    Examples
    --------
    >>> signed_rank_test([1.0, 2.0, 3.0, 4.0, 5.0], [0.9, 1.8, 2.7, 3.6, 4.5])
    0.03125
    """
    from scipy.stats import wilcoxon

    own, other = float_array(first, "first"), float_array(second, "second")
    if own.ndim != 1 or own.shape != other.shape or not own.size:
        raise ValueError(
            f"`first` and `second` must be one-dimensional, paired and not empty; got shapes "
            f"{own.shape} and {other.shape}."
        )
    if np.isnan(own).any() or np.isnan(other).any():
        raise ValueError("`first` and `second` must not be NaN: leave out these pairs.")
    difference = _difference(own, other)
    if not difference.any():
        return 1.0
    return float(wilcoxon(difference, alternative="greater", zero_method="zsplit").pvalue)


def _difference(first: FloatArray, second: FloatArray) -> FloatArray:
    # Equal ones differ by nothing, also where both are infinite.
    apart = first != second
    with np.errstate(over="ignore"):
        difference: FloatArray = np.subtract(first, second, out=np.zeros_like(first), where=apart)
    # What differs in the twelfth digit is the same number computed in another order.
    difference[np.abs(difference) < 1e-12] = 0.0
    return difference


def _rank_sums(difference: FloatArray) -> tuple[float, float]:
    """Return the sums of ranks of the gains and of the losses, ranks in order of size."""
    ranks = np.empty(len(difference))
    ranks[np.argsort(np.abs(difference), kind="stable")] = np.arange(1, len(difference) + 1)
    return float(ranks[difference > 0].sum()), float(ranks[difference < 0].sum())


def _paper_statistic(own: FloatArray, other: FloatArray) -> float:
    """Return the smaller of the two sums of ranks; equal values leave nothing to tell apart."""
    difference = _difference(own, other)
    n = len(difference)
    return min(_rank_sums(difference)) if difference.any() else n * (n + 1) / 2


@cache
def _critical_value(n: int, level: float) -> int:
    """Return the largest rank sum whose chance to be reached from below is within the level."""
    ways = np.zeros(n * (n + 1) // 2 + 1)
    ways[0] = 1.0
    for rank in range(1, n + 1):
        ways = (ways + np.concatenate([np.zeros(rank), ways[:-rank]])) / 2
    return int(np.searchsorted(np.cumsum(ways), level, side="right")) - 1
