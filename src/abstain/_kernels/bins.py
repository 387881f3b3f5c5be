"""The loop that sums probabilities of two classes in bins, in whole numbers.

Whole numbers add up to the same in any order, so sums of parts are those of everything, to the
last bit. Bins are equally wide in the middle and ever narrower towards 0 and 1, where the rows of
a rare class are.
"""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray, IntArray, Mask

#: Bins of one half of [0, 1], by the distance q from its end: of equal width from 2**-7 on, and so
#: many to each halving of q below, down to 2**-40.
EQUAL = 2.0**17
PER_HALVING = 1024
NEAR = 2.0**-7
NEAREST = 2.0**-40
_HALVINGS = 33
LOGARITHMIC = 1 + _HALVINGS * PER_HALVING
ONE_SIDE = LOGARITHMIC + 2**16 - PER_HALVING
_STEP_BITS = 20

#: How many bins there are.
N_BINS = 2 * ONE_SIDE
#: Into how many steps a bin is divided, for the sum of what lies in it.
PARTS = 2**_STEP_BITS
#: Bits of what is greater than all probabilities.
INFINITE = int(np.float64(np.inf).view(np.int64))

_STEPS = EQUAL * PARTS
# Of the 52 bits of a number within its halving, those behind the ten that name the bin; and what
# is before the first bin of all but the nearest.
_BIN_BITS = 42
_BITS_BEFORE = (1023 - 40) * PER_HALVING - 1
# Rows at a time: few enough that all there is of them stays in near memory.
_AT_A_TIME = 16_384


def bin_edges() -> tuple[FloatArray, FloatArray]:
    """Return where each bin of the lower half begins, and how wide it is."""
    halving = 2.0 ** np.arange(-40, -7)
    step = np.arange(PER_HALVING) / PER_HALVING
    near = (halving[:, None] * (1 + step)).ravel()
    begin = np.concatenate([[0.0], near, np.arange(PER_HALVING, 2**16) / EQUAL])
    return begin, np.diff(begin, append=0.5)


def places(p: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the bin of each probability, and its steps into the bin from the outer edge.

    Steps are rounded so that the mean of equal rows is never above them.
    """
    above = p >= 0.5
    # The distance from the end, negative for the upper half: all of this is exact.
    apart = (p - above) * _STEPS
    steps = np.abs(np.floor(apart)).astype(np.int64)
    inside = np.minimum(np.abs(apart).astype(np.int64) >> _STEP_BITS, 2**16 - 1)
    steps -= inside << _STEP_BITS
    bins = inside + (LOGARITHMIC - PER_HALVING)
    near = np.flatnonzero(bins < LOGARITHMIC)
    if len(near):
        bins[near], steps[near] = _near_places(p[near], above[near])
    np.subtract(N_BINS - 1, bins, out=bins, where=above)
    return bins, steps


def _near_places(p: FloatArray, above: Mask) -> tuple[IntArray, IntArray]:
    """Return the bins, counted from the end, and the steps of rows near an end.

    The bits of a number are the number of its halving, its bin in there, and the rest.
    """
    q = np.where(above, 1.0 - p, p) + 0.0
    bits = q.view(np.int64)
    bins = (bits >> _BIN_BITS) - _BITS_BEFORE
    steps = (bits >> (_BIN_BITS - _STEP_BITS)) & (PARTS - 1)
    left = bits & (2 ** (_BIN_BITS - _STEP_BITS) - 1) > 0
    nearest = bins < 1
    place = q[nearest] * (PARTS / NEAREST)
    bins[nearest], steps[nearest] = 0, place.astype(np.int64)
    left[nearest] = place > steps[nearest]
    steps += left & above
    return bins, steps


def merge_cells(cells: IntArray, other: IntArray) -> None:
    """Add other cells to some, in place."""
    sums = np.r_[0, 1, 4 : other.shape[1]]
    cells[:, sums] += other[:, sums]
    np.minimum(cells[:, 2], other[:, 2], out=cells[:, 2])
    np.maximum(cells[:, 3], other[:, 3], out=cells[:, 3])


def empty_cells(*, weighted: bool) -> IntArray:
    """Return the cells of no rows, one for each bin.

    Beside each other in memory stands what one row changes: the weight, the weight times the steps
    into the bin from its outer edge, the bits of the least and of the greatest probability; and
    where there are weights, the first two of what is left of them beside whole numbers.
    """
    cells = np.zeros((N_BINS, 6 if weighted else 4), dtype=np.int64)
    cells[:, 2] = INFINITE
    cells[:, 3] = -1
    return cells


def add_to_cells(p: FloatArray, whole: IntArray, part: IntArray, cells: IntArray) -> None:
    """Add rows to the cells of their bins, in place.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Probabilities.
    whole, part : ndarray of int, shape (n,) or empty
        Their weights, as whole numbers and what is left; empty for once each.
    cells : ndarray of int, shape (N_BINS, 4 or 6)
        As ``empty_cells`` makes them.
    """
    for begin in range(0, len(p), _AT_A_TIME):
        rows = slice(begin, begin + _AT_A_TIME)
        _add_some(p[rows], whole[rows], part[rows], cells)


def _add_some(p: FloatArray, whole: IntArray, part: IntArray, cells: IntArray) -> None:
    if whole.size:
        counts = (whole > 0) | (part > 0)
        p, whole, part = p[counts], whole[counts], part[counts]
    bins, steps = places(p)
    if whole.size:
        np.add.at(cells[:, 4], bins, part)
        np.add.at(cells[:, 5], bins, part * steps)
        steps *= whole
    np.add.at(cells[:, 0], bins, whole if whole.size else 1)
    np.add.at(cells[:, 1], bins, steps)
    # No probability is negative, so their bits are in their order; but for a negative zero.
    bits = (p + 0.0).view(np.int64)
    np.minimum.at(cells[:, 2], bins, bits)
    np.maximum.at(cells[:, 3], bins, bits)
