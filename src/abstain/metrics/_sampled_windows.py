"""Averages over sampled label vectors: how the paper estimates a metric after abstention.

The loop over M samples of its Algorithms 1 and 2, and the smoothing of Appendix B.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from abstain._inputs import FloatArray
from abstain._kernels._threads import n_threads
from abstain._kernels.atom_labels import drawn_positives
from abstain.summaries import Atoms

__all__ = ["average_over_labels", "smoothed"]

# Labels held in memory at a time, and how many atoms make a thread worth its while.
LABELS_AT_A_TIME = 2**23
WORTH_A_THREAD = 4096


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

    result: FloatArray = savgol_filter(values, *smoothing, mode="nearest")
    return result
