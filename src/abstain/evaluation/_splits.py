"""Rows drawn anew: label shift simulated, and groups kept together.

Three ways that the literature shifts labels by: given proportions (the paper's ratios),
proportions drawn from a Dirichlet distribution, and one class tweaked. And rows split in two such
that groups stay together: both eyes of a patient, say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import (
    FloatArray,
    IntArray,
    check_fraction,
    check_generator,
    check_labels,
    check_number,
    check_priors,
    check_same_length,
    check_whole,
    distinct_labels,
    group_codes,
    label_array,
    n_entries,
)

MOST_CLASSES = 1_000_000
MOST_ROWS = 1_000_000_000
# Below, a draw is one class and nothing else to all digits, or not even that.
_LEAST, _MOST = 1e-3, 1e9


def shifted_rows(
    y: ArrayLike,
    priors: ArrayLike,
    *,
    size: int | None = None,
    replace: bool = True,
    random_state: Any = None,
) -> IntArray:
    """Draw rows such that the classes come in the given proportions.

    Within a class every row is equally likely: p(x | y) stays, p(y) moves.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    priors : array-like of shape (n_classes,)
        Proportion of each class, in the sorted order of the labels; one number means the second
        class of two. For ratios such as 1:2 divide by their sum.
    size : int, optional
        How many rows to draw, at most 1e9; n when not given, or as many as there are without
        replacement.
    replace : bool
        Draw with replacement, or each row at most once.
    random_state : int, Generator or None
        Seeds the draws.

    Returns
    -------
    ndarray of int
        Row numbers, in random order. The counts of the classes are the proportions rounded.

    Examples
    --------
    >>> y = np.array([0] * 50 + [1] * 50)
    >>> rows = shifted_rows(y, [2 / 3, 1 / 3], size=30, random_state=0)
    >>> np.bincount(y[rows]).tolist()
    [20, 10]
    """
    classes = distinct_labels(y, "y")
    if len(classes) < 2:
        raise ValueError("`y` must have at least two classes for their proportions to shift.")
    codes = check_labels(y, classes=classes)
    proportions = check_priors(priors, n_classes=len(classes))
    present = np.bincount(codes)
    if size is not None:
        check_whole(size, name="size", least=0, most=MOST_ROWS)
    else:
        possible = present[proportions > 0] / proportions[proportions > 0]
        # A class of next to no proportion allows for more rows than there are.
        size = len(codes) if replace else min(int(possible.min() + 1e-9), len(codes))
    # Rounded such that the counts keep their sum: largest remainders first.
    wanted = proportions * size
    counts = np.floor(wanted + 1e-9).astype(np.intp)
    missing = round(float(wanted.sum())) - int(counts.sum())
    counts[np.argsort(counts - wanted, kind="stable")[:missing]] += 1
    if not replace and (counts > present).any():
        short = classes[np.argmax(counts - present)]
        raise ValueError(
            f"`size` {size} needs more rows of class {short!r} than there are; draw fewer, or "
            f"pass replace=True."
        )
    rng = check_generator(random_state)
    drawn = [
        rng.choice(np.flatnonzero(codes == c), size=count, replace=replace)
        for c, count in enumerate(counts)
    ]
    return rng.permutation(np.concatenate(drawn))


def dirichlet_priors(
    n_classes: int, *, concentration: float = 1.0, random_state: Any = None
) -> FloatArray:
    """Draw class proportions from a symmetric Dirichlet distribution.

    Parameters
    ----------
    n_classes : int
        How many classes, at most a million.
    concentration : float
        Above 0, from 1e-3 to 1e9; small gives strong shifts, large nearly equal classes.
    random_state : int, Generator or None
        Seeds the draw.

    Returns
    -------
    ndarray of shape (n_classes,)

    References
    ----------
    Lipton, Wang, Smola. Detecting and correcting for label shift with black box predictors.
    ICML 2018.

    Examples
    --------
    >>> round(float(dirichlet_priors(3, random_state=0).sum()), 6)
    1.0
    """
    check_whole(n_classes, name="n_classes", least=1, most=MOST_CLASSES)
    number = check_number(concentration, name="concentration")
    if not _LEAST <= number <= _MOST:
        raise ValueError(
            f"`concentration` must be above 0, from {_LEAST:g} to {_MOST:g}; got "
            f"{concentration!r}."
        )
    return check_generator(random_state).dirichlet(np.full(n_classes, number))


def tweak_one_priors(n_classes: int, proportion: float, *, tweaked: int = 0) -> FloatArray:
    """Return proportions in which one class has a given share and the others split the rest.

    Parameters
    ----------
    n_classes : int
        How many classes, at most a million.
    proportion : float
        The share of the tweaked class, in [0, 1].
    tweaked : int
        Which class, by column number.

    Returns
    -------
    ndarray of shape (n_classes,)

    Examples
    --------
    >>> tweak_one_priors(3, 0.8).round(2).tolist()
    [0.8, 0.1, 0.1]
    """
    share = check_fraction(proportion, name="proportion")
    check_whole(n_classes, name="n_classes", least=2, most=MOST_CLASSES)
    if isinstance(tweaked, bool) or not isinstance(tweaked, int | np.integer):
        raise TypeError(f"`tweaked` must be the number of a class; got {tweaked!r}.")
    if not 0 <= tweaked < n_classes:
        raise ValueError(f"`tweaked` must be a class from 0 to {n_classes - 1}; got {tweaked!r}.")
    priors = np.full(n_classes, (1 - share) / (n_classes - 1))
    priors[tweaked] = share
    return priors


def grouped_split(
    groups: ArrayLike,
    *,
    y: ArrayLike | None = None,
    fraction: float = 0.5,
    random_state: Any = None,
) -> tuple[IntArray, IntArray]:
    """Split rows in two at random, each group on one side.

    Parameters
    ----------
    groups : array-like of shape (n,)
        Which group each row belongs to, such as the patient; rows of none are one group.
    y : array-like of shape (n,), optional
        Labels that both sides should have in like proportions. Groups are dealt out in random
        order, each to the side that is further behind on the group's rarest label.
    fraction : float
        The share of rows on the first side, in (0, 1).
    random_state : int, Generator or None
        Seeds the order.

    Returns
    -------
    first, second : ndarray of int
        Row numbers of each side, ascending.

    Examples
    --------
    >>> patients = np.array([1, 1, 2, 2, 3, 3, 4, 4])
    >>> first, second = grouped_split(patients, random_state=0)
    >>> set(patients[first]) & set(patients[second])
    set()
    """
    number = check_number(fraction, name="fraction")
    if not 0 < number < 1:
        raise ValueError(f"`fraction` must be between 0 and 1; got {fraction!r}.")
    n = n_entries(groups, name="groups")
    distinct, group = group_codes(groups, n_rows=n)
    if len(distinct) < 2:
        raise ValueError("`groups` must have at least two groups to split.")
    codes = np.zeros(n, dtype=np.intp)
    if y is not None:
        labels = label_array(y, "y")
        check_same_length(groups=range(n), y=labels)
        codes = check_labels(labels, classes=distinct_labels(labels, "y"))
    table = np.zeros((len(distinct), codes.max() + 1))
    np.add.at(table, (group, codes), 1.0)
    order = check_generator(random_state).permutation(len(distinct))
    on_first = _dealt(table[order], number)
    sides: NDArray[np.bool_] = np.zeros(len(distinct), dtype=bool)
    sides[order] = on_first
    return np.flatnonzero(sides[group]), np.flatnonzero(~sides[group])


def _dealt(table: NDArray[np.float64], fraction: float) -> NDArray[np.bool_]:
    """Deal groups, as counts of each label, to two sides in the given proportion."""
    rarity = table.sum(axis=0)
    first = np.zeros(table.shape[1])
    seen = np.zeros(table.shape[1])
    on_first = np.zeros(len(table), dtype=bool)
    for k, counts in enumerate(table):
        rarest = int(np.argmin(np.where(counts > 0, rarity, np.inf)))
        seen += counts
        on_first[k] = first[rarest] + counts[rarest] / 2 <= fraction * seen[rarest]
        if on_first[k]:
            first += counts
    return on_first
