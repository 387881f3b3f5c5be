"""What was decided about a chunk, as Arrow columns: those of ``Decisions.to_frame``.

Their types are known before the first row, and no object is made for a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from abstain.arrow._package import pyarrow
from abstain.decisions import Decisions
from abstain.policy import Policy

__all__ = ["DecisionColumns"]

_NO_SCORE = "no score"


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
        self._pa = pa = pyarrow()
        self._nulls = gaps_as_null
        self._policy = policy
        self._labels = pa.array(policy.classes)
        self._words = pa.array(["", policy.region.describe(), _NO_SCORE])
        self._threshold = policy.rule.threshold
        fields = [
            ("abstain", pa.bool_()),
            ("reason", pa.string()),
            ("prediction", self._labels.type),
        ]
        if self._threshold is not None:
            fields.append(("threshold", pa.float64()))
        fields.append(("gain", pa.float64()))
        fields += [(f"p_{name}", pa.float64()) for name in policy.classes.tolist()]
        self.schema = pa.schema(fields)

    def of(self, decisions: Decisions[Policy]) -> list[Any]:
        """Return the columns of some rows, as ``Policy.rows`` decided about them.

        Where rows are withheld as one, their gain is a figure of all rows of a stream together,
        which no chunk can tell: there is none.
        """
        pa = self._pa
        n, columns = len(decisions), decisions.columns
        compact = decisions.compact
        why = decisions.abstain.astype(np.int8)
        if decisions.missing is not None:
            why[decisions.missing] = 2
        made = [pa.array(decisions.abstain), self._words.take(pa.array(why))]
        gaps = None if decisions.missing is None else columns < 0
        made.append(self._predicted(columns, gaps))
        if self._threshold is not None:
            made.append(pa.array(np.full(n, self._threshold)))
        made.append(self._gain(decisions))
        parts = (1.0 - compact, compact) if compact.ndim == 1 else compact.T
        gaps = decisions.missing if self._nulls else None
        made += [pa.array(np.ascontiguousarray(part), mask=gaps) for part in parts]
        return made

    def _predicted(self, columns: Any, gaps: Any) -> Any:
        pa = self._pa
        if pa.types.is_primitive(self._labels.type) and gaps is None:
            return pa.array(self._policy.classes[columns], self._labels.type)
        return self._labels.take(pa.array(columns, mask=gaps))

    def _gain(self, decisions: Decisions[Policy]) -> Any:
        pa, scored, n = self._pa, decisions.scored, len(decisions)
        gaps = decisions.missing if self._nulls else None
        if len(scored) and (
            scored.choice.region.score(scored.compact[:1], scored.columns[:1]) is not None
        ):
            return pa.array(decisions.gain, mask=gaps)
        return pa.nulls(n, pa.float64()) if self._nulls else pa.array(np.full(n, np.nan))
