"""Weights as whole numbers: sums of them are the same in any order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from abstain._inputs import FloatArray, IntArray

#: What is left of a weight beside a whole number is kept in units of one over this.
UNIT = 2**20
#: The weights between which all but no weight at all must be.
SMALLEST, LARGEST = 1e-3, 1e6


class FixedWeights(NamedTuple):
    """Weights as whole numbers, and what is left of them in units of ``1 / UNIT``."""

    whole: IntArray
    part: IntArray

    @classmethod
    def of(cls, weight: FloatArray) -> FixedWeights:
        """Return checked weights so.

        Raises
        ------
        ValueError
            If one is too small or too large.
        """
        off = (weight != 0) & ((weight < SMALLEST) | (weight > LARGEST))
        if off.any():
            row = int(np.argmax(off))
            raise ValueError(
                f"`sample_weight` of rows that are summarised must be 0, or from {SMALLEST:g} to "
                f"{LARGEST:g}; {int(off.sum())} of {len(weight)} are not, first is row {row} "
                f"({weight[row]:g}). Multiply all weights by one number: their ratios decide."
            )
        units = np.rint(weight * UNIT).astype(np.int64)
        return cls(units // UNIT, units % UNIT)

    @property
    def values(self) -> FloatArray:
        """The weights as they are kept."""
        return self.whole + self.part / UNIT

    @property
    def total(self) -> int:
        """The sum, in units of ``1 / UNIT``."""
        return int(self.whole.sum()) * UNIT + int(self.part.sum())


def carried(sums: IntArray) -> None:
    """Carry what is left over to the whole numbers, in place; the second half is what is left."""
    half = len(sums) // 2
    sums[:half] += sums[half:] // UNIT
    sums[half:] %= UNIT
