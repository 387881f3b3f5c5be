"""What is drawn for rows: labels of any number of classes with their confusion matrices, a number.

Each draw has a generator of its own, so that it is the same however many there are. The number of
a row, which withholding at random goes by, is of its entries alone; its bits are mixed as
SplitMix64 does (Steele, Lea and Flood, 2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._pieces import by_columns, columns_of, over_rows, summed_over_rows
from abstain._kernels.atoms import generator, labels_of

# Partial sums over draws that are held at a time.
_PARTS = 8
# This many labels are drawn at a time: fewer are not worth a thread.
_LABELS_AT_A_TIME = 2**14
STEP = np.uint64(0x9E3779B97F4A7C15)


def label_draw(proba: FloatArray, seed: int, draw: int) -> IntArray:
    """Return the labels of one draw, the same that ``confusion_draws`` counts at weight 1."""
    return _labels(_reached(proba), generator(seed, draw))


def confusion_draws(
    proba: FloatArray, prediction: IntArray, weight: FloatArray, seed: int, first: int, last: int
) -> FloatArray:
    """Return the confusion matrix of each of the label draws ``first .. last - 1``.

    Entry (m, i, j) is the weight of rows with label i in draw m and predicted as j. A row of
    whole weight w is w independent labels, a fractional remainder one label of that weight; an
    empty ``weight`` means that every row counts once.
    """
    n_classes = proba.shape[1]
    reached = _reached(proba)
    whole, rest = labels_of(weight)
    n_labels = whole.astype(np.int64)
    drawn = np.empty((last - first, n_classes, n_classes))

    def fill(begin: int, end: int) -> None:
        for draw in range(begin, end):
            rng = generator(seed, first + draw)
            if not weight.size:
                drawn[draw] = _counted(_labels(reached, rng), prediction, n_classes)
                continue
            # What rounding leaves of a row's sum goes to its last class.
            counts = rng.multinomial(n_labels, proba / np.maximum(proba.sum(axis=1), 1)[:, None])
            table = [np.bincount(prediction, column, n_classes) for column in counts.T]
            drawn[draw] = np.stack(table)
            if rest.any():
                drawn[draw] += _counted(_labels(reached, rng), prediction, n_classes, rest)

    over_rows(fill, last - first, size=max(1, _LABELS_AT_A_TIME // max(len(proba), 1)))
    return drawn


def mean_drawn_entry(
    proba: FloatArray, prediction: IntArray, tables: FloatArray, seed: int
) -> FloatArray:
    """Return for every row x the mean over draws m of ``tables[m, label of x, prediction[x]]``."""
    reached = _reached(proba)

    def entries(begin: int, end: int) -> tuple[FloatArray]:
        total = np.zeros(len(proba))
        for draw in range(begin, end):
            total += tables[draw][_labels(reached, generator(seed, draw)), prediction]
        return (total,)

    (total,) = summed_over_rows(entries, len(tables), size=1, most_blocks=_PARTS)
    return total / len(tables)


def _reached(proba: FloatArray) -> FloatArray:
    """Return where the share of [0, 1) of each class but the last ends, a column per row."""
    columns = columns_of(proba)[:, : len(proba)]
    return np.cumsum(columns[:-1], axis=0, out=columns[:-1])


def _labels(reached: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw the class of each row: the one whose share of [0, 1) holds a random number."""
    n = reached.shape[1]
    u, label = rng.random(n), np.zeros(n, dtype=np.intp)
    for edge in reached:
        label += u >= edge
    return label


def _counted(
    labels: IntArray, prediction: IntArray, n_classes: int, weight: FloatArray | None = None
) -> FloatArray:
    cells = np.bincount(labels * n_classes + prediction, weight, n_classes**2)
    return cells.reshape(n_classes, n_classes).astype(np.float64)


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
