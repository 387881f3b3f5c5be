"""Scores by name."""

from collections.abc import Callable
from typing import Any

from abstain._inputs import FloatArray
from abstain._numerics import Registry
from abstain.scores._dropout import dropout_variance
from abstain.scores._functions import (
    distance_from_half,
    entropy,
    js_divergence,
    margin,
    max_probability,
    random_order,
)

__all__ = ["CLASS_THRESHOLDS", "DROPOUT_VARIANCE", "get", "registered"]

#: No score of a row but an interval chosen on the validation data; see ``selection``.
CLASS_THRESHOLDS = "class-thresholds"
#: A score of several predictions for each row.
DROPOUT_VARIANCE = "dropout-variance"


def _no_score(proba: FloatArray) -> FloatArray:
    raise ValueError(
        f"`score` {CLASS_THRESHOLDS!r} is no function of a row: it chooses an interval on "
        f"validation data. Pass it to Abstainer(score=...)."
    )


_SCORES: Registry[Callable[..., Any]] = Registry(
    "score",
    [
        (CLASS_THRESHOLDS, _no_score),
        ("distance-from-half", distance_from_half),
        (DROPOUT_VARIANCE, dropout_variance),
        ("entropy", entropy),
        ("js-divergence", js_divergence),
        ("margin", margin),
        ("max-probability", max_probability),
        ("random", random_order),
    ],
)


def registered() -> list[str]:
    """Return the names of the scores, sorted."""
    return [*_SCORES]


def get(score: str | Callable[..., FloatArray]) -> Callable[..., Any]:
    """Return a score by its registered name; a function is returned as it is.

    Most are functions of the probabilities alone. ``"js-divergence"`` also takes the class
    proportions, ``"random"`` a seed and ``"dropout-variance"`` draws of test-time dropout.
    """
    return score if callable(score) else _SCORES[score]
