"""Confusion matrices of sampled labels, with a random number for each (seed, draw, row).

A draw does not depend on the order of the work or the number of threads.
"""

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._columns import columns_of, rows_at_a_time
from abstain._kernels._threads import over_rows, summed_over_rows
from abstain._kernels.counter_random import (
    Bits,
    binomial,
    child_key,
    draw_key,
    steps,
    uniform,
    uniform_at,
)

__all__ = ["confusion_draws", "label_draw", "mean_drawn_entry"]

# A row with a whole weight up to this gets so many labels; a heavier one gets binomial counts.
_MOST_SINGLE_LABELS = 64
# Labels that are drawn before they are counted.
_CELLS_AT_A_TIME = 2**20


def _reached(proba: FloatArray) -> FloatArray:
    """Return where the share of [0, 1) of each class but the last ends, a column per row."""
    columns = columns_of(proba)[:, : len(proba)]
    return np.cumsum(columns[:-1], axis=0, out=columns[:-1])


def _labels(reached: FloatArray, u: FloatArray) -> IntArray:
    """Return the class of each row whose share of [0, 1) holds u."""
    # Single bytes are added eight times as fast as whole numbers.
    narrow = np.uint8 if len(reached) < 256 else np.intp
    label: IntArray = (u >= reached).sum(axis=0, dtype=narrow).astype(np.intp)
    return label


