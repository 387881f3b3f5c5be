"""Windows of every size for a ranking metric: the smallest that reaches a target, the worthiest.

The paper looks at windows of one size, that of its budget (Section 5.1); here the size is what
is asked for, and a metric need not rise with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain.metrics import RankingMetric
from abstain.summaries import WEIGHT_TOLERANCE, Atoms, Windows

# Up to this many atoms every window is looked at: at most 8.4 million.
EXACT_ATOMS = 4096
# Beyond, windows begin and end at this many boundaries first, evenly spread in weight.
COARSE_BOUNDARIES = 1024
# Windows whose values are held at a time.
_BLOCK = 2**20

Objective = Callable[[FloatArray, Windows], FloatArray]


class Window(NamedTuple):
    """The atoms ``start .. end - 1``, the metric without them, and their weight."""

    start: int
    end: int
    value: float
    weight: float


def smallest_window(
    metric: RankingMetric, atoms: Atoms, target: float
) -> tuple[Window | None, Window | None]:
    """Return the lightest window whose withholding brings the metric to the target.

    Parameters
    ----------
    metric : RankingMetric
        The metric; its value is taken with probabilities for labels.
    atoms : Atoms
        The batch, adapted.
    target : float
        The value to reach.

    Returns
    -------
    found : Window or None
        The lightest; of equally light ones the one with the best value. None where no window
        reaches the target.
    best : Window or None
        When nothing was found, the window with the best value; None where no value is defined.

    Notes
    -----
    Exact up to 4096 distinct probabilities. Beyond, windows between 1024 boundaries are searched
    first, with exact values, and the answer is then shortened on all atoms: the target is truly
    reached, but a narrow exception to a rising metric may be missed.
    """
    boundaries = even_boundaries(atoms, EXACT_ATOMS, COARSE_BOUNDARIES)
    found, best = _lightest(metric, atoms, boundaries, target)
    if len(atoms) > EXACT_ATOMS:
        found = found and _shortened(metric, atoms, found, target)
    return found, best


def most_valuable_window(
    metric: RankingMetric, atoms: Atoms, value_of_metric: float, abstention_costs: FloatArray
) -> Window | None:
    """Return the window for which the metric's worth less the cost of abstaining is highest.

    Parameters
    ----------
    metric : RankingMetric
        The metric; its value is taken with probabilities for labels.
    atoms : Atoms
        The batch, adapted.
    value_of_metric : float
        What the metric is worth per row, for a value of 1.
    abstention_costs : ndarray of shape (2,)
        What withholding one negative and one positive costs.

    Returns
    -------
    Window or None
        None where no value is defined.

    Notes
    -----
    Exact up to 4096 distinct probabilities; beyond, the best of the windows between 1024
    boundaries, with both ends then moved to the best atoms around them.
    """
    spent = abstention_costs[0] * atoms.below.negative + abstention_costs[1] * atoms.below.positive
    spent /= atoms.total

    def worth(values: FloatArray, windows: Windows) -> FloatArray:
        return np.asarray(value_of_metric * values - (spent[windows.ends] - spent[windows.starts]))

    boundaries = even_boundaries(atoms, EXACT_ATOMS, COARSE_BOUNDARIES)
    best = _most_worth(metric, atoms, _pairs(boundaries, boundaries), worth)
    if best is not None and len(atoms) > EXACT_ATOMS:
        around = [_neighbourhood(boundaries, end) for end in (best.start, best.end)]
        best = _most_worth(metric, atoms, _pairs(*around), worth)
    return best


def even_boundaries(atoms: Atoms, exact: int, parts: int) -> IntArray:
    """Return all boundaries of up to so many atoms; else those that part the weight evenly."""
    if len(atoms) <= exact:
        return np.arange(len(atoms) + 1)
    total = atoms.weight_below
    inner = np.searchsorted(total, np.linspace(0, total[-1], parts + 1))
    return np.unique(np.concatenate([[0], inner, [len(atoms)]])).astype(np.intp)


def _neighbourhood(boundaries: IntArray, place: int) -> IntArray:
    k = int(np.searchsorted(boundaries, place))
    low, high = boundaries[max(k - 1, 0)], boundaries[min(k + 1, len(boundaries) - 1)]
    return np.arange(low, high + 1)


def _pairs(starts: IntArray, ends: IntArray) -> Iterator[Windows]:
    """Give all windows from some starts to some ends, the empty ones once, in blocks."""
    yield Windows(np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp))
    rows = max(1, _BLOCK // len(ends))
    for first in range(0, len(starts), rows):
        some = starts[first : first + rows]
        after = np.searchsorted(ends, some, side="right")
        counts = len(ends) - after
        index = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts - after, counts)
        yield Windows(np.repeat(some, counts), ends[index])


def _most_worth(
    metric: RankingMetric, atoms: Atoms, blocks: Iterator[Windows], worth: Objective
) -> Window | None:
    best, highest = None, -np.inf
    for windows in blocks:
        if not len(windows.starts):
            continue
        values = metric.safe_values(atoms, windows)
        gain = np.nan_to_num(worth(values, windows), nan=-np.inf)
        k = int(np.argmax(gain))
        if gain[k] > highest:
            best, highest = _window(atoms, windows, k, values), float(gain[k])
    return best


def _lightest(
    metric: RankingMetric, atoms: Atoms, boundaries: IntArray, target: float
) -> tuple[Window | None, Window | None]:
    found: Window | None = None
    best: Window | None = None
    total = atoms.weight_below
    slack = WEIGHT_TOLERANCE * total[-1]
    for windows in _pairs(boundaries, boundaries):
        if found is not None:
            lighter = total[windows.ends] - total[windows.starts] <= found.weight + slack
            windows = Windows(windows.starts[lighter], windows.ends[lighter])
        if not len(windows.starts):
            continue
        values = metric.safe_values(atoms, windows)
        reached = np.flatnonzero(values >= target)
        if reached.size:
            weight = (total[windows.ends] - total[windows.starts])[reached]
            light = reached[weight <= weight.min() + slack]
            candidate = _window(atoms, windows, int(light[np.argmax(values[light])]), values)
            if found is None or _better(candidate, found, slack):
                found = candidate
        elif found is None and not np.isnan(values).all():
            candidate = _window(atoms, windows, int(np.nanargmax(values)), values)
            best = candidate if best is None or candidate.value > best.value else best
    return found, None if found is not None else best


def _better(candidate: Window, found: Window, slack: float) -> bool:
    if candidate.weight < found.weight - slack:
        return True
    return candidate.weight <= found.weight + slack and candidate.value > found.value


def _window(atoms: Atoms, windows: Windows, k: int, values: FloatArray) -> Window:
    start, end = int(windows.starts[k]), int(windows.ends[k])
    total = atoms.weight_below
    return Window(start, end, float(values[k]), float(total[end] - total[start]))


def _shortened(metric: RankingMetric, atoms: Atoms, found: Window, target: float) -> Window:
    """Lower the weight of a window as long as some window of that weight reaches the target."""
    total = atoms.weight_below
    low, high = max(0.0, found.weight - 2 * total[-1] / COARSE_BOUNDARIES), found.weight
    # Fractional weights may be as small as they like; a billionth of the total is close enough.
    step = max(float(atoms.weight.min()), 1e-9 * float(total[-1]))
    while high - low > 0.5 * step:
        middle = 0.5 * (low + high)
        windows = atoms.windows(middle)
        values = metric.safe_values(atoms, windows)
        k = int(np.argmax(np.nan_to_num(values, nan=-np.inf)))
        if values[k] >= target:
            found = _window(atoms, windows, k, values)
            high = min(found.weight, middle)
        else:
            low = middle
    return found
