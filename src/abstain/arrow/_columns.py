"""What was decided about a chunk, as Arrow columns: those of ``Decisions.to_frame``.

Their types are known before the first row, and no object is made for a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import IntArray
from abstain._rowwise import about_no_rows, decision_columns
from abstain.arrow._source import pyarrow
from abstain.decisions import Decisions
from abstain.policy import Policy


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
        made = decision_columns(decisions, _by_number, gaps=gaps)
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
