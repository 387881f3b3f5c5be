"""Metric-agnostic scores: what the paper compares against."""

from abstain.baselines._score_region import ScoreThreshold, choose_by_score, get, registered
from abstain.baselines._scores import entropy, margin, max_probability, random_order

__all__ = [
    "ScoreThreshold",
    "choose_by_score",
    "entropy",
    "get",
    "margin",
    "max_probability",
    "random_order",
    "registered",
]
