"""Sums of products between all pairs of columns, which Hessians are made of."""

from abstain._inputs import FloatArray
from abstain._kernels._jit import compiled, compiled_reordering

__all__ = ["add_gram", "rows_at_a_time"]


@compiled
def rows_at_a_time(n_columns: int) -> int:
    """Return of how many rows the columns are multiplied at a time: they stay in near cache."""
    return max(64, min(512, 4096 // n_columns))


@compiled_reordering
def add_gram(matrix: FloatArray, columns: FloatArray, sign: float) -> None:
    """Add ``sign * columns @ columns.T`` to the upper triangle of the matrix.

    ``columns[i]`` has one entry per row of the data. Four products at a time read the first
    factor once.
    """
    k, n = columns.shape
    for i in range(k):
        a = columns[i]
        j = i
        while j + 4 <= k:
            b, c, d, e = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
            first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
            for x in range(n):
                first += a[x] * b[x]
                second += a[x] * c[x]
                third += a[x] * d[x]
                fourth += a[x] * e[x]
            matrix[i, j] += sign * first
            matrix[i, j + 1] += sign * second
            matrix[i, j + 2] += sign * third
            matrix[i, j + 3] += sign * fourth
            j += 4
        while j < k:
            b = columns[j]
            total = 0.0
            for x in range(n):
                total += a[x] * b[x]
            matrix[i, j] += sign * total
            j += 1
