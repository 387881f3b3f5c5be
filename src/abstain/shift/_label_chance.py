"""How probable labels of some rows of a batch are, if its class proportions moved like this.

Nothing in the paper, whose batches have no labels: a few, of rows picked at random, tell what
scores alone do not.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax

from abstain._inputs import FloatArray
from abstain.summaries import LabelledSummary

_SMALLEST = 1e-12
_STEPS, _CONVERGED, _LONGEST_STEP = 40, 1e-9, 2.0


def bias_covariance(source: LabelledSummary) -> FloatArray:
    """Return how uncertain validation rows leave the logits of the classes, each as a whole."""
    information = _information(source.proba, source.counts / source.thinned)
    return np.asarray(np.linalg.inv(information + np.eye(len(information))))


def log_chance(rows: LabelledSummary, tilt: FloatArray, covariance: FloatArray) -> float:
    """Return the logarithm of how probable labels are, the tilt of their classes being open.

    Parameters
    ----------
    rows : LabelledSummary
        Calibrated, not adapted.
    tilt : ndarray of shape (n_classes,)
        Logarithm of new over old class proportions, but for a constant.
    covariance : ndarray of shape (n_classes, n_classes)
        How uncertain that is.

    Notes
    -----
    The integral over Gaussian tilts, by Laplace's method: the logarithm of what is integrated is
    concave, so Newton's steps find where it is highest.
    """
    weight, labels = rows.counts, rows.labels
    logs = np.log(np.maximum(rows.proba, _SMALLEST)) + tilt
    came = np.bincount(labels, weight, logs.shape[1])
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    x = np.zeros(len(root))
    for _ in range(_STEPS):
        found = log_softmax(logs + root @ x, axis=1)
        proba = np.exp(found)
        curvature = root.T @ _information(proba, weight) @ root + np.eye(len(x))
        step = np.linalg.solve(curvature, root.T @ (came - weight @ proba) - x)
        longest = float(np.abs(root @ step).max())
        if longest < _CONVERGED:
            break
        x += step * min(1.0, _LONGEST_STEP / longest)
    right = weight @ found[np.arange(len(labels)), labels]
    return float(right - (x @ x + np.linalg.slogdet(curvature)[1]) / 2)


def _information(proba: FloatArray, weight: FloatArray) -> FloatArray:
    """Return how much labels of rows tell of the logits of the classes."""
    found: FloatArray = np.diag(weight @ proba) - (proba * weight[:, None]).T @ proba
    return found
