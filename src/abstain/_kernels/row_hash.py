"""A number for each row by its entries alone: what withholding at random goes by.

The bits are mixed as SplitMix64 does (Steele, Lea and Flood, 2014).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray
from abstain._kernels._pieces import columns_of, over_rows, rows_at_a_time

STEP = np.uint64(0x9E3779B97F4A7C15)


def row_numbers(rows: FloatArray, seed: int) -> FloatArray:
    """Return a number in [0, 1) for each row and seed: equal rows share theirs."""
    numbers = np.empty(len(rows))

    def fill(begin: int, end: int) -> None:
        columns = columns_of(rows[begin:end]).view(np.uint64)
        bits = np.full(columns.shape[1], seed % 2**64, dtype=np.uint64)
        for column in columns:
            bits = mixed((bits ^ column) + STEP)
        numbers[begin:end] = (bits >> np.uint64(11))[: end - begin] * 2.0**-53

    over_rows(fill, len(rows), size=rows_at_a_time(rows.shape[1]))
    return numbers


def mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64 well-mixed bits of each state (the finaliser of SplitMix64)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
