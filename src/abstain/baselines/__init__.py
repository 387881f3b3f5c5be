"""Metric-agnostic scores, and class thresholds: what the paper compares against."""

from abstain.baselines._class_thresholds import choose_class_thresholds
from abstain.baselines._dropout import dropout_mean, dropout_variance
from abstain.baselines._score_region import (
    ScoreThreshold,
    choose_by_samples,
    choose_by_score,
    get,
    registered,
)
from abstain.baselines._scores import (
    distance_from_half,
    entropy,
    js_divergence,
    margin,
    max_probability,
    random_order,
)

__all__ = [
    "ScoreThreshold",
    "choose_by_samples",
    "choose_by_score",
    "choose_class_thresholds",
    "distance_from_half",
    "dropout_mean",
    "dropout_variance",
    "entropy",
    "get",
    "js_divergence",
    "margin",
    "max_probability",
    "random_order",
    "registered",
]
