"""The smallest window of scores for which labels prove a sensitivity and a specificity.

Below the window negative is predicted and above it positive (the best window touches its
threshold, the paper's Section 5.1). The proof holds for all windows at once, so any of them may be
chosen, by the same labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom

from abstain._inputs import FloatArray, IntArray, Mask
from abstain._numerics import ROUNDING
from abstain.certificates._certificate import Bound, Certificate, Evidence
from abstain.exceptions import TargetUnreachable
from abstain.regions import Choice, Interval
from abstain.rules import Threshold
from abstain.selection import RATES, even_boundaries, shown_short
from abstain.summaries import Atoms, BatchSummary, LabelledSummary

# Windows begin and end at no more than this many places.
_PLACES = 512
# The least share of a class that has to be kept.
_LEAST_KEPT = 0.2
# Up to so many examples the chance of ever passing is summed step by step; beyond, in leaps.
_MOST_STEPS, _LEAP = 8_192, 1.05
# By how much the level of each step is found, and how far below that of all it may be.
_HALVINGS, _LOWEST = 8, 60.0
# Beyond this many times the labels at hand nobody would collect them.
_MOST_LABELS = 1e5
# What a level for all windows at once is about for one.
_WINDOWS = 6.0


@cache
def misses_allowed(n: int, goal: float, error: float) -> IntArray:
    r"""Return how many of the first 0, ..., n examples kept may be wrong, -1 for not even none.

    Notes
    -----
    Widen a window in such a way that its true rate stays exactly at the goal: each example that it
    lets out is wrong with the chance 1 - goal, whatever the scores are distributed like. So among
    all windows at the goal the number of wrong ones is a walk of independent steps, and the chance
    that it is ever as low as is allowed is summed step by step: at most ``error``. A window below
    its goal has more wrong ones than one at the goal that lets out as many right ones.
    """
    kept, miss = np.arange(n + 1), 1 - goal
    if miss >= 1:
        return kept
    first = max(int(np.ceil(_LEAST_KEPT * n)), 1)
    if n > _MOST_STEPS:
        # Within a leap no more are allowed than at its start, where few enough is likeliest.
        starts = np.unique(np.ceil(first * _LEAP ** np.arange(np.log(n / first) / np.log(_LEAP))))
        allowed = _few(starts.astype(np.intp), miss, error / len(starts))
        leap = np.searchsorted(starts, kept, side="right") - 1
        return np.where(leap < 0, -1, allowed[leap])
    low, high = np.log(error / _LOWEST), np.log(error)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if _chance_of_passing(_few(kept, miss, np.exp(middle), first), miss) <= error:
            low = middle
        else:
            high = middle
    return _few(kept, miss, np.exp(low), first)


def _few(kept: IntArray, miss: float, level: float, first: int = 0) -> IntArray:
    """Return the largest numbers of misses as low as which has at most the chance ``level``."""
    most = binom.ppf(level, kept, miss)
    most = np.where(binom.cdf(most, kept, miss) > level, most - 1, most).astype(np.intp)
    return np.where(kept < first, -1, most)


def _chance_of_passing(allowed: IntArray, miss: float) -> float:
    """Return how probably a walk is as low as allowed at any of its steps."""
    chances = np.zeros(int(allowed.max()) + 2)
    chances[0], passed, before = 1.0, 0.0, 0
    for most in allowed[1:].tolist():
        # Below are none any more: they have passed.
        rest = chances[before:]
        rest[1:] = rest[1:] * (1 - miss) + rest[:-1] * miss
        rest[0] *= 1 - miss
        if most >= before:
            passed += float(chances[before : most + 1].sum())
            chances[before : most + 1] = 0.0
            before = most
    return passed


def places_of(atoms: Atoms, most: int) -> tuple[IntArray, FloatArray]:
    """Return boundaries between atoms, and for each a probability between those on its sides.

    It is next to the upper one: what labelled scores are below it no calibration changes.
    """
    cuts = even_boundaries(atoms, most, most)
    after = np.append(atoms.p, np.nextafter(1.0, 2.0))[cuts]
    if atoms.upper is None:
        before = np.concatenate([[0.0], atoms.p])[cuts]
        beneath = after * (1 - ROUNDING)
        after = np.where((cuts == len(atoms)) | (beneath <= before), after, beneath)
    after[cuts == 0] = 0.0
    return cuts, after


def window(lower: float, upper: float, threshold: float) -> Choice:
    """Return the choice that withholds from ``lower`` on to below ``upper``."""
    region = Interval.empty() if lower >= upper else Interval(lower, float(np.nextafter(upper, 0)))
    return Choice(region, Threshold(threshold))


def certified_window(
    goals: Mapping[str, float],
    summary: BatchSummary,
    labelled: LabelledSummary,
    confidence: float,
) -> tuple[Choice, Certificate]:
    """Return the window that withholds least of a batch of those that the labels certify.

    Parameters
    ----------
    goals : dict
        The ``"sensitivity"`` and the ``"specificity"`` of the kept rows, or one of them.
    summary : BatchSummary
        The batch, of two classes, adapted.
    labelled : LabelledSummary
        All labelled examples, adapted, in the order of their scores.
    confidence : float
        How sure all goals are to be reached.

    Raises
    ------
    TargetUnreachable
        If the labels certify no window; says how many would be needed.
    """
    atoms = summary.atoms
    cuts, edges = places_of(atoms, _PLACES)
    # The classes are independent, so the chances that neither is wrong multiply.
    error = 1 - confidence ** (1 / len(goals))
    below = [
        np.searchsorted(np.sort(labelled.proba[labelled.labels == column, 1]), edges)
        for column in (0, 1)
    ]
    n = np.bincount(labelled.labels, minlength=2)
    right, kept = _kept(below, n)
    passing: Mask = np.triu(np.ones((len(cuts), len(cuts)), dtype=np.bool_))
    for name, goal in goals.items():
        column = RATES[name]
        allowed = misses_allowed(int(n[column]), goal, error)
        passing &= kept[column] - right[column] <= allowed[kept[column]]
    if not passing.any():
        raise TargetUnreachable(_complaint(goals, right, kept, error, confidence))
    total = atoms.weight_below[cuts]
    withheld = np.where(passing, total[None, :] - total[:, None], np.inf)
    start, end = np.unravel_index(int(withheld.argmin()), withheld.shape)
    lower, upper, middle = edges[[start, end, (start + end) // 2]].tolist()
    choice = window(lower, upper, middle)
    evidence = Evidence.of(labelled, choice)
    bounds = {
        name: Bound(goal, _share(evidence, RATES[name]), int(evidence.kept[RATES[name]]))
        for name, goal in goals.items()
    }
    return choice, Certificate(confidence, bounds, evidence, searched=True)


def _share(evidence: Evidence, column: int) -> float:
    kept = evidence.kept[column]
    return float(evidence.hits[column] / kept) if kept else float("nan")


def _kept(below: list[IntArray], n: IntArray) -> tuple[list[IntArray], list[IntArray]]:
    """Return of each class the examples that each window predicts right, and all that it keeps."""
    under = [count[:, None] for count in below]
    over = [n[column] - below[column][None, :] for column in (0, 1)]
    # No window ends before it starts.
    kept = [np.minimum(under[column] + over[column], n[column]) for column in (0, 1)]
    shape = kept[0].shape
    return [np.broadcast_to(under[0], shape), np.broadcast_to(over[1], shape)], kept


def _complaint(
    goals: Mapping[str, float],
    right: list[IntArray],
    kept: list[IntArray],
    error: float,
    confidence: float,
) -> str:
    """Say what the labels showed, and how many would be expected to be enough."""
    times: FloatArray = np.triu(np.ones(kept[0].shape)) - 1 + 1e-9
    times = np.where(times < 0, np.inf, 1.0)
    deviations, seen = float(ndtri(1 - error / _WINDOWS)), {}
    for name, goal in goals.items():
        column = RATES[name]
        with np.errstate(divide="ignore", invalid="ignore"):
            seen[name] = right[column] / kept[column]
            over = seen[name] - goal
            needed = deviations**2 * max(goal * (1 - goal), 1e-3) / (over**2 * kept[column])
        times = np.maximum(times, np.where(over > 0, needed, np.inf))
    best = np.unravel_index(int(times.argmin()), times.shape)
    n, factor = int(sum(count[0, 0] for count in kept)), float(times[best])
    wanted = ", ".join(f"{name} {goal:.15g}" for name, goal in goals.items())
    observed = "; ".join(
        f"{name} {shown_short(seen[name][best], goal, digits=3)} of "
        f"{kept[RATES[name]][best]:,} observed"
        for name, goal in goals.items()
    )
    enough = (
        "no number of labels is expected to be enough: ask for less"
        if factor > _MOST_LABELS
        else f"about {int(np.ceil(max(factor, 1.2) * n / 10) * 10):,} labelled examples are "
        f"expected to be enough; there are {n:,}"
    )
    return (
        f"These labels certify no abstention for {wanted} with {confidence:.0%} confidence "
        f"({observed}, where it is easiest); {enough}."
    )
