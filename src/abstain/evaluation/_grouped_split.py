"""Splitting rows in two such that groups stay together: both eyes of a patient, say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from abstain._inputs import (
    IntArray,
    check_generator,
    check_labels,
    check_number,
    check_same_length,
    distinct_labels,
    group_codes,
    label_array,
    n_entries,
)


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
