"""Any Arrow stream, chunk by chunk: rows that need not fit into memory.

A source is a PyArrow dataset, scanner, reader, table or list of batches, a Polars LazyFrame, a
DuckDB relation, anything else that speaks the Arrow stream protocol, or a function that opens one
of these anew. It is summarised in one pass and decided about in a second one.
"""

from __future__ import annotations

from abstain.arrow._source import ahead as ahead
from abstain.arrow._stream import DecisionColumns as DecisionColumns
from abstain.arrow._stream import RowSample as RowSample
from abstain.arrow._stream import apply, decide, summarise
from abstain.arrow._stream import sample_decisions as sample_decisions

__all__ = ["apply", "decide", "summarise"]
