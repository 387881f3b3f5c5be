"""Metric-agnostic scores of uncertainty: what the paper compares against."""

from abstain.scores._dropout import dropout_mean, dropout_variance
from abstain.scores._functions import (
    distance_from_half,
    entropy,
    js_divergence,
    margin,
    max_probability,
)
from abstain.scores._functions import random_order as random_order
from abstain.scores._registry import CLASS_THRESHOLDS as CLASS_THRESHOLDS
from abstain.scores._registry import DROPOUT_VARIANCE as DROPOUT_VARIANCE
from abstain.scores._registry import get
from abstain.scores._registry import registered as registered

__all__ = [
    "distance_from_half",
    "dropout_mean",
    "dropout_variance",
    "entropy",
    "get",
    "js_divergence",
    "margin",
    "max_probability",
]
