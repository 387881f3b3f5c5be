"""The loop that sums probabilities of two classes in bins, in whole numbers.

Whole numbers add up to the same in any order, so sums of parts are those of everything, to the
last bit. Bins are equally wide in the middle and ever narrower towards 0 and 1, where the rows of
a rare class are.
"""

from __future__ import annotations

import math

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._jit import compiled

# Bins of one half of [0, 1], by the distance q from its end: of equal width from 2**-7 on, and so
# many to each halving of q below, down to 2**-40.
_EQUAL = 2.0**17
_PER_HALVING = 1024
_NEAR = 2.0**-7
_NEAREST = 2.0**-40
_HALVINGS = 33
_LOGARITHMIC = 1 + _HALVINGS * _PER_HALVING
_ONE_SIDE = _LOGARITHMIC + 2**16 - _PER_HALVING

#: How many bins there are.
N_BINS = 2 * _ONE_SIDE
#: Into how many steps a bin is divided, for the sum of what lies in it.
PARTS = 2**20
#: Bits of what is greater than all probabilities.
INFINITE = int(np.float64(np.inf).view(np.int64))


def bin_edges() -> tuple[FloatArray, FloatArray]:
    """Return where each bin of the lower half begins, and how wide it is."""
    halving = 2.0 ** np.arange(-40, -7)
    step = np.arange(_PER_HALVING) / _PER_HALVING
    near = (halving[:, None] * (1 + step)).ravel()
    begin = np.concatenate([[0.0], near, np.arange(_PER_HALVING, 2**16) / _EQUAL])
    return begin, np.diff(begin, append=0.5)


@compiled("float64[::1], int64[::1], int64[::1], int64[::1], int64[:, ::1]")
def _add_rows(
    p: FloatArray, bits: IntArray, whole: IntArray, part: IntArray, cells: IntArray
) -> None:
    weighted = len(whole) > 0
    for i in range(len(p)):
        x = p[i]
        above = x >= 0.5
        q = 1.0 - x if above else x
        if q >= _NEAR:
            place = q * _EQUAL
            inside = min(int(place), 65_535)
            k = inside - _PER_HALVING + _LOGARITHMIC
        elif q >= _NEAREST:
            mantissa, exponent = math.frexp(q)
            place = (2.0 * mantissa - 1.0) * _PER_HALVING
            inside = int(place)
            k = 1 + (exponent + 39) * _PER_HALVING + inside
        else:
            place = q / _NEAREST
            inside = 0
            k = 0
        # Rounded so that the mean of equal rows is never above them.
        rest = int((place - inside) * PARTS)
        if above:
            k = 2 * _ONE_SIDE - 1 - k
            if rest < (place - inside) * PARTS:
                rest += 1
        if weighted:
            if whole[i] == 0 and part[i] == 0:
                continue
            cells[k, 0] += whole[i]
            cells[k, 1] += whole[i] * rest
            cells[k, 4] += part[i]
            cells[k, 5] += part[i] * rest
        else:
            cells[k, 0] += 1
            cells[k, 1] += rest
        # No probability is negative, so their bits are in their order; but for a negative zero.
        end = bits[i] if x > 0.0 else 0
        if end < cells[k, 2]:
            cells[k, 2] = end
        if end > cells[k, 3]:
            cells[k, 3] = end


@compiled("int64[:, ::1], int64[:, ::1]")
def merge_cells(cells: IntArray, other: IntArray) -> None:
    """Add other cells to some, in place."""
    for k in range(len(cells)):
        if other[k, 3] < 0:
            continue
        cells[k, 0] += other[k, 0]
        cells[k, 1] += other[k, 1]
        cells[k, 2] = min(cells[k, 2], other[k, 2])
        cells[k, 3] = max(cells[k, 3], other[k, 3])
        for j in range(4, other.shape[1]):
            cells[k, j] += other[k, j]


@compiled("int64[:, ::1], int64[::1], int64[::1], int64[:, ::1]")
def _gather_cells(cells: IntArray, at: IntArray, columns: IntArray, out: IntArray) -> None:
    for i in range(len(at)):
        for j in range(len(columns)):
            out[j, i] = cells[at[i], columns[j]]


def gather_cells(cells: IntArray, at: IntArray, columns: IntArray) -> IntArray:
    """Return some columns of some cells, each in a row."""
    out: IntArray = np.empty((len(columns), len(at)), dtype=np.int64)
    _gather_cells(cells, at, columns, out)
    return out


@compiled("int64[::1], int64[:, ::1], float64[:, ::1], float64[::1], int64, int64[:, ::1]")
def _place_cells(
    at: IntArray, sums: IntArray, ends: FloatArray, edges: FloatArray, unit: int, cells: IntArray
) -> int:
    last = -1
    for i in range(len(at)):
        k, low, high = at[i], ends[0, i], ends[1, i]
        if k <= last or k >= len(cells):
            return 1
        last = k
        if not (0.0 <= low <= high <= 1.0 and edges[k] <= low and high <= edges[k + 1]):
            return 2
        whole, steps = sums[0, i], sums[1, i]
        if whole < 0 or whole >= 2**42 or steps < 0:
            return 3
        if len(sums) == 2:
            if whole == 0 or steps > whole * PARTS:
                return 3
        else:
            part, rest = sums[2, i], sums[3, i]
            if not (0 <= part < unit and 0 <= rest < unit) or steps > (whole + 1) * PARTS:
                return 3
            cells[k, 4], cells[k, 5] = part, rest
        cells[k, 0], cells[k, 1] = whole, steps
    return 0


def place_cells(
    at: IntArray, sums: IntArray, ends: FloatArray, edges: FloatArray, unit: int, cells: IntArray
) -> int:
    """Put sums and ends of bins into their cells, unless no rows can have them.

    Returns
    -------
    int
        0; 1 if the bins are no ascending numbers of bins; 2 if ends are not those of rows in the
        bin; 3 if sums cannot be.
    """
    found = _place_cells(at, sums, ends, edges, unit, cells)
    if not found:
        cells[at, 2:4] = (ends.T + 0.0).view(np.int64)
    return found


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
    _add_rows(p, p.view(np.int64), whole, part, cells)
