"""Who is asked about which case: reviewers of different skill, price and time.

An opinion is worth what it is expected to save: the cost of the best answer without it, less that
of the best answer with it. The best use of everybody's time is an assignment, solved by SciPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from abstain._inputs import (
    FloatArray,
    IntArray,
    Mask,
    check_number,
    check_proba,
    check_whole,
    float_array,
    shown,
)
from abstain.exceptions import ArgumentError
from abstain.metrics import ExpectedCost
from abstain.team._reviewer import Reviewer

# Rows whose answers are looked at together.
_BLOCK = 4_096
_MOST_CASES = 10**9
# How far from the best assignment the search may stop, where one opinion is not the most.
_GAP = 1e-6


@dataclass(frozen=True, eq=False)
class Assignment:
    """Who is asked about which case.

    Attributes
    ----------
    reviewers : tuple
        The names of the reviewers.
    asked : ndarray of bool, shape (n, n_reviewers)
        Whether each of them is asked about each case; of a row that is all False nobody is.
    gain : ndarray of shape (n,)
        What the opinions about a case are expected to save, less what they cost.
    """

    reviewers: tuple[Any, ...]
    asked: Mask
    gain: FloatArray

    @property
    def load(self) -> dict[Any, int]:
        """How many cases each reviewer gets."""
        return dict(zip(self.reviewers, self.asked.sum(axis=0).tolist(), strict=True))

    def __repr__(self) -> str:
        loads = ", ".join(f"{name}: {count:,}" for name, count in self.load.items())
        some = int(self.asked.any(axis=1).sum())
        return f"<Assignment: {some:,} of {len(self.asked):,} cases get an opinion; {loads}>"


def assign(
    proba: ArrayLike,
    reviewers: Mapping[Any, Reviewer],
    *,
    capacity: int | Mapping[Any, int],
    cost: float | Mapping[Any, float] = 0.0,
    errors: ArrayLike | None = None,
    most: int = 1,
    ratios: ArrayLike | None = None,
) -> Assignment:
    r"""Choose who is asked about each case, so that the opinions are worth most in all.

    Parameters
    ----------
    proba : array-like of shape (n, n_classes), or (n,) for the positive class of two
        Calibrated probabilities of the cases, such as ``decisions.proba``.
    reviewers : mapping of name to Reviewer
        Who there is, and how often they err.
    capacity : int or mapping of name to int
        How many cases each can look at.
    cost : float or mapping of name to float
        What an opinion costs, in the unit of ``errors``. Nobody is asked for less than it.
    errors : array-like of shape (n_classes, n_classes), optional
        What answering column j costs where class i is true; 1 for every error when not given.
    most : {1, 2}
        How many opinions a case may get. Two are taken as independent given the class.
    ratios : array-like of shape (n_classes,), optional
        New over old class proportions that ``proba`` are adapted to, such as ``policy.ratios``;
        for a reviewer whose answers hang on the model.

    Returns
    -------
    Assignment

    Notes
    -----
    With p the probabilities of a case, L the costs and C the confusion of whom is asked, an
    opinion is worth

    .. math:: \min_j \sum_i p_i L_{ij} - \sum_o \min_j \sum_i p_i C_{io} L_{ij},

    which is never below 0: an answer that tells nothing changes nothing.

    Examples
    --------
    >>> from abstain.team import Reviewer, assign
    >>> team = {"expert": Reviewer(accuracy=0.98, classes=[0, 1]),
    ...         "student": Reviewer(accuracy=0.8, classes=[0, 1])}
    >>> found = assign([0.5, 0.7, 0.02], team, capacity={"expert": 1, "student": 5})
    >>> found
    <Assignment: 2 of 3 cases get an opinion; expert: 1, student: 1>
    >>> found.asked.tolist()
    [[True, False], [False, True], [False, False]]
    >>> found.gain.round(2).tolist()
    [0.48, 0.1, 0.0]
    """
    rows = check_proba(proba)
    n_classes, names = rows.shape[1], tuple(reviewers)
    _check_reviewers(reviewers, n_classes)
    check_whole(most, name="most", least=1, most=2)
    metric = ExpectedCost(1 - np.eye(n_classes) if errors is None else errors)
    metric.check_n_classes(n_classes)
    costs = metric.matrix
    limits = [
        check_whole(one, name="capacity", least=0, most=_MOST_CASES)
        for one in _of_each(capacity, names, "capacity")
    ]
    prices = [check_number(one, name="cost") for one in _of_each(cost, names, "cost")]
    panels = [one for size in range(1, most + 1) for one in combinations(range(len(names)), size)]
    members = np.array([np.isin(np.arange(len(names)), panel) for panel in panels])
    worth = -np.tile(members @ prices, (len(rows), 1))
    for begin in range(0, len(rows), _BLOCK):
        part = slice(begin, begin + _BLOCK)
        chances = [_chances(one, rows[part], ratios) for one in reviewers.values()]
        for k, panel in enumerate(panels):
            worth[part, k] += _saved(rows[part], [chances[who] for who in panel], costs)
    taken = _best(worth, members, np.array(limits))
    # A panel of nobody stands last, where -1 points.
    asked = np.vstack([members, np.zeros(len(names), dtype=np.bool_)])[taken]
    gain = np.column_stack([worth, np.zeros(len(rows))])[np.arange(len(rows)), taken]
    return Assignment(names, asked, gain)


def _chances(reviewer: Reviewer, proba: FloatArray, ratios: ArrayLike | None) -> FloatArray:
    """Return the chance of each answer to each row, for each class."""
    labels = np.arange(proba.shape[1]) if reviewer.classes is None else reviewer.classes
    at = None if ratios is None else float_array(ratios, "ratios")
    return reviewer.for_classes(labels).chances(proba, at)


def _saved(proba: FloatArray, chances: list[FloatArray], costs: FloatArray) -> FloatArray:
    """Return what the opinions of a panel are expected to save for each row."""
    saved = (proba @ costs).min(axis=1)
    for answers in product(range(proba.shape[1]), repeat=len(chances)):
        told = proba
        for one, answer in zip(chances, answers, strict=True):
            told = told * one[:, :, answer]
        saved -= (told @ costs).min(axis=1)
    # A difference of equals is 0, and no reason to ask anybody.
    return np.where(saved > 1e-12, saved, 0.0)


def _best(worth: FloatArray, members: Mask, limits: IntArray) -> IntArray:
    """Return the panel of each row, -1 for none, such that what is gained is most in all."""
    # Some best assignment gives a panel only rows among its own best that all can be given:
    # of so many one would be free for it.
    most = min(int(limits.sum()), len(worth))
    panel, row = np.nonzero((worth > 0).T)
    if 0 < most < len(worth):
        edge = np.partition(worth, len(worth) - most, axis=0)[len(worth) - most]
        panel, row = np.nonzero(((worth > 0) & (worth >= edge)).T)
    taken = np.full(len(worth), -1, dtype=np.intp)
    if not len(row):
        return taken
    at = np.arange(len(row))
    once = csr_array((np.ones(len(row)), (row, at)), shape=(len(worth), len(row)))
    found = milp(
        -worth[row, panel],
        integrality=np.ones(len(row)),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(once, ub=1.0),
            LinearConstraint(csr_array(members[panel].T.astype(np.float64)), ub=limits),
        ],
        options={"mip_rel_gap": _GAP},
    )
    yes = found.x > 0.5
    taken[row[yes]] = panel[yes]
    return taken


def _check_reviewers(reviewers: Mapping[Any, Reviewer], n_classes: int) -> None:
    if not isinstance(reviewers, Mapping) or not reviewers:
        raise ArgumentError(
            "`reviewers` must be a mapping of names to reviewers, such as "
            f"{{'ann': Reviewer(accuracy=0.9, classes=[0, 1])}}; got {shown(reviewers)}.",
            "reviewers",
        )
    for name, one in reviewers.items():
        known = n_classes if one.classes is None else len(one.classes)
        if known != n_classes:
            raise ArgumentError(
                f"`reviewers` must know the {n_classes} classes of `proba`; {name!r} knows "
                f"{known}.",
                "reviewers",
            )


def _of_each(given: Any, names: Iterable[Any], name: str) -> list[Any]:
    """Return what is given for each reviewer, or for all of them."""
    if not isinstance(given, Mapping):
        return [given for _ in names]
    left = [one for one in names if one not in given]
    if left:
        raise ArgumentError(
            f"`{name}` must be said of every reviewer; {left[0]!r} is missing.", name
        )
    return [given[one] for one in names]
