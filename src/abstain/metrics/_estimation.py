"""How a ranking metric is estimated: the options that all of them take, and averages over labels.

The loop over M sampled label vectors of the paper's Algorithms 1 and 2, and the smoothing of its
Appendix B.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypedDict, get_args

import numpy as np

from abstain._inputs import MOST_SAMPLES, FloatArray, check_whole, is_whole, shown
from abstain._kernels._pieces import n_threads
from abstain._kernels.atoms import drawn_positives
from abstain._schema import Either, Keys, ListOf, OneOf, Whole
from abstain.summaries import Atoms

Method = Literal["deterministic", "sampled"]

#: The finest bins of p: of more, an empty bin for every row would take the memory.
MOST_BINS = 2**22
# The widest window and the highest order of a filter over window values.
_WIDEST = 10_001
_HIGHEST = 20
# Labels held in memory at a time, and how many atoms make a thread worth its while.
LABELS_AT_A_TIME = 2**23
WORTH_A_THREAD = 4096


#: What a policy file holds of the options.
ESTIMATION_KEYS: Keys = {
    "method?": OneOf(*get_args(Method)),
    "n_samples?": Whole(1, MOST_SAMPLES),
    "smoothing?": Either(null=None, list=ListOf(Whole(1, 9_999), Whole(0, 9_998))),
    "random_state?": Either(null=None, number=Whole(0, 2**63 - 1)),
    "bins?": Either(null=None, number=Whole(2, 2**24), text=OneOf("auto")),
}


class Estimation(TypedDict, total=False):
    """The options of :class:`RankingMetric`, which all ranking metrics take."""

    method: Method
    n_samples: int
    smoothing: tuple[int, int] | None
    random_state: int
    bins: int | Literal["auto"] | None


def check_estimation(metric: Any) -> None:
    """Refuse options of a ranking metric that mean nothing, and say what would."""
    smoothing, bins = metric.smoothing, metric.bins
    check_method(metric.method, metric.n_samples)
    if smoothing is not None and not _is_filter(smoothing):
        raise ValueError(
            f"`smoothing` must be (odd window, order below it), such as (11, 1), or None; the "
            f"window at most {_WIDEST:,} and the order {_HIGHEST}; got {shown(smoothing)}."
        )
    if bins is None or (isinstance(bins, str) and bins == "auto"):
        return
    if not is_whole(bins) or not 2 <= bins <= MOST_BINS or bins & (bins - 1):
        raise ValueError(
            f"`bins` must be a power of two, such as 65536 and at most {MOST_BINS:,}, None or "
            f'"auto"; got {shown(bins)}.'
        )


def check_method(method: str, n_samples: int) -> None:
    """Raise for a way to estimate of no such name, or a number of samples that cannot be."""
    if method not in get_args(Method):
        raise ValueError(f'`method` must be "deterministic" or "sampled"; got {method!r}.')
    check_whole(n_samples, name="n_samples", most=MOST_SAMPLES)


def _is_filter(smoothing: Any) -> bool:
    """Tell whether something is the window and the order of a filter."""
    if not isinstance(smoothing, tuple | list) or len(smoothing) != 2:
        return False
    window, order = smoothing
    if not (is_whole(window) and is_whole(order)):
        return False
    return bool(window % 2 == 1 and 0 <= order < window <= _WIDEST and order <= _HIGHEST)


def average_over_labels(
    values: Callable[[Atoms], FloatArray], atoms: Atoms, *, n_samples: int, seed: int
) -> FloatArray:
    """Return the mean of some values over label vectors drawn from the atoms' probabilities.

    A value that is undefined (NaN) under some labels is averaged over the others. Samples are
    spread over threads and added in their order, so the result does not depend on how many.
    """
    p = atoms.positive / atoms.weight
    total: FloatArray | float = 0.0
    defined: FloatArray | float = 0.0
    block = max(8, LABELS_AT_A_TIME // len(atoms))
    with ThreadPoolExecutor(n_threads()) as threads:
        run = threads.map if len(atoms) >= WORTH_A_THREAD else map
        for first in range(0, n_samples, block):
            count = min(block, n_samples - first)
            positives = drawn_positives(atoms.weight, p, first, count, seed)
            for value in run(values, map(atoms.relabelled, positives)):
                known = ~np.isnan(value)
                total = total + np.where(known, value, 0.0)
                defined = defined + known
    with np.errstate(invalid="ignore"):
        mean: FloatArray = np.asarray(total / defined)
    return mean


def smoothed(values: FloatArray, smoothing: tuple[int, int] | None) -> FloatArray:
    """Return the values after a Savitzky-Golay filter of (window, order), as in Appendix B."""
    if smoothing is None:
        return values
    from scipy.signal import savgol_filter

    return np.asarray(savgol_filter(values, *smoothing, mode="nearest"))
