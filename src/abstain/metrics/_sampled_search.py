"""What to withhold for a sampled metric: the best window of p, or the best groups of examples.

Two classes follow the paper's windows in the order of p, coarse to fine in place of all starts.
More classes follow its marginal idea, with groups of similar examples in place of single ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from abstain._inputs import FloatArray
from abstain._logs import logger
from abstain._numerics import progress_bar
from abstain.metrics._group_search import ProbabilityGroups
from abstain.metrics._sampled_labels import SampledLabels
from abstain.regions import Interval, ProbabilityBoxes
from abstain.summaries import WEIGHT_TOLERANCE

__all__ = ["SearchTime", "best_groups", "best_window", "search_time"]

# Windows compared at each of the levels from coarse to fine, and the levels at most.
_STARTS = 25
_LEVELS = 3
# Rounds in which groups are filled; the effects are estimated anew in each.
_ROUNDS = 6
# A search expected to take longer than this says so first.
_LONG_SECONDS = 60.0

_logger = logger("metrics")


@dataclass(frozen=True)
class SearchTime:
    """How much work a search is: calls of the function, and seconds in all, estimated."""

    calls: int
    seconds: float


def search_time(labels: SampledLabels, *, n_samples: int, n_groups: int) -> SearchTime:
    """Estimate the work of a search from one call of the function, after one to warm up."""
    labels.values(1, 0)
    start = time.perf_counter()
    labels.values(1, 0)
    once = time.perf_counter() - start
    binary = labels.proba.shape[1] == 2
    calls = n_samples * (_STARTS * _LEVELS if binary else n_groups * _ROUNDS)
    return SearchTime(calls=calls, seconds=calls * once)


def best_window(
    labels: SampledLabels,
    capacity: float,
    *,
    n_samples: int,
    n_groups: int,
    seed: int,
    greater_is_better: bool,
    progress: bool,
) -> Interval:
    """Return the interval of p whose withholding is best on average over label vectors."""
    values, atom = np.unique(labels.proba[:, 1], return_inverse=True)
    weight = np.bincount(atom, weights=labels.sample_weight)
    reached = np.append(0.0, np.cumsum(weight))
    # The window from each atom on: as many atoms as fit, so ties are never split.
    room = capacity + WEIGHT_TOLERANCE * float(reached[-1])
    stops = np.searchsorted(reached, reached[:-1] + room, side="right") - 1
    if weight.min() > room:
        return Interval.empty()
    low, high = 0, int(np.argmax(stops == stops.max()))
    best = low
    with _progress(labels, n_samples, n_groups, shown=progress) as advance:
        for _ in range(_LEVELS):
            starts = np.unique(np.linspace(low, high, _STARTS).round().astype(int))
            kept = [(atom < start) | (atom >= stops[start]) for start in starts]
            means = labels.means(kept, n_samples, seed, advance)
            at = _best(means, greater_is_better)
            best = int(starts[at])
            low, high = int(starts[max(at - 1, 0)]), int(starts[min(at + 1, len(starts) - 1)])
            if high - low < 2:
                break
    if stops[best] <= best:
        return Interval.empty()
    return Interval(lower=float(values[best]), upper=float(values[stops[best] - 1]))


def best_groups(
    labels: SampledLabels,
    capacity: float,
    *,
    n_samples: int,
    n_groups: int,
    seed: int,
    greater_is_better: bool,
    progress: bool,
) -> ProbabilityBoxes:
    """Return the groups whose withholding is best on average, filled greedily.

    In each round the effect of withholding each remaining group is estimated on what is kept;
    the best per weight are withheld until the round's share of the capacity is used. A group
    that does not fit the capacity is withheld in part, the least confident first.
    """
    groups = ProbabilityGroups(labels.proba, labels.sample_weight, n_groups)
    sign = 1.0 if greater_is_better else -1.0
    with _progress(labels, n_samples, n_groups, shown=progress) as advance:
        for part in range(1, _ROUNDS + 1):
            left = groups.left()
            if not left:
                break
            kept = [~groups.withheld, *map(groups.kept_without, left)]
            means = sign * labels.means(kept, n_samples, seed, advance)
            worth = (means[1:] - means[0]) / [groups.weight_of(g) for g in left]
            share = capacity * part / _ROUNDS
            for at in np.argsort(-np.nan_to_num(worth, nan=-np.inf), kind="stable"):
                if groups.total() >= share:
                    break
                groups.withhold(left[at], capacity)
    return groups.region()


def _best(means: FloatArray, greater_is_better: bool) -> int:
    """Return the first best candidate, undefined ones last."""
    oriented = means if greater_is_better else -means
    return int(np.argmax(np.nan_to_num(oriented, nan=-np.inf)))


@contextmanager
def _progress(
    labels: SampledLabels, n_samples: int, n_groups: int, *, shown: bool
) -> Iterator[Callable[[], None]]:
    """Say first when a search will be long; yield what to call after each evaluation."""
    work = search_time(labels, n_samples=n_samples, n_groups=n_groups)
    long = work.seconds > _LONG_SECONDS
    if long:
        _logger.warning(
            "The search calls the metric up to %d times, about %.0f s. Fewer n_samples are "
            "faster; progress=True shows a bar.",
            work.calls,
            work.seconds,
        )
    # Nobody should wait for minutes before a terminal that says nothing.
    show = shown or (None if long else False)
    with progress_bar(work.calls, f"about {work.seconds:.0f} s", show=show) as advance:
        yield advance
