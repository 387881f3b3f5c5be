"""The curves of one slider position: the expected ROC and the histogram of scores."""

from typing import Any

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain.decisions import Decisions
from abstain.regions import GainThreshold, Mask, Region

__all__ = ["histogram", "roc_points"]

N_BINS = 40
N_POINTS = 80


def roc_points(decisions: Decisions, kept: Mask) -> dict[str, list[float]] | None:
    """Return the expected ROC curve of the kept rows, thinned for drawing; None for many classes.

    Points are taken evenly along both axes, so corners stay where they are.
    """
    proba, weight = decisions.proba, decisions.sample_weight
    if proba.shape[1] != 2 or not kept.any():
        return None
    p = proba[kept, 1]
    own = np.ones(len(p)) if weight is None else weight[kept]
    order = np.argsort(-p, kind="stable")
    positive, negative = (p * own)[order].cumsum(), ((1 - p) * own)[order].cumsum()
    last_of_tie = np.append(np.diff(p[order]) != 0, True)
    if positive[-1] <= 0 or negative[-1] <= 0:
        return None
    true = np.insert(positive[last_of_tie] / positive[-1], 0, 0.0)
    false = np.insert(negative[last_of_tie] / negative[-1], 0, 0.0)
    wanted = np.linspace(0, 1, N_POINTS // 2)
    picked = np.unique(
        np.concatenate(
            [
                np.searchsorted(true, wanted).clip(max=len(true) - 1),
                np.searchsorted(false, wanted).clip(max=len(false) - 1),
                [0, len(true) - 1],
            ]
        )
    )
    return {"x": false[picked].round(4).tolist(), "y": true[picked].round(4).tolist()}


def histogram(
    decisions: Decisions, abstain: Mask, prediction: IntArray, region: Region
) -> dict[str, Any]:
    """Return how many rows lie in each bin of the score, and how many of them are withheld.

    Two classes: bins of the positive class's probability. More: bins of the expected gain of
    withholding, where the region is a threshold on it, else of the predicted class's
    probability.
    """
    proba = decisions.proba
    threshold: float | None = None
    if proba.shape[1] == 2:
        values, label = proba[:, 1], f"probability of {decisions.classes[-1]}"
        edges = np.linspace(0, 1, N_BINS + 1)
    elif isinstance(region, GainThreshold):
        values, label = region.score(proba, prediction), "expected gain from referring the case"
        edges = _spread(values)
        threshold = region.threshold if np.isfinite(region.threshold) else None
    else:
        values = proba[np.arange(len(proba)), prediction]
        label, edges = "probability of the predicted class", np.linspace(0, 1, N_BINS + 1)
    return {
        "label": label,
        "low": float(edges[0]),
        "high": float(edges[-1]),
        "all": np.histogram(values, edges)[0].tolist(),
        "withheld": np.histogram(values[abstain], edges)[0].tolist(),
        "threshold": threshold,
    }


def _spread(values: FloatArray) -> FloatArray:
    low, high = float(values.min()), float(values.max())
    if high <= low:
        high = low + 1.0
    return np.linspace(low, high, N_BINS + 1)
