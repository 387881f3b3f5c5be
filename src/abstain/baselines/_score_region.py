"""Withholding by a score: the region above a threshold, and the registry of scores by name."""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray, IntArray
from abstain.baselines._class_thresholds import choose_class_thresholds
from abstain.baselines._dropout import dropout_variance
from abstain.baselines._scores import (
    distance_from_half,
    entropy,
    js_divergence,
    margin,
    max_probability,
    random_order,
)
from abstain.regions import Mask, score_threshold

__all__ = ["ScoreThreshold", "choose_by_samples", "choose_by_score", "get", "registered"]

Score = Callable[..., FloatArray]

CLASS_THRESHOLDS = "class-thresholds"
DROPOUT_VARIANCE = "dropout-variance"

_scores: dict[str, Callable[..., Any]] = {
    CLASS_THRESHOLDS: choose_class_thresholds,
    "distance-from-half": distance_from_half,
    DROPOUT_VARIANCE: dropout_variance,
    "entropy": entropy,
    "js-divergence": js_divergence,
    "margin": margin,
    "max-probability": max_probability,
    "random": random_order,
}


@dataclass(frozen=True)
class ScoreThreshold:
    """Rows whose score of uncertainty reaches a threshold.

    Parameters
    ----------
    score : str or callable
        A registered name, or a function of the probabilities.
    threshold : float
        Withhold where the score is at least this.
    parameters : dict
        Keyword arguments of the score.
    """

    kind: ClassVar[str] = "score-threshold"

    score: str | Score
    threshold: float
    parameters: dict[str, Any] = field(default_factory=dict)

    def values(self, proba: FloatArray) -> FloatArray:
        """Return the score of each row."""
        if self.score == DROPOUT_VARIANCE:
            raise ValueError(
                "`score` 'dropout-variance' is a variance over draws of test-time dropout and "
                "cannot be told from one prediction per row. Score new rows with "
                f"abstain.baselines.dropout_variance and withhold from {self.threshold:g} on."
            )
        return _checked_score(get(self.score)(proba, **self.parameters), len(proba))

    def contains(self, proba: FloatArray, prediction: IntArray) -> Mask:
        """Tell for each row whether its score reaches the threshold."""
        mask: Mask = self.values(proba) >= self.threshold
        return mask

    def describe(self) -> str:
        """Say in words what is withheld."""
        name = self.score if isinstance(self.score, str) else "score of your own"
        return f"{name} at least {self.threshold:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the region as plain data."""
        if not isinstance(self.score, str):
            raise TypeError(
                "A policy can store only registered scores; "
                f"{self.score!r} is a function. Known names: {', '.join(registered())}."
            )
        # JSON has no infinity; None stands for a threshold nothing reaches.
        threshold = self.threshold if np.isfinite(self.threshold) else None
        return {
            "kind": self.kind,
            "score": self.score,
            "parameters": self.parameters,
            "threshold": threshold,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the region that ``to_dict`` described."""
        threshold = np.inf if data["threshold"] is None else float(data["threshold"])
        return cls(score=data["score"], threshold=threshold, parameters=data["parameters"])


def registered() -> list[str]:
    """Return the names of the scores, sorted."""
    return sorted(_scores)


def get(score: str | Score) -> Callable[..., Any]:
    """Return a score by its registered name; a function is returned as it is.

    Most are functions of the probabilities alone. ``"js-divergence"`` also takes the class
    proportions, ``"random"`` a seed, ``"dropout-variance"`` draws of test-time dropout, and
    ``"class-thresholds"`` is no score but chooses an interval on the validation set.
    """
    if callable(score):
        return score
    if score not in _scores:
        near = difflib.get_close_matches(str(score), registered(), n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise ValueError(
            f"`score` {score!r} is not known. {hint}Known: {', '.join(registered())}."
        )
    return _scores[score]


def choose_by_score(
    score: str | Score,
    proba: FloatArray,
    capacity: float,
    *,
    sample_weight: FloatArray | None = None,
    seed: int = 0,
) -> ScoreThreshold:
    """Return the region that withholds the highest scores within the capacity.

    Parameters
    ----------
    score : str or callable
        A registered name, or a function of the probabilities.
    proba : ndarray of shape (n, n_classes)
        Calibrated, adapted probabilities.
    capacity : float
        The largest total weight that may be withheld.
    sample_weight : ndarray of shape (n,), optional
        How much each row counts.
    seed : int
        Seeds ``"random"``.

    Returns
    -------
    ScoreThreshold
        The class proportions that ``"js-divergence"`` compares with are the mean of ``proba``:
        the adapted proportions when the probabilities are adapted. They are kept in the region.
    """
    parameters: dict[str, Any] = {}
    if score == "random":
        parameters = {"seed": seed}
    elif score == "js-divergence":
        parameters = {"priors": np.average(proba, axis=0, weights=sample_weight).tolist()}
    elif score == CLASS_THRESHOLDS:
        raise ValueError("'class-thresholds' needs validation data; use choose_class_thresholds.")
    everything = ScoreThreshold(score, threshold=-np.inf, parameters=parameters)
    threshold = score_threshold(everything.values(proba), capacity, sample_weight)
    return ScoreThreshold(score, threshold=threshold, parameters=parameters)


def choose_by_samples(
    samples: Iterable[ArrayLike], capacity: float, *, sample_weight: FloatArray | None = None
) -> tuple[ScoreThreshold, FloatArray]:
    """Return the region of the highest dropout variances, and the variance of each row.

    Parameters
    ----------
    samples : iterable of array-like, each of shape (n, n_classes)
        Calibrated, adapted probabilities of the same rows in each draw.
    capacity : float
        The largest total weight that may be withheld.
    sample_weight : ndarray of shape (n,), optional
        How much each row counts.

    Returns
    -------
    region : ScoreThreshold
    values : ndarray of shape (n,)
        The region itself cannot tell them from one prediction per row.
    """
    values = dropout_variance(samples)
    threshold = score_threshold(values, capacity, sample_weight)
    return ScoreThreshold(DROPOUT_VARIANCE, threshold=threshold), values


def _checked_score(values: FloatArray, n_rows: int) -> FloatArray:
    score = np.asarray(values, dtype=np.float64)
    if score.shape != (n_rows,) or np.isnan(score).any():
        raise ValueError(
            f"`score` must return one number per row, no NaN; {n_rows} rows, got shape "
            f"{score.shape} with {int(np.isnan(score).sum())} NaN."
        )
    return score
