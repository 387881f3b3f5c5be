"""Arms with promises: whom to release, whom a person sees, on whom to act, at every prevalence.

Released are the lowest scores, acted on the highest. Under label shift the share of the ill and of
the well that an arm takes stays (the paper's Section 2), and a promise that depends on the
prevalence is worst at an end of its range; so labels of other proportions prove it. Thresholds are
tested in a fixed sequence (learn then test), from the fewest that can prove anything on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrc, betaincinv, ndtr, ndtri

from abstain._inputs import FloatArray, IntArray, Mask, number, shown
from abstain.certificates._certificate import Bound, Certificate, Evidence
from abstain.certificates._windows import places_of, window
from abstain.certificates._worst_case import check_prior_range
from abstain.exceptions import ArgumentError, Way
from abstain.regions import Choice
from abstain.summaries import BatchSummary, LabelledSummary

#: The arm that each promise is of, as the column of those it takes rightly.
ARMS = {"npv": 0, "sensitivity": 0, "ppv": 1, "specificity": 1}
#: Those that depend on the prevalence.
RATIOS = ("npv", "ppv")
#: What becomes of an arm's rows, by the same column.
VERBS = {0: "released", 1: "acted on"}
#: How sure promises are where nobody says so.
CONFIDENCE = 0.95

# Thresholds that are tested at most.
_PLACES = 512
# Sequences begin where so many times the wrong ones would be allowed that not one may be seen of;
# each has its part of the error, and inherits that of the one before if this comes so far.
_STARTS, _PARTS = (1.15, 3.0), (0.8, 0.2)
# The nuisance parameter is looked for where it lies but for this chance, in so many cells.
_ELSEWHERE, _CELLS = 1e-5, 120


def check_arms(arms: Mapping[str, float], prior_range: tuple[ArrayLike, ArrayLike] | None) -> None:
    """Raise if promises are not what they should be, or say nothing, or too much.

    Parameters
    ----------
    arms : dict
        What is promised: ``npv`` or ``sensitivity`` of those released, ``ppv`` or
        ``specificity`` of those acted on.
    prior_range : pair or None
        The lowest and the highest proportion of the positive class.
    """
    if not isinstance(arms, Mapping) or not arms or not {*arms} <= {*ARMS}:
        raise ArgumentError(
            f"`arms` must promise one or more of {', '.join(ARMS)}, such as "
            f"{{'npv': 0.998, 'ppv': 0.9}}; got {shown(arms)}.",
            "arms",
        )
    for name, promise in arms.items():
        if not 0 < number(promise, f"arms[{name!r}]") < 1:
            raise ArgumentError(
                f"`arms` must promise shares between 0 and 1, which labels can prove; {name!r} is "
                f"{promise!r}. Promise a little less than 1.",
                "arms",
            )
    if not {*arms} & {*RATIOS}:
        return
    if prior_range is None:
        raise ArgumentError(
            "`arms` promises an npv or a ppv, which depend on the prevalence: say between which "
            "proportions of the positive class it is to hold, such as prior_range=(0.02, 0.2).",
            "prior_range",
            ways=[Way("prior_range", "2%..20%", "prior_range=(0.02, 0.2)")],
        )
    (_, low), (_, high) = check_prior_range(prior_range, 2)
    for name, limit in _limits(arms, low, high).items():
        if limit >= 1 and name in RATIOS:
            rest = 1 - high if name == "npv" else low
            raise ArgumentError(
                f"`arms` promises an {name} of {arms[name]:g}, which is so with everybody "
                f"{VERBS[ARMS[name]]}: it is at least {rest:g} then. Promise more, or a wider "
                f"`prior_range`.",
                "arms",
            )
        if limit <= 0:
            raise ArgumentError(
                f"`arms` promises an {name}, and none can be had at a prevalence of "
                f"{high if name == 'npv' else low:g}: give a `prior_range` within (0, 1).",
                "prior_range",
            )


def _limits(arms: Mapping[str, float], low: float, high: float) -> dict[str, float]:
    """Return how large the share of those wrongly taken may be, of an npv or ppv over the rightly.

    A negative predictive value is worst at the highest prevalence, a positive one at the lowest.
    """
    found = {}
    for name, promise in arms.items():
        odds = {"npv": (1 - high) / high if high else np.inf, "ppv": low / (1 - low or 1e-300)}
        found[name] = (1 - promise) * (odds[name] / promise if name in odds else 1.0)
    return found


def chance_of_less(
    wrong: IntArray, n_wrong: int, right: IntArray, n_right: int, limit: float
) -> FloatArray:
    r"""Return how probable counts are where the rate of wrong is not below a multiple of another.

    Parameters
    ----------
    wrong, right : ndarray of shape (k,)
        Examples taken of the class that is not to be and of the one that is.
    n_wrong, n_right : int
        Examples of each class.
    limit : float
        The multiple.

    Returns
    -------
    ndarray of shape (k,)
        p-values of the hypothesis that rate(wrong) > limit * rate(right).

    Notes
    -----
    Were the rate of the right ones known to be r, both counts would be binomial and independent:
    so few wrong ones at limit * r, and so many right ones at r, have exact p-values, which any
    weighted sum of normal quantiles combines exactly. Weights by the standard deviations at r make
    it the most powerful one. The largest over all r is the p-value; over those that so many right
    ones leave possible, plus the chance that it is another (Berger and Boos), cell by cell with
    the worse end of each.

    References
    ----------
    R. Berger, D. Boos (1994). P values maximized over a confidence set for the nuisance
    parameter. JASA 89(427).
    """
    few, many = (np.asarray(count, dtype=np.float64)[:, None] for count in (wrong, right))
    left = n_right - many
    low = np.where(many > 0, betaincinv(np.maximum(many, 0.5), left + 1, _ELSEWHERE), 0.0)
    high = np.where(left > 0, betaincinv(many + 1, np.maximum(left, 0.5), 1 - _ELSEWHERE), 1.0)
    rates = low + (high - low) * np.linspace(0, 1, _CELLS + 1)
    below, above = rates[:, :-1], rates[:, 1:]
    of_wrong = np.minimum(limit * below, 1.0)
    chance_of_few = bdtr(few, n_wrong, of_wrong)
    chance_of_many = np.where(many > 0, bdtrc(many - 1, n_right, above), 1.0)
    by_many = limit * np.sqrt(below * (1 - below) / n_right)
    by_few = np.sqrt(of_wrong * (1 - of_wrong) / n_wrong)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = by_many * ndtri(chance_of_many) + by_few * ndtri(chance_of_few)
        z /= np.hypot(by_many, by_few)
    # No rate is above 1; and what cannot be told says nothing against the hypothesis.
    z = np.where(of_wrong >= 1, -np.inf, np.where(np.isnan(z), np.inf, z))
    chance: FloatArray = np.minimum(ndtr(z.max(axis=1)) + 2 * _ELSEWHERE, 1.0)
    return chance


def certified_arms(
    arms: Mapping[str, float],
    summary: BatchSummary,
    labelled: LabelledSummary,
    *,
    confidence: float,
    prior_range: tuple[ArrayLike, ArrayLike] | None,
    groups: IntArray | None = None,
) -> tuple[Choice, Certificate, tuple[str, ...]]:
    """Return the largest arms whose promises the labels prove, and what cannot be promised.

    Parameters
    ----------
    arms : dict
        What is promised, as for :func:`check_arms`.
    summary : BatchSummary
        The batch, of two classes, adapted; its rows say where thresholds may be.
    labelled : LabelledSummary
        All labelled examples, adapted, in the order of their scores.
    confidence : float
        How sure all promises are to hold at once.
    prior_range : pair or None
        The lowest and the highest proportion of the positive class.
    groups : ndarray of shape (n,) or None
        The group of each labelled example; promises then hold in every group.
    """
    sides = check_prior_range(prior_range, 2)
    cuts, edges = places_of(summary.atoms, _PLACES)
    share = summary.atoms.weight_below[cuts] / summary.total
    parts = [labelled.labels >= 0] if groups is None else [groups == g for g in np.unique(groups)]
    columns = sorted({ARMS[name] for name in arms})
    proven: dict[int, tuple[int, int]] = {}
    bounds, doubts = {}, []
    for column in columns:
        arm = _Arm(
            {name: promise for name, promise in arms.items() if ARMS[name] == column},
            (float(sides[0][1]), float(sides[1][1])),
            (1 - confidence) / len(columns),
            [_nested(labelled, part, edges, column) for part in parts],
            share if column == 0 else 1 - share[::-1],
        )
        found = arm.proven()
        if found is None:
            doubts.append(arm.complaint(VERBS[column]))
            continue
        bounds.update(arm.bounds(found[1]))
        # Arms are counted from the smallest, edges from below.
        last = len(edges) - 1
        proven[column] = found if column == 0 else (last - found[1], last - found[0])
    choice = _between(proven, edges)
    certificate = Certificate(
        confidence,
        bounds,
        Evidence.of(labelled, choice),
        searched=True,
        prior_range=None if prior_range is None else sides,
    )
    return choice, certificate, tuple(doubts)


class _Counts(NamedTuple):
    """Labelled examples of a group in nested arms, the smallest first, and in all."""

    wrong: IntArray
    n_wrong: int
    right: IntArray
    n_right: int


def _nested(labelled: LabelledSummary, part: Mask, edges: FloatArray, column: int) -> _Counts:
    """Count what arms with these edges would take, rightly those of a column."""
    p, codes = labelled.proba[part, 1], labelled.labels[part]

    def taken(kind: int) -> tuple[IntArray, int]:
        mine = np.sort(p[codes == kind])
        below: IntArray = np.searchsorted(mine, edges)
        return below if column == 0 else len(mine) - below[::-1], len(mine)

    return _Counts(*taken(1 - column), *taken(column))


@dataclass(frozen=True, eq=False)
class _Arm:
    """What is promised of an arm, and what labels show of each size of it.

    Attributes
    ----------
    promises : dict
        By name.
    prevalence : (float, float)
        The lowest and the highest.
    error : float
        How probably one of them may be wrong.
    groups : list of _Counts
    taken : ndarray
        The share of the batch that each size takes.
    """

    promises: Mapping[str, float]
    prevalence: tuple[float, float]
    error: float
    groups: Sequence[_Counts]
    taken: FloatArray

    def proven(self) -> tuple[int, int] | None:
        """Return from which size to which the promises are proven, the largest; None if not."""
        chances, starts = np.zeros(len(self.taken)), np.zeros(1, dtype=np.intp)
        for name, limit in _limits(self.promises, *self.prevalence).items():
            for counts in self.groups:
                chances = np.maximum(chances, _chances(counts, limit, by_ratio=name in RATIOS))
            if name in RATIOS:
                # What share of those rightly taken it is nobody knows without labels; about this,
                # or more.
                low, high = self.prevalence
                known = self.promises[name] / high if name == "ppv" else 1 / (1 - low)
                rate = np.minimum(self.taken * known, 1.0)
                # As few wrong ones as none prove something where enough right ones are seen too.
                several = min(one.n_right for one in self.groups) * rate
                allowed = min(one.n_wrong for one in self.groups) * limit * rate
                allowed *= several / (allowed + several + 1e-300)
                least = -np.log(self.error * np.array(_PARTS))
                starts = np.searchsorted(allowed, least * _STARTS)
        return _in_sequence(chances, starts, self.error)

    def bounds(self, size: int) -> dict[str, Bound]:
        """Return the promises with what was observed in the group where that is least."""
        found = {}
        for name, promise in self.promises.items():
            seen = [(self._observed(name, one, size), one) for one in self.groups]
            least, counts = min(seen, key=lambda pair: pair[0])
            found[name] = Bound(promise, least, int(counts.wrong[size] + counts.right[size]))
        return found

    def _observed(self, name: str, counts: _Counts, size: int) -> float:
        wrong = counts.wrong[size] / counts.n_wrong
        if name not in RATIOS:
            return float(1 - wrong)
        low, high = self.prevalence
        odds = high / (1 - high) if name == "npv" else (1 - low) / low
        return float(1 / (1 + odds * wrong / (counts.right[size] / counts.n_right)))

    def complaint(self, verb: str) -> str:
        """Say what cannot be promised, what that means, and about how many labels it takes."""
        wanted = " and ".join(f"{name} {promise:.15g}" for name, promise in self.promises.items())
        limit = min(_limits(self.promises, *self.prevalence).values())
        needed = int(np.ceil(-np.log(self.error) / limit))
        there = min(counts.n_wrong for counts in self.groups)
        kind = "positive" if ARMS[next(iter(self.promises))] == 0 else "negative"
        rows = f"labelled rows of the {kind} class"
        what = (
            f"that takes {needed:,} {rows} at the least, and there are {there:,}"
            f"{' in a group' if len(self.groups) > 1 else ''}: label more of them, or promise less"
            if there < needed
            else f"too many {rows} score like the others: promise less, or label more"
        )
        return (
            f"No {wanted} can be promised, so nobody is {verb} and all of them go to a person; "
            f"{what}."
        )


def _chances(counts: _Counts, limit: float, *, by_ratio: bool) -> FloatArray:
    """Return how probable as much evidence would be if the promise did not hold, for each size."""
    wrong, n_wrong, right, n_right = counts
    if not n_wrong or not n_right:
        return np.ones(len(wrong))
    if by_ratio:
        return chance_of_less(wrong, n_wrong, right, n_right, limit)
    return np.asarray(bdtr(wrong.astype(np.float64), n_wrong, limit))


def _in_sequence(chances: FloatArray, starts: IntArray, error: float) -> tuple[int, int] | None:
    """Test one after the other until one fails, from each start with its part of the error.

    A sequence that comes to the start of the next one goes on with both parts.
    """
    found, begun, level = None, 0, 0.0
    parts = error * np.array(_PARTS if len(starts) > 1 else (1.0,))
    for at in range(len(chances)):
        begun = begun if level else at
        level += parts[starts == at].sum()
        if level and chances[at] <= level:
            found = begun, at
        else:
            level = 0.0
    return found


def _between(proven: Mapping[int, tuple[int, int]], edges: FloatArray) -> Choice:
    """Return the choice that leaves to a person what is between the arms."""
    last = len(edges) - 1
    (first_low, low), (high, last_high) = proven.get(0, (0, 0)), proven.get(1, (last, last))
    if low > high:
        # Nobody is left between: one edge that both arms have, if there is one.
        shared = max(first_low, high), min(low, last_high)
        low, high = (sum(shared) // 2,) * 2 if shared[0] <= shared[1] else (low, last)
    return window(edges[low], edges[high], float(np.clip(0.5, edges[low], edges[high])))
