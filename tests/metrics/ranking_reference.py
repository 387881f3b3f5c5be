"""Slow, obviously right references for ranking metrics, on labelled weighted examples.

A metric of soft labels is the metric of a data set where every example occurs twice: once as
a positive of weight w p, once as a negative of weight w (1 - p).
"""

import numpy as np


def doubled(p, weight=None):
    """Return labels, scores and weights of the data set that soft labels stand for."""
    p = np.asarray(p, dtype=float)
    weight = np.ones(len(p)) if weight is None else np.asarray(weight, dtype=float)
    y = np.r_[np.ones(len(p)), np.zeros(len(p))]
    return y, np.r_[p, p], np.r_[weight * p, weight * (1 - p)]


def windows(p, capacity, weight=None):
    """Yield the mask of kept examples for each window, ties together, as the library does."""
    p = np.asarray(p, dtype=float)
    weight = np.ones(len(p)) if weight is None else np.asarray(weight, dtype=float)
    values = np.unique(p[weight > 0])
    mass = np.array([weight[p == value].sum() for value in values])
    for start in range(len(values) + 1):
        end = start
        while end < len(values) and mass[start : end + 1].sum() <= capacity + 1e-9:
            end += 1
        yield ~np.isin(p, values[start:end])
        if end == len(values):
            return


def auroc(y, score, weight):
    pairs = wins = 0.0
    for i in np.flatnonzero(y == 1):
        for j in np.flatnonzero(y == 0):
            w = weight[i] * weight[j]
            pairs += w
            wins += w * ((score[i] > score[j]) + 0.5 * (score[i] == score[j]))
    return wins / pairs if pairs > 0 else np.nan


def rates(y, score, weight):
    """Yield sensitivity, specificity and precision at every threshold, lowest first."""
    positive, negative = weight[y == 1].sum(), weight[y == 0].sum()
    for threshold in [*np.unique(score), np.inf]:
        above = score >= threshold
        tp, fp = weight[above & (y == 1)].sum(), weight[above & (y == 0)].sum()
        precision = tp / (tp + fp) if tp + fp > 0 else np.nan
        yield tp / positive, 1 - fp / negative, precision


def sensitivity_at_specificity(level):
    def value(y, score, weight):
        if not weight[y == 1].sum() or not weight[y == 0].sum():
            return np.nan
        return max(sens for sens, spec, _ in rates(y, score, weight) if spec >= level - 1e-9)

    return value


def window_values(metric, p, capacity, weight=None):
    """Return a metric's expected value after each window is withheld."""
    p = np.asarray(p, dtype=float)
    weight = np.ones(len(p)) if weight is None else np.asarray(weight, dtype=float)
    return np.array(
        [metric(*doubled(p[kept], weight[kept])) for kept in windows(p, capacity, weight)]
    )
