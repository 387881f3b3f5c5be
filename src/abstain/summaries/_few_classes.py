"""Rows of many classes as a policy keeps them: the classes that have nearly all, one by one.

What a row has beside these is spread over its other classes as all rows have it on average. So
a file holds a few numbers for each row, and no row has to be left out for want of room.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain._schema import Keys, Numbers, proportions

# What the other classes of a row may have on average: where there is room, and at most.
_WANTED, _ALLOWED = 0.001, 0.01
# A class is written with its column; more than this share of them are no shorter than all.
_MOST_OF_ALL = 0.7
_SOME_ROWS = 1_024
_TINY = 1e-12
_NEARLY = 1e-6

#: What a policy file holds of such rows.
FEW: Keys = {
    "columns": Numbers(("rows", "likely"), low=0, below="classes", whole=True),
    "values": Numbers(("rows", "likely"), low=0, high=1),
    "rest": proportions("classes"),
}


def how_few(proba: FloatArray, room: int) -> int:
    """Return how many classes of each row are kept, where so many numbers may be; or all."""
    n, k = proba.shape
    some = -np.sort(-proba[:: max(n // _SOME_ROWS, 1)], axis=1)
    left = 1 - np.cumsum(some, axis=1).mean(axis=0)
    wanted, least = (
        int(np.argmax(np.append(left, 0.0) <= most)) + 1 for most in (_WANTED, _ALLOWED)
    )
    found = int(np.clip(room // n, least, wanted))
    fewest = int(_MOST_OF_ALL * k)
    if found > fewest >= least and n * k > room:
        return fewest
    return found if found <= fewest else k


class FewClasses(NamedTuple):
    """Which classes of each row are kept, and how the others share what is left.

    Attributes
    ----------
    columns : ndarray of shape (n, n_likely)
    rest : ndarray of shape (n_classes,)
        Sums to 1.
    """

    columns: IntArray
    rest: FloatArray

    @classmethod
    def of(cls, proba: FloatArray, codes: IntArray, few: int) -> Self:
        """Keep the class and the most probable others of each row, in the order of the columns."""
        k, left = proba.shape[1], proba.copy()
        np.put_along_axis(left, codes[:, None], np.inf, axis=1)
        columns = np.sort(np.argpartition(left, k - few, axis=1)[:, k - few :], axis=1)
        np.put_along_axis(left, columns, 0.0, axis=1)
        rest = left.sum(axis=0) + _TINY
        return cls(columns, rest / rest.sum())

    def values(self, proba: FloatArray) -> FloatArray:
        """Return the probabilities that are kept."""
        return np.take_along_axis(proba, self.columns, axis=1)

    def whole(self, values: FloatArray) -> FloatArray:
        """Return all probabilities of rows, from those that were kept."""
        proba = np.tile(self.rest, (len(values), 1))
        np.put_along_axis(proba, self.columns, 0.0, axis=1)
        left = np.maximum(1 - values.sum(axis=1), 0.0) / np.maximum(proba.sum(axis=1), _TINY)
        proba *= left[:, None]
        np.put_along_axis(proba, self.columns, values, axis=1)
        return proba

    def to_dict(self, proba: FloatArray) -> dict[str, object]:
        """Return rows as plain data."""
        return {
            "columns": self.columns.tolist(),
            "values": self.values(proba).tolist(),
            "rest": self.rest.tolist(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, FloatArray], n_rows: int) -> tuple[FloatArray, Self]:
        """Return the rows that ``to_dict`` described, and which classes were kept of them."""
        few = cls(np.asarray(data["columns"], dtype=np.intp), np.asarray(data["rest"]))
        if len(few.columns) != n_rows:
            raise ValueError("`source.proba.columns` must have a row for each of `source.label`")
        proba = few.whole(np.asarray(data["values"], dtype=np.float64))
        if not np.abs(proba.sum(axis=1) - 1).max() <= _NEARLY:
            raise ValueError(
                "`source.proba.values` must be of different columns, and sum to 1 at most"
            )
        return proba, few
