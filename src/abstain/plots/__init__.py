"""Displays: pictures of decisions, drawn with matplotlib."""

from abstain.plots._region import RegionDisplay
from abstain.plots._reliability import ReliabilityDisplay
from abstain.plots._roc import RocAbstentionDisplay

__all__ = ["RegionDisplay", "ReliabilityDisplay", "RocAbstentionDisplay"]
