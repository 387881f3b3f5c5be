"""Deferral by complementarity: where, by the model's score, readers do better than the model.

CoDoC, after the description by its authors: scores are counted in bins for each truth and opinion,
smoothed, and turned round by Bayes' rule into the chance that the reader, and the model, is right
at a score. The difference is the advantage of deferral; a case is deferred where it is positive.
It knows neither label shift nor what the two opinions say together.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from abstain._inputs import FloatArray
from abstain.team._reviewer import LabelledOpinions

# Bins of the score, which hold as many rows each; how far each reaches, in bins; and rows added.
_BINS = 32
_REACH = 1.5
_PRIOR = 1.0


def advantages_of(rows: LabelledOpinions) -> FloatArray | None:
    """Return by how much more often readers are right than the model, at knots of its score.

    Parameters
    ----------
    rows : LabelledOpinions
        Labelled rows with answers, and the model's probabilities.

    Returns
    -------
    ndarray of shape (2, n_knots) or None
        Scores that rise, and the advantage at each. The score is the probability of the positive
        class of two, and of more classes the largest one.
    """
    if rows.proba is None:
        return None
    there = rows.answers >= 0
    proba, truth, said = rows.proba[there], rows.codes[there], rows.answers[there]
    own, weight = proba.argmax(axis=1), rows.counts[there]
    score = proba[:, 1] if proba.shape[1] == 2 else proba.max(axis=1)
    knots = np.unique(np.quantile(score, (np.arange(_BINS) + 0.5) / _BINS))
    place = np.searchsorted((knots[1:] + knots[:-1]) / 2, score)
    apart = np.arange(len(knots))
    reach = np.exp(-0.5 * ((apart[:, None] - apart) / _REACH) ** 2)
    reach /= reach.sum(axis=0)
    # What there is to tell apart: truth and opinion; of more classes, who is right.
    kinds = (truth, said) if proba.shape[1] == 2 else (own == truth, said == truth)
    total, ahead = np.zeros(len(knots)), np.zeros(len(knots))
    for first, second in product((0, 1), repeat=2):
        of_kind = (kinds[0] == first) & (kinds[1] == second)
        counted = np.bincount(place[of_kind], weight[of_kind], len(knots))
        density = np.asarray(reach @ counted + _PRIOR / (4 * len(knots)), dtype=np.float64)
        total += density
        if proba.shape[1] == 2:
            right = np.where(knots >= 0.5, first, 1 - first)
            ahead += density * (int(second == first) - right)
        else:
            ahead += density * (second - first)
    return np.stack([knots, ahead / total])
