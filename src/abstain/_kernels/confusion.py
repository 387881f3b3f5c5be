"""Loops over examples for confusion metrics: gains of rows, best classes, expected confusion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._kernels._pieces import (
    by_columns,
    columns_of,
    filled,
    rows_at_a_time,
    summed_over_rows,
)
from abstain._numerics import ROUNDING

# Up to this many classes a product with their indicators is faster than sorting by class.
_FEW_CLASSES = 16
# Rows that are put in groups come in larger pieces, because a piece is cut by every group.
_GROUPED = 2


def linear_gain(proba: FloatArray, prediction: IntArray, gains: FloatArray) -> FloatArray:
    """Return ``sum_i proba[x, i] * gains[i, prediction[x]]`` for every row x.

    One row is one fixed sequence of additions, so a row scores the same alone as in a batch.
    """
    of_prediction = np.ascontiguousarray(gains.T)

    def gain(rows: FloatArray, columns: IntArray) -> Any:
        products = np.take(of_prediction, columns, axis=0)
        products *= rows
        return columns_of(products).sum(axis=0)[: len(rows)]

    size = rows_at_a_time(proba.shape[1])
    return filled(np.empty(len(proba)), gain, proba, prediction, size=size)


def highest_columns(proba: FloatArray) -> IntArray:
    """Return the column of the largest entry of every row, the first of equals."""
    columns, size = np.empty(len(proba), dtype=np.intp), rows_at_a_time(proba.shape[1])
    return filled(columns, lambda rows: rows.argmax(axis=1), proba, size=size)


def best_gain(proba: FloatArray, gains: FloatArray) -> IntArray:
    """Return the column j with the largest ``sum_i proba[x, i] * gains[i, j]`` for every row x.

    The first of those that differ by rounding alone.
    """

    def best(columns: FloatArray) -> Any:
        # Not by BLAS, whose order of additions depends on how many rows there are.
        totals = np.einsum("ij,ix->jx", gains, columns)
        highest = totals.max(axis=0)
        lower = totals < highest - ROUNDING * np.abs(highest)
        # The number of columns before one that is as high; NumPy's argmax would turn the array.
        np.logical_and.accumulate(lower, axis=0, out=lower)
        return lower.sum(axis=0, dtype=np.uint8 if len(lower) < 256 else np.intp)

    return by_columns(best, proba, np.empty(len(proba), dtype=np.intp))


def expected_confusion(
    proba: FloatArray, prediction: IntArray, weight: FloatArray, kept: NDArray[np.bool_]
) -> FloatArray:
    """Return C[i, j], the expected weight of kept rows of true class i predicted as j.

    An empty ``weight`` means that every row counts once, an empty ``kept`` that all are kept.
    """
    n_classes = proba.shape[1]
    everyone = np.arange(n_classes)[:, None]

    def confusion(begin: int, end: int) -> tuple[FloatArray]:
        rows, columns, counts = proba[begin:end], prediction[begin:end], weight[begin:end]
        chosen = kept[begin:end]
        if n_classes <= _FEW_CLASSES:
            member = (columns == everyone).astype(np.float64)
            for factor in (counts, chosen):
                if factor.size:
                    member *= factor
            return (member @ rows,)
        if chosen.size:
            counts = np.where(chosen, counts if counts.size else 1.0, 0.0)
        by_column = np.zeros((n_classes, n_classes))
        order, first, present = _grouped(columns, n_classes)
        rows = np.take(rows, order, axis=0)
        if counts.size:
            rows *= np.take(counts, order)[:, None]
        by_column[present] = np.add.reduceat(rows, first, axis=0)
        return (by_column,)

    (total,) = summed_over_rows(
        confusion,
        len(proba),
        size=rows_at_a_time(n_classes),
        # Never more room for partial sums than a quarter of the input takes.
        most_blocks=max(1, min(64, len(proba) // (4 * n_classes))),
    )
    return np.ascontiguousarray(total.T)


def _grouped(codes: IntArray, n_codes: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return an order that brings equal codes together, where each run begins, and its code."""
    # Short numbers are sorted by counting.
    narrow = codes.astype(np.uint8 if n_codes <= 256 else np.uint16)
    counts = np.bincount(codes, minlength=n_codes)
    present = np.flatnonzero(counts)
    return np.argsort(narrow, kind="stable"), (np.cumsum(counts) - counts)[present], present


def confusion_moments(
    proba: FloatArray, prediction: IntArray, weight: FloatArray, withheld: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Return first and second moments of the labels' indicators, by prediction.

    ``sums[g, i, j]`` is the weight of true class i among rows predicted as j, kept (g = 0) or
    withheld (g = 1). ``squares[g, j]`` is the matrix of ``sum weight * p p'`` over the same
    rows: at unit weights a column j of the drawn confusion has covariance
    ``diag(sums[g, :, j]) - squares[g, j]``. An empty ``weight`` counts every row once.
    """
    n, n_classes = proba.shape
    n_groups = 2 * n_classes

    def moments(begin: int, end: int) -> tuple[FloatArray, FloatArray]:
        sums = np.zeros((n_groups, n_classes))
        squares = np.zeros((n_groups, n_classes, n_classes))
        codes = prediction[begin:end] + n_classes * withheld[begin:end]
        order, first, present = _grouped(codes, n_groups)
        rows = np.take(proba[begin:end], order, axis=0)
        counts = np.take(weight[begin:end], order) if weight.size else np.empty(0)
        last = np.append(first[1:], end - begin)
        for group, start, stop in zip(present, first, last, strict=True):
            members = rows[start:stop]
            if weight.size:
                own = counts[start:stop]
                sums[group] = own @ members
                members = members * np.sqrt(own)[:, None]
            else:
                sums[group] = members.sum(axis=0)
            squares[group] = members.T @ members
        return sums, squares

    sums, squares = summed_over_rows(
        moments,
        n,
        size=_GROUPED * rows_at_a_time(n_classes),
        most_blocks=max(1, min(64, n // (8 * n_classes**2))),
    )
    sums = sums.reshape(2, n_classes, n_classes).transpose(0, 2, 1).copy()
    return sums, squares.reshape(2, n_classes, n_classes, n_classes)


def top_share(proba: FloatArray, k: int) -> FloatArray:
    """Return the sum of the k largest entries of every row, added from the largest down."""
    n, n_classes = proba.shape
    most = min(k, n_classes)

    def share(rows: FloatArray) -> Any:
        if most == 1:
            return np.asarray(rows.max(axis=1))
        largest = columns_of(np.sort(rows, axis=1)[:, : -most - 1 : -1])
        return largest.sum(axis=0)[: len(rows)]

    return filled(np.empty(n), share, proba, size=rows_at_a_time(n_classes))
