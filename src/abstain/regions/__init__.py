"""What can be withheld: sets of probability vectors, as data.

A region is chosen once on a batch (``metrics``, ``selection``), then frozen into a policy. Two
rows with the same probabilities are always treated alike, so a region that fits a budget may
withhold a little less where ties straddle its edge, and never more.
"""

from __future__ import annotations

from abstain.regions._base import KEYS as KEYS
from abstain.regions._base import Choice as Choice
from abstain.regions._base import Region, register
from abstain.regions._base import built_in as built_in
from abstain.regions._base import from_dict as from_dict
from abstain.regions._boxes import Box as Box
from abstain.regions._boxes import ProbabilityBoxes
from abstain.regions._interval import Interval
from abstain.regions._thresholds import GainThreshold, ScoreThreshold, TopShare
from abstain.regions._thresholds import ThresholdRegion as ThresholdRegion
from abstain.regions._thresholds import score_threshold as score_threshold

__all__ = [
    "GainThreshold",
    "Interval",
    "ProbabilityBoxes",
    "Region",
    "ScoreThreshold",
    "TopShare",
    "register",
]
