"""Metrics: their expected and observed values, and what abstaining does to them."""

from abstain.metrics._base import Choice, Metric
from abstain.metrics._registry import from_dict, get, registered
from abstain.metrics._weighted_kappa import WeightedKappa

__all__ = ["Choice", "Metric", "WeightedKappa", "from_dict", "get", "registered"]
