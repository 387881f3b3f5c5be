"""A nested family of intervals of p for a sensitivity and a specificity, the threshold inside.

For sensitivity at a specificity the best window touches its threshold (the paper's Section 5.1),
so below the window negative is predicted and above it positive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain.exceptions import TargetUnreachable
from abstain.regions import Choice, Interval
from abstain.rules import Threshold
from abstain.selection import even_boundaries
from abstain.summaries import Atoms, BatchSummary, LabelledSummary

# Windows begin and end at no more than this many places.
_BOUNDARIES = 2048
# Keeps the standard error of a rate with target 1 above zero.
_LEAST_VARIANCE = 1e-3


def nested_windows(
    summary: BatchSummary,
    goals: Mapping[str, float],
    n_labelled: IntArray,
    *,
    fitting: LabelledSummary,
    most: int,
) -> list[Choice]:
    """Return nested intervals, from the largest to the empty one, with their thresholds.

    Parameters
    ----------
    summary : BatchSummary
        The batch, of two classes, adapted.
    goals : dict
        The ``"sensitivity"`` and the ``"specificity"`` to reach.
    n_labelled : ndarray of shape (2,)
        Certifying negatives and positives; a rate with fewer needs the wider margin.
    fitting : LabelledSummary
        Labelled examples that will not certify, adapted. What they
        show of the two classes counts as much as what the target's probabilities say.
    most : int
        How many intervals to return at most, evenly spaced in weight.

    Returns
    -------
    list of Choice
        Each interval contains the next.

    Notes
    -----
    From the threshold where both rates have the same margin, in standard errors, the interval is
    widened downwards when sensitivity has the smaller margin and upwards when specificity does.
    """
    atoms = summary.atoms
    cuts = even_boundaries(atoms, _BOUNDARIES - 1, _BOUNDARIES - 1)
    below = _shares_below(atoms, cuts, fitting)
    margins = _margins_of(below, goals, n_labelled)
    last = len(cuts) - 1
    middle = max(range(last + 1), key=lambda k: min(margins(k, k)))
    path = [(middle, middle)]
    while True:
        start, end = path[-1]
        sensitivity, specificity = margins(start, end)
        down = start > 0 and (sensitivity <= specificity or end == last)
        if not down and end == last:
            break
        path.append((start - 1, end) if down else (start, end + 1))
    total = atoms.weight_below[cuts]
    weights = np.array([total[end] - total[start] for start, end in path])
    chosen = np.searchsorted(weights, np.linspace(0, weights[-1], most + 1)[:-1])
    windows = [path[k] for k in np.unique(chosen)]
    return [_choice(atoms, int(cuts[i]), int(cuts[j])) for i, j in reversed(windows)]


def _shares_below(atoms: Atoms, cuts: IntArray, fitting: LabelledSummary) -> FloatArray:
    """Return the share of the negatives and of the positives below each cut."""
    edges = np.append(atoms.p, np.inf)[cuts]
    shares = []
    for column, mass in enumerate((atoms.negative_below, atoms.positive_below)):
        if mass[-1] <= 0:
            raise TargetUnreachable(
                f"The target has no example of column {column}, so its rate cannot be certified."
            )
        labelled = np.sort(fitting.proba[fitting.labels == column, 1])
        seen = np.searchsorted(labelled, edges) / max(len(labelled), 1)
        said = mass[cuts] / mass[-1]
        shares.append(0.5 * (said + seen) if len(labelled) else said)
    return np.array(shares)


def _margins_of(
    below: FloatArray, goals: Mapping[str, float], n_labelled: IntArray
) -> Callable[[int, int], tuple[float, float]]:
    """Return what tells sensitivity and specificity without a window, less their goals.

    In standard errors.
    """
    negative, positive = below.tolist()

    def margin(right: float, wrong: float, goal: float, n: int) -> float:
        kept = right + wrong
        if kept <= 0:
            return -np.inf
        variance = max(goal * (1 - goal), _LEAST_VARIANCE) / max(n * kept, 1e-12)
        return float((right / kept - goal) / np.sqrt(variance))

    def margins(start: int, end: int) -> tuple[float, float]:
        return (
            margin(1 - positive[end], positive[start], goals["sensitivity"], n_labelled[1]),
            margin(negative[start], 1 - negative[end], goals["specificity"], n_labelled[0]),
        )

    return margins


def _choice(atoms: Atoms, start: int, end: int) -> Choice:
    # Any threshold inside the window predicts the kept rows alike; the middle is farthest from
    # rows that a later batch may have just outside.
    middle = (start + end) // 2
    threshold = float(atoms.p[middle]) if middle < len(atoms) else float(np.nextafter(1.0, 2.0))
    return Choice(Interval(*atoms.ends(start, end)), Threshold(threshold))
