"""Metric-agnostic scores of uncertainty: what the paper compares against (its Section 4).

Each is a function of calibrated probabilities; the highest scores are withheld first.
"""

import numpy as np

from abstain._validation import FloatArray

__all__ = ["entropy", "margin", "max_probability", "random_order"]


def max_probability(proba: FloatArray) -> FloatArray:
    """Score by how small the largest class probability is.

    Higher means less certain, in [0, 1 - 1 / n_classes]. For two classes this is the distance
    from 0.5.

    References
    ----------
    Hendrycks and Gimpel, "A baseline for detecting misclassified and out-of-distribution
    examples in neural networks", ICLR 2017.

    Examples
    --------
    >>> max_probability(np.array([[0.9, 0.1], [0.4, 0.6]])).round(2).tolist()
    [0.1, 0.4]
    """
    score: FloatArray = 1 - proba.max(axis=1)
    return score


def entropy(proba: FloatArray) -> FloatArray:
    """Score by the entropy of the class probabilities, in nats.

    Higher means less certain, in [0, log n_classes].

    References
    ----------
    Wan, "Neural network classification: a Bayesian interpretation", IEEE Transactions on
    Neural Networks 1(4), 1990.

    Examples
    --------
    >>> entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).round(3).tolist()
    [0.0, 0.693]
    """
    logarithm = np.log(proba, out=np.zeros_like(proba), where=proba > 0)
    score: FloatArray = np.abs((proba * logarithm).sum(axis=1))
    return score


def margin(proba: FloatArray) -> FloatArray:
    """Score by how close the two largest class probabilities are.

    Higher means less certain, in [0, 1].

    Examples
    --------
    >>> margin(np.array([[0.7, 0.2, 0.1], [0.4, 0.4, 0.2]])).round(2).tolist()
    [0.5, 1.0]
    """
    largest = np.partition(proba, proba.shape[1] - 2, axis=1)[:, -2:]
    score: FloatArray = 1 - (largest[:, 1] - largest[:, 0])
    return score


def random_order(proba: FloatArray, *, seed: int) -> FloatArray:
    """Score at random: what withholding without looking would do.

    In [0, 1). The number is a hash of the row and the seed, so that a saved policy withholds
    the same rows again; equal rows share their number.

    Examples
    --------
    >>> proba = np.array([[0.2, 0.8], [0.7, 0.3]])
    >>> bool((random_order(proba, seed=1) == random_order(proba, seed=1)).all())
    True
    """
    state = np.full(len(proba), np.uint64(seed % 2**64))
    for column in np.ascontiguousarray(proba).view(np.uint64).T:
        state = _mixed(state ^ column)
    score: FloatArray = (state >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return score


def _mixed(
    state: np.ndarray[tuple[int], np.dtype[np.uint64]],
) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Scramble 64-bit numbers (the finaliser of the SplitMix64 generator)."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
