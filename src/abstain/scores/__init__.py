"""Metric-agnostic scores of uncertainty: what the paper compares against."""

from __future__ import annotations

from abstain.scores._functions import (
    distance_from_half,
    dropout_mean,
    dropout_variance,
    entropy,
    js_divergence,
    margin,
    max_probability,
    of_operations,
)
from abstain.scores._functions import random_order as random_order
from abstain.scores._registry import CLASS_THRESHOLDS as CLASS_THRESHOLDS
from abstain.scores._registry import DROPOUT_VARIANCE as DROPOUT_VARIANCE
from abstain.scores._registry import KEYS as KEYS
from abstain.scores._registry import TOLD as TOLD
from abstain.scores._registry import check_told as check_told
from abstain.scores._registry import from_plain as from_plain
from abstain.scores._registry import get, register
from abstain.scores._registry import is_own as is_own
from abstain.scores._registry import least as least
from abstain.scores._registry import operations_of as operations_of
from abstain.scores._registry import registered as registered
from abstain.scores._registry import to_plain as to_plain
from abstain.scores._registry import told as told

__all__ = [
    "distance_from_half",
    "dropout_mean",
    "dropout_variance",
    "entropy",
    "get",
    "js_divergence",
    "margin",
    "max_probability",
    "of_operations",
    "register",
]
