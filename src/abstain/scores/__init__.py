"""Metric-agnostic scores of uncertainty: what the paper compares against."""

from abstain.scores._dropout import dropout_mean, dropout_variance
from abstain.scores._functions import (
    distance_from_half,
    entropy,
    js_divergence,
    margin,
    max_probability,
    random_order,
)
from abstain.scores._registry import CLASS_THRESHOLDS, DROPOUT_VARIANCE, get, registered

__all__ = [
    "CLASS_THRESHOLDS",
    "DROPOUT_VARIANCE",
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
