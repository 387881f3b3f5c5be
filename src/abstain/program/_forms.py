"""Forms that several calibrators, scores and rules are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from abstain._inputs import FloatArray
from abstain.program._values import Value, block, exp, log, maximum, where


def softmax(logits: Value) -> Value:
    """Return the probabilities of logits of all classes."""
    shares = exp(logits - logits.largest())
    return shares / shares.total()


def log_softmax(logits: Value) -> Value:
    """Return the logarithm of the probabilities of logits of all classes."""
    away = logits - logits.largest()
    return away - log(exp(away).total())


def both_columns(proba: Value) -> Value:
    """Return probabilities with a column per class; one column is the positive class of two."""
    return proba if proba.width is not None else block(1.0 - proba, proba)


def share(part: Value, total: Value, otherwise: Any) -> Value:
    """Return a part of a total that is not negative, and something else where that is 0."""
    some = total > 0.0
    return where(some, part / where(some, total, 1.0), otherwise)


def weighted_log(weight: Any, proba: Value) -> Value:
    """Return the sum over columns of ``weight * log(proba)``; 0 log 0 is 0."""
    weighted: Value = log(maximum(proba, np.finfo(np.float64).tiny)) * weight
    return weighted.total()


def adapted(proba: Value, ratios: FloatArray) -> Value:
    """Return probabilities at other class proportions, given new over old ones."""
    if proba.width is None:
        weighted = proba * ratios[1]
        return share(weighted, (1.0 - proba) * ratios[0] + weighted, proba)
    weighted = proba * ratios
    return share(weighted, weighted.total(), proba)
