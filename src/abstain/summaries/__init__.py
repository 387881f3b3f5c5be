"""What is known of a batch, and how it merges: in memory, in chunks, over machines."""

from __future__ import annotations

from abstain.summaries._atoms import WEIGHT_TOLERANCE as WEIGHT_TOLERANCE
from abstain.summaries._atoms import Atoms as Atoms
from abstain.summaries._atoms import Windows as Windows
from abstain.summaries._labelled import LabelledSummary as LabelledSummary
from abstain.summaries._replicates import LabelledReplicates as LabelledReplicates
from abstain.summaries._replicates import Moves as Moves
from abstain.summaries._summary import BINS as BINS
from abstain.summaries._summary import MANY_ROWS as MANY_ROWS
from abstain.summaries._summary import BinarySummary as BinarySummary
from abstain.summaries._summary import RowSummary as RowSummary
from abstain.summaries._summary import Summary as Summary
from abstain.summaries._summary import fewer as fewer
from abstain.summaries._summary import own_order as own_order
from abstain.summaries._summary import summarise as summarise

__all__: list[str] = []
