"""What is known of a batch, and how it merges: in memory, in chunks, over machines."""

from __future__ import annotations

from abstain.summaries._atoms import WEIGHT_TOLERANCE as WEIGHT_TOLERANCE
from abstain.summaries._atoms import Atoms as Atoms
from abstain.summaries._atoms import Windows as Windows
from abstain.summaries._bins import Bins as Bins
from abstain.summaries._bins import lower_edges as lower_edges
from abstain.summaries._drift import Drift as Drift
from abstain.summaries._labelled import KEYS as KEYS
from abstain.summaries._labelled import LabelledSummary as LabelledSummary
from abstain.summaries._labelled import shortened as shortened
from abstain.summaries._mergeable import Summary as Summary
from abstain.summaries._replicates import LabelledReplicates as LabelledReplicates
from abstain.summaries._replicates import Moves as Moves
from abstain.summaries._replicates import compact as compact
from abstain.summaries._sample import SAMPLE_SEED as SAMPLE_SEED
from abstain.summaries._sample import STEPS as STEPS
from abstain.summaries._sample import Sample as Sample
from abstain.summaries._sample import most_rows as most_rows
from abstain.summaries._sample import n_moments as n_moments
from abstain.summaries._summary import BINS as BINS
from abstain.summaries._summary import MANY_ROWS as MANY_ROWS
from abstain.summaries._summary import SKETCH as SKETCH
from abstain.summaries._summary import BatchSummary as BatchSummary
from abstain.summaries._summary import BinarySummary as BinarySummary
from abstain.summaries._summary import RowSummary as RowSummary
from abstain.summaries._summary import fewer as fewer
from abstain.summaries._summary import own_order as own_order
from abstain.summaries._summary import summarise as summarise

__all__: list[str] = []
