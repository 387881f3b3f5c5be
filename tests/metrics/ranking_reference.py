"""Slow, obviously right references for ranking metrics, on labelled weighted examples.

A metric of soft labels is the metric of a data set where every example occurs twice: once as
a positive of weight w p, once as a negative of weight w (1 - p).
"""

import numpy as np
from sklearn.metrics import roc_auc_score


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
        sensitivity = tp / positive if positive > 0 else np.nan
        specificity = (negative - fp) / negative if negative > 0 else np.nan
        yield sensitivity, specificity, tp / (tp + fp) if tp + fp > 0 else np.nan


def _needs(positives, negatives):
    def decorate(value):
        def checked(y, score, weight):
            empty = (positives and not weight[y == 1].sum() > 0) or (
                negatives and not weight[y == 0].sum() > 0
            )
            return np.nan if empty else value(y, score, weight)

        return checked

    return decorate


def sensitivity_at_specificity(level):
    @_needs(True, True)
    def value(y, score, weight):
        return max(sens for sens, spec, _ in rates(y, score, weight) if spec >= level - 1e-11)

    return value


def specificity_at_sensitivity(level):
    @_needs(True, True)
    def value(y, score, weight):
        return max(spec for sens, spec, _ in rates(y, score, weight) if sens >= level - 1e-11)

    return value


def precision_at_recall(level):
    @_needs(True, False)
    def value(y, score, weight):
        reached = [prec for sens, _, prec in rates(y, score, weight) if sens >= level - 1e-11]
        return reached[-1]

    return value


def recall_at_precision(level):
    @_needs(True, False)
    def value(y, score, weight):
        reached = [sens for sens, _, prec in rates(y, score, weight) if prec >= level - 1e-11]
        return max(reached, default=0.0)

    return value


@_needs(True, True)
def sklearn_partial_auroc(y, score, weight):
    present = weight > 0
    return roc_auc_score(y[present], score[present], sample_weight=weight[present], max_fpr=0.3)


@_needs(True, False)
def average_precision(y, score, weight):
    total, value = weight[y == 1].sum(), 0.0
    for i in np.flatnonzero((y == 1) & (weight > 0)):
        above = score >= score[i]
        value += weight[i] / total * weight[above & (y == 1)].sum() / weight[above].sum()
    return value


def net_benefit(threshold):
    def value(y, score, weight):
        if not len(y):
            return np.nan
        tp = weight[(score >= threshold) & (y == 1)].sum()
        fp = weight[(score >= threshold) & (y == 0)].sum()
        return (tp - fp * threshold / (1 - threshold)) / weight.sum()

    return value


def window_values(metric, p, capacity, weight=None):
    """Return a metric's expected value after each window is withheld."""
    p = np.asarray(p, dtype=float)
    weight = np.ones(len(p)) if weight is None else np.asarray(weight, dtype=float)
    return np.array(
        [metric(*doubled(p[kept], weight[kept])) for kept in windows(p, capacity, weight)]
    )
