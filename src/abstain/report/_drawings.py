"""What is drawn of one slider position: the expected ROC curve, histogram and confusion matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from abstain._inputs import FloatArray
from abstain.report._view import Effect
from abstain.summaries import BatchSummary

N_BINS = 40
N_POINTS = 80
# A matrix of more classes than this can be neither read nor sent for every position.
MOST_IN_MATRIX = 12
MOST_PAIRS = 100
# So few cases round to 0.0 in the list.
FEW_CASES = 0.05


def roc_points(kept: BatchSummary) -> dict[str, list[float]] | None:
    """Return the expected ROC curve, thinned for drawing; None for many classes.

    Points are taken evenly along both axes, so corners stay where they are.
    """
    if len(kept.class_sums) != 2 or (kept.class_sums <= 0).any():
        return None
    positive, negative = kept.atoms.below.positive, kept.atoms.below.negative
    true, false = (1 - (below / below[-1])[::-1] for below in (positive, negative))
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


def confusions(matrix: FloatArray) -> dict[str, Any]:
    """Return the matrix of few classes whole, and of many the largest of its errors.

    ``mistakes`` has pairs of a true and a predicted column with how many are expected, how many
    such pairs there are in all, and the expected number of errors.
    """
    if len(matrix) <= MOST_IN_MATRIX:
        return {"confusion": matrix.tolist(), "mistakes": None}
    wrong = matrix * (1 - np.eye(len(matrix)))
    largest = np.argsort(-wrong, axis=None, kind="stable")[:MOST_PAIRS]
    pairs = [
        [*divmod(cell, len(matrix)), round(float(wrong.flat[cell]), 2)]
        for cell in largest.tolist()
        if wrong.flat[cell] >= FEW_CASES
    ]
    return {
        "confusion": None,
        "mistakes": {
            "pairs": pairs,
            "of": int((wrong >= FEW_CASES).sum()),
            "total": float(wrong.sum()),
        },
    }


def histogram(effect: Effect, score: FloatArray | None, label: str, n_rows: int) -> dict[str, Any]:
    """Return how many rows lie in each bin, as they weigh, and how many of them are withheld.

    Parameters
    ----------
    effect : Effect
        What is drawn.
    score : ndarray or None
        What withholding is worth, of more than two classes; None for the probability of the
        positive class, or of the predicted one.
    label : str
        What the score is.
    n_rows : int
        How many rows there are.
    """
    proba, withheld = effect.summary.proba, effect.withheld
    low, high, threshold = 0.0, 1.0, None
    values = (
        proba[:, 1] if proba.shape[1] == 2 else proba[np.arange(len(proba)), effect.prediction]
    )
    if score is not None:
        values, low = score, float(score.min())
        high = max(float(score.max()), np.nextafter(low, np.inf))
        threshold = float(score[withheld].min()) if withheld.any() else None
    bins = ((values - low) / (high - low) * N_BINS).astype(np.intp).clip(0, N_BINS - 1)
    weight = np.ones(len(bins)) if effect.summary.weight is None else effect.summary.weight
    every, taken = (
        np.bincount(bins, weights=weight * rows, minlength=N_BINS) * (n_rows / weight.sum())
        for rows in (True, withheld)
    )
    return {
        "label": label,
        "low": low,
        "high": high,
        "all": every.round().astype(np.intp).tolist(),
        "withheld": taken.round().astype(np.intp).tolist(),
        "threshold": threshold,
    }
