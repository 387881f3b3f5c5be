"""Regions by the name that a policy file has for them."""

from __future__ import annotations

from typing import Any

from abstain._numerics import Registry
from abstain.regions._base import Region
from abstain.regions._boxes import ProbabilityBoxes
from abstain.regions._interval import Interval
from abstain.regions._thresholds import GainThreshold, ScoreThreshold, TopShare

_REGIONS: Registry[type[Region]] = Registry(
    "region",
    [
        (region.kind, region)
        for region in (GainThreshold, Interval, ProbabilityBoxes, ScoreThreshold, TopShare)
    ],
)


def from_dict(data: dict[str, Any]) -> Region:
    """Return the region that a ``to_dict`` described."""
    return _REGIONS[data["kind"]].from_dict(data)
