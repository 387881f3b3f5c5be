"""What is known of a batch, and how it merges: in memory, in chunks, over machines."""

from abstain.summaries._atoms import WEIGHT_TOLERANCE, Atoms, Windows
from abstain.summaries._labelled import LabelledSummary
from abstain.summaries._summary import (
    BINS,
    MANY_ROWS,
    BinarySummary,
    RowSummary,
    Summary,
    summarise,
)

__all__ = [
    "BINS",
    "MANY_ROWS",
    "WEIGHT_TOLERANCE",
    "Atoms",
    "BinarySummary",
    "LabelledSummary",
    "RowSummary",
    "Summary",
    "Windows",
    "summarise",
]
