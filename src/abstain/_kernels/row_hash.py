"""A number for each row by its entries alone: what withholding at random goes by.

The bits are mixed as SplitMix64 does (Steele, Lea and Flood, 2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray
from abstain._kernels._pieces import by_columns

STEP = np.uint64(0x9E3779B97F4A7C15)


def row_numbers(rows: FloatArray, seed: int) -> FloatArray:
    """Return a number in [0, 1) for each row and seed: equal rows share theirs."""

    def numbers(columns: FloatArray) -> Any:
        bits = np.full(columns.shape[1], seed % 2**64, dtype=np.uint64)
        for column in columns.view(np.uint64):
            bits = mixed((bits ^ column) + STEP)
        return np.multiply(bits >> np.uint64(11), 2.0**-53)

    return by_columns(numbers, rows, np.empty(len(rows)))


def mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64 well-mixed bits of each state (the finaliser of SplitMix64)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
