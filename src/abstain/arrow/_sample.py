"""A few rows drawn from a stream, to say of them what takes rows to say.

The rows with the lowest hashes of their numbers: a fair draw that does not depend on how the
stream is cut, and the same every time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray
from abstain._kernels.row_hash import STEP, mixed
from abstain.decisions import Decisions
from abstain.policy import Policy

# Of so many rows everything that is estimated from rows hardly moves any more.
SIZE = 100_000


class RowSample:
    """The scores of at most ``size`` rows of a stream.

    Attributes
    ----------
    n_rows : int
        How many rows with a score have come.
    """

    def __init__(self, size: int = SIZE) -> None:
        self.n_rows, self._size = 0, size
        self._hashes: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._numbers: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._rows: NDArray[Any] | None = None
        self._most = np.uint64(2**64 - 1)

    def add(self, rows: NDArray[Any]) -> None:
        """Take what is drawn of the next rows, each with its score or scores."""
        numbers = np.arange(self.n_rows, self.n_rows + len(rows))
        hashes = mixed((numbers.astype(np.uint64) + np.uint64(1)) * STEP)
        self.n_rows += len(rows)
        lucky = np.flatnonzero(hashes <= self._most)
        if not len(lucky):
            return
        self._hashes = np.concatenate([self._hashes, hashes[lucky]])
        self._numbers = np.concatenate([self._numbers, numbers[lucky]])
        drawn = rows[lucky]
        self._rows = drawn if self._rows is None else np.concatenate([self._rows, drawn])
        if len(self._hashes) > self._size:
            kept = np.argpartition(self._hashes, self._size - 1)[: self._size]
            self._hashes, self._numbers = self._hashes[kept], self._numbers[kept]
            self._rows = self._rows[kept]
            self._most = self._hashes.max()

    @property
    def scores(self) -> FloatArray | None:
        """The scores of the rows that were drawn, in the order they came in; None for no row."""
        if self._rows is None:
            return None
        drawn: FloatArray = self._rows[np.argsort(self._numbers)]
        return drawn


def sample_decisions(policy: Policy, scores: Any) -> Decisions:
    """Apply a rule to rows that were drawn from many.

    Nothing is said of how many it withholds: that is counted on all of them.
    """
    return policy.apply(scores, at_most=len(scores)).judged(over_capacity=None)
