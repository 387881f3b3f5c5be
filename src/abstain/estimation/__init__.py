"""The metric without labels: what it is on everything and on the kept, and how sure that is."""

from __future__ import annotations

from abstain.estimation._estimate import KEYS as KEYS
from abstain.estimation._estimate import LEVEL as LEVEL
from abstain.estimation._estimate import Drawn as Drawn
from abstain.estimation._estimate import Estimate, EstimatedValue
from abstain.estimation._estimate import Marks as Marks
from abstain.estimation._estimate import drawn_choice as drawn_choice
from abstain.estimation._estimate import drawn_rows as drawn_rows
from abstain.estimation._replicates import Replicates as Replicates
from abstain.estimation._replicates import Resampled as Resampled

__all__ = ["Estimate", "EstimatedValue"]
