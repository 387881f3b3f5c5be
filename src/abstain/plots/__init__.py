"""Displays: pictures of decisions, drawn with matplotlib."""

from __future__ import annotations

from abstain.plots._abstention_curve import AbstentionCurve as AbstentionCurve
from abstain.plots._abstention_curve import AbstentionCurveDisplay
from abstain.plots._confusion import ConfusionAbstentionDisplay
from abstain.plots._priors import PriorsDisplay
from abstain.plots._region import RegionDisplay
from abstain.plots._reliability import ReliabilityDisplay
from abstain.plots._roc import RocAbstentionDisplay

__all__ = [
    "AbstentionCurveDisplay",
    "ConfusionAbstentionDisplay",
    "PriorsDisplay",
    "RegionDisplay",
    "ReliabilityDisplay",
    "RocAbstentionDisplay",
]
