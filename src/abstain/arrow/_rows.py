"""Of the rows of a stream: what was decided about a chunk, as columns, and a few rows drawn.

The columns are those of ``Decisions.to_frame``; their types are known before the first row, and no
object is made for a row. The rows that are drawn have the lowest hashes of their numbers: a fair
draw that does not depend on how the stream is cut, and the same every time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.row_hash import STEP, mixed
from abstain._rowwise.frames import about_no_rows
from abstain.arrow._source import pyarrow
from abstain.decisions import Decisions
from abstain.policy import Policy, decision_columns

# Of so many rows everything that is estimated from rows hardly moves any more.
SIZE = 100_000


class DecisionColumns:
    """The columns that a rule gives to rows.

    Parameters
    ----------
    policy : Policy
        The rule.
    gaps_as_null : bool
        Whether a number that there is none of is null, as files have it, and not NaN.

    Attributes
    ----------
    schema : pyarrow.Schema
        Names and types, in the order of :meth:`abstain.Decisions.to_frame`.
    """

    def __init__(self, policy: Policy, *, gaps_as_null: bool = False) -> None:
        self._nulls = gaps_as_null
        empty = self._by_name(about_no_rows(policy))
        self.schema = pyarrow().schema([(name, array.type) for name, array in empty.items()])

    def of(self, decisions: Decisions) -> list[Any]:
        """Return the columns of some rows, as ``Policy.rows`` decided about them.

        Where rows are withheld as one, their gain is a figure of all rows of a stream together,
        which no chunk can tell: there is none.
        """
        return [*self._by_name(decisions).values()]

    def _by_name(self, decisions: Decisions) -> dict[str, Any]:
        pa, gaps = pyarrow(), decisions.missing is not None
        made = decision_columns(decisions, _by_number, gaps=gaps, of_part=True)
        return {
            name: pa.array(values, from_pandas=self._nulls)
            if isinstance(values, np.ndarray)
            else values
            for name, values in made.items()
        }


def _by_number(values: NDArray[Any], numbers: IntArray, gaps: bool) -> Any:
    """Return a column of few distinct values."""
    pa = pyarrow()
    array = pa.array(values)
    if pa.types.is_primitive(array.type) and not gaps:
        return pa.array(values[numbers], array.type)
    return array.take(pa.array(numbers, mask=numbers < 0 if gaps else None))


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