def confusion_draws(
    proba: FloatArray, prediction: IntArray, weight: FloatArray, seed: int, first: int, last: int
) -> FloatArray:
    """Return the confusion matrix of each of the label draws ``first .. last - 1``.

    Entry (m, i, j) is the weight of rows with label i in draw m and predicted as j. A row of
    whole weight w is w independent labels, a fractional remainder one label of that weight; an
    empty ``weight`` means that every row counts once.
    """
    n, n_classes = proba.shape
    keys = draw_key(seed, np.arange(first, last))

    def counts(begin: int, end: int) -> tuple[FloatArray]:
        part, columns = proba[begin:end], prediction[begin:end]
        drawn = np.zeros((len(keys), n_classes, n_classes))
        if weight.size:
            heavy = part, columns, weight[begin:end], begin, keys
            _add_single_labels(drawn, *heavy)
            _add_binomial_counts(drawn, *heavy)
            return (drawn,)
        at_a_time = max(1, _CELLS_AT_A_TIME // max(len(part), 1))
        for m in range(0, len(keys), at_a_time):
            for draw, cells in enumerate(_cells(part, columns, begin, keys[m : m + at_a_time]), m):
                counted = np.bincount(cells, minlength=n_classes**2)
                drawn[draw] = counted.reshape(n_classes, n_classes)
        return (drawn,)

    # A partial sum has all draws; together they take no more room than the rows do.
    most = max(1, min(16, n // max(1, len(keys) * n_classes)))
    (total,) = summed_over_rows(counts, n, size=max(rows_at_a_time(n_classes), -(-n // most)))
    return total


def _cells(proba: FloatArray, prediction: IntArray, begin: int, keys: Bits) -> IntArray:
    """Return the cell of the confusion matrix of each row in some draws, (n_draws, n_rows)."""
    n, n_classes = proba.shape
    cells = np.empty((len(keys), n), dtype=np.intp)
    size = max(256, rows_at_a_time(n_classes) // len(keys))
    for start in range(0, n, size):
        part = slice(start, min(start + size, n))
        far = steps(np.arange(begin + part.start, begin + part.stop))
        u = uniform_at(keys[:, None] + far)
        cells[:, part] = _labels(_reached(proba[part])[:, None], u) * n_classes + prediction[part]
    return cells


def _add_single_labels(
    drawn: FloatArray,
    proba: FloatArray,
    prediction: IntArray,
    weight: FloatArray,
    begin: int,
    keys: Bits,
) -> None:
    """Add the labels of rows that stand for a few examples each, or for part of one."""
    n, n_classes = proba.shape
    whole = np.floor(weight)
    # A row has counter 0 for its fraction, and from 1 on one for each whole label.
    counters = np.where(whole <= _MOST_SINGLE_LABELS, whole, 0.0).astype(np.intp) + 1
    before = np.cumsum(counters) - counters
    size = rows_at_a_time(n_classes)
    edges = np.searchsorted(before, np.arange(0, before[-1] + size, size)) if n else [0]
    for first, last in zip(edges, [*edges[1:], n], strict=True):
        part = slice(int(first), int(last))
        row = np.repeat(np.arange(last - first), counters[part])
        counter = np.arange(len(row)) - (before[part] - before[part][:1])[row]
        mass = np.where(counter == 0, (weight - whole)[part][row], 1.0)
        some = np.flatnonzero(mass)
        row, far, mass = row[some], steps(counter[some]), mass[some]
        reached = _reached(proba[part])[:, row]
        column = prediction[part][row]
        for table, key in zip(drawn, keys, strict=True):
            own = child_key(key, np.arange(begin + part.start, begin + part.stop))
            cell = _labels(reached, uniform_at(own[row] + far)) * n_classes + column
            _add_at(table, cell, mass)


def _add_at(table: FloatArray, cell: IntArray, mass: FloatArray) -> None:
    """Add masses to the cells of a matrix."""
    if table.size > len(cell):
        np.add.at(table.reshape(-1), cell, mass)
    else:
        table += np.bincount(cell, mass, table.size).reshape(table.shape)


def _add_binomial_counts(
    drawn: FloatArray,
    proba: FloatArray,
    prediction: IntArray,
    weight: FloatArray,
    begin: int,
    keys: Bits,
) -> None:
    """Add the labels of rows that stand for many examples each, class by class."""
    many = np.flatnonzero(np.floor(weight) > _MOST_SINGLE_LABELS)
    if not len(many):
        return
    n_classes = proba.shape[1]
    columns, rows = columns_of(proba[many])[:, : len(many)], begin + many
    for table, key in zip(drawn, keys, strict=True):
        own = child_key(key, rows)
        left, mass = np.floor(weight[many]), np.ones(len(many))
        for i, p in enumerate(columns[:-1]):
            share = np.minimum(np.divide(p, mass, out=np.zeros_like(p), where=mass > 0), 1.0)
            count = binomial(left, share, child_key(own, i + 1))
            table[i] += np.bincount(prediction[many], count, n_classes)
            left -= count
            mass -= p
        table[-1] += np.bincount(prediction[many], left, n_classes)


def label_draw(proba: FloatArray, seed: int, draw: int) -> IntArray:
    """Return the labels of one draw, the same that ``confusion_draws`` counts at weight 1."""
    labels = np.empty(len(proba), dtype=np.intp)
    key = draw_key(seed, draw)

    def fill(begin: int, end: int) -> None:
        u = uniform(key, np.arange(begin, end))
        labels[begin:end] = _labels(_reached(proba[begin:end]), u)

    over_rows(fill, len(proba), size=rows_at_a_time(proba.shape[1]))
    return labels


def mean_drawn_entry(
    proba: FloatArray, prediction: IntArray, tables: FloatArray, seed: int
) -> FloatArray:
    """Return for every row x the mean over draws m of ``tables[m, label of x, prediction[x]]``."""
    n, n_classes = proba.shape
    keys = draw_key(seed, np.arange(len(tables)))
    flat = tables.reshape(len(tables), -1)
    mean = np.zeros(n)

    def fill(begin: int, end: int) -> None:
        columns, reached = prediction[begin:end], _reached(proba[begin:end])
        far = steps(np.arange(begin, end))
        for key, table in zip(keys, flat, strict=True):
            cell = _labels(reached, uniform_at(key + far)) * n_classes
            cell += columns
            mean[begin:end] += np.take(table, cell)
        mean[begin:end] /= len(tables)

    over_rows(fill, n, size=rows_at_a_time(n_classes))
    return mean
