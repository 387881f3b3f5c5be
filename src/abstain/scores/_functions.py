"""Metric-agnostic scores of uncertainty: what the paper compares against (its Section 4).

Each is a function of calibrated probabilities, a column per class or the positive class of two
alone; the highest scores are withheld first. Test-time dropout, which the paper's Section 3
compares against and its appendix also predicts by, scores by several predictions for each row.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import (
    FloatArray,
    Scale,
    as_proba,
    check_priors,
    check_proba,
    check_scores,
    shown,
)
from abstain._kernels.row_hash import row_numbers
from abstain._kernels.softmax import scaled_softmax


def max_probability(proba: ArrayLike) -> FloatArray:
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
    score: FloatArray = 1 - as_proba(proba).max(axis=1)
    return score


def distance_from_half(proba: ArrayLike) -> FloatArray:
    """Score two classes by how close the positive probability is to one half.

    Higher means less certain, in [0, 0.5]. The same order as the largest class probability,
    under the name the paper has for it when there are two classes.

    Raises
    ------
    ValueError
        If there are more than two classes.

    Examples
    --------
    >>> distance_from_half(np.array([[0.9, 0.1], [0.4, 0.6]])).round(2).tolist()
    [0.1, 0.4]
    """
    rows = as_proba(proba)
    if rows.shape[1] != 2:
        raise ValueError(
            f"`score` 'distance-from-half' is for two classes; `proba` has {rows.shape[1]} "
            f"columns. 'max-probability' is the same for many."
        )
    score: FloatArray = 0.5 - np.abs(rows[:, 1] - 0.5)
    return score


def js_divergence(proba: ArrayLike, *, priors: ArrayLike) -> FloatArray:
    r"""Score by how little the class probabilities differ from the class proportions.

    Higher means less is known of the row, in [1 - log 2, 1]. A row scores 1 when its
    probabilities say no more than the proportions do. With label shift the proportions are
    those of the target, and the probabilities adapted to them.

    Parameters
    ----------
    proba : array-like of shape (n, n_classes), or (n,) for the positive class of two
        Calibrated probabilities.
    priors : array-like of shape (n_classes,)
        Class proportions of the same rows.

    Returns
    -------
    ndarray of shape (n,)

    Notes
    -----
    With :math:`m = (p + q) / 2`, q the proportions, and natural logarithms, the score is

    .. math:: 1 - \tfrac12 \sum_c p_c \log \frac{p_c}{m_c}
                - \tfrac12 \sum_c q_c \log \frac{q_c}{m_c}.

    References
    ----------
    Alexandari, Kundaje, Shrikumar. A General Framework for Abstention Under Label Shift, the
    section on the Jensen-Shannon divergence.

    Examples
    --------
    >>> js_divergence(np.array([[0.9, 0.1], [0.5, 0.5]]), priors=[0.9, 0.1]).round(3).tolist()
    [1.0, 0.898]
    """
    rows = as_proba(proba)
    q = check_priors(priors, n_classes=rows.shape[1])
    middle = (rows + q) / 2
    divergence = (_divergence(rows, middle) + _divergence(q, middle)) / 2
    score: FloatArray = 1 - divergence
    return score


def entropy(proba: ArrayLike) -> FloatArray:
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
    rows = as_proba(proba)
    logarithm = np.log(rows, out=np.zeros_like(rows), where=rows > 0)
    score: FloatArray = np.abs((rows * logarithm).sum(axis=1))
    return score


def margin(proba: ArrayLike) -> FloatArray:
    """Score by how close the two largest class probabilities are.

    Higher means less certain, in [0, 1].

    Examples
    --------
    >>> margin(np.array([[0.7, 0.2, 0.1], [0.4, 0.4, 0.2]])).round(2).tolist()
    [0.5, 1.0]
    """
    rows = as_proba(proba)
    largest = np.partition(rows, rows.shape[1] - 2, axis=1)[:, -2:]
    score: FloatArray = 1 - (largest[:, 1] - largest[:, 0])
    return score


def random_order(proba: ArrayLike, *, seed: int) -> FloatArray:
    """Score at random: what withholding without looking would do.

    In [0, 1). The number is a hash of the row and the seed, so that a saved policy withholds
    the same rows again; equal rows share their number.

    Examples
    --------
    >>> proba = np.array([[0.2, 0.8], [0.7, 0.3]])
    >>> bool((random_order(proba, seed=1) == random_order(proba, seed=1)).all())
    True
    """
    return row_numbers(np.ascontiguousarray(as_proba(proba)), seed)


def _divergence(proba: FloatArray, middle: FloatArray) -> FloatArray:
    """Return the Kullback-Leibler divergence of each row, in nats; 0 log 0 is 0."""
    p = np.broadcast_to(proba, middle.shape)
    ratio = np.divide(p, middle, out=np.ones_like(middle), where=p > 0)
    # A sum over columns one by one: a row comes out the same alone as in a batch.
    total = np.zeros(len(middle))
    for c in range(middle.shape[1]):
        total += p[:, c] * np.log(ratio[:, c])
    return total


def dropout_variance(samples: Iterable[ArrayLike]) -> FloatArray:
    r"""Score by the variance of the prediction over draws of test-time dropout.

    Higher means less certain, in [0, 0.25].

    Parameters
    ----------
    samples : iterable of array-like, each of shape (n, n_classes) or (n,)
        The probabilities of the same rows in each draw, such as an array of shape
        (n_samples, n, n_classes). A generator is read once, and one draw is held at a time.
        One dimension means the positive class of two.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    ValueError
        If there is no draw, or the draws differ in shape.

    Notes
    -----
    With :math:`c^*` the class with the highest mean over the M draws, the score is
    :math:`\frac1M \sum_m (p^m_{c^*} - \bar p_{c^*})^2`. For two classes it does not matter which
    of them is taken.

    References
    ----------
    Gal, Ghahramani. Dropout as a Bayesian approximation. ICML 2016. Of the most confident
    class: Geifman, El-Yaniv. Selective classification for deep neural networks. NeurIPS 2017.

    Examples
    --------
    >>> dropout_variance([[0.5, 0.9], [0.7, 0.9]]).round(4).tolist()
    [0.01, 0.0]
    """
    mean, squares, count = np.empty(0), np.empty(0), 0
    if not isinstance(samples, Iterable):
        raise TypeError(
            f"`samples` must be draws of the same rows' probabilities; got {shown(samples)}."
        )
    for sample in samples:
        proba = check_proba(sample, name="samples")
        if count == 0:
            mean, squares = np.zeros_like(proba), np.zeros_like(proba)
        elif proba.shape != mean.shape:
            raise ValueError(
                f"`samples` must hold the same rows in every draw; draw {count} has shape "
                f"{proba.shape}, those before it {mean.shape}."
            )
        # Welford's update keeps small variances exact where a difference of sums would not.
        count += 1
        step = proba - mean
        mean += step / count
        squares += step * (proba - mean)
    if count == 0:
        raise ValueError("`samples` holds no draw; pass at least one, and a hundred to score by.")
    most_confident = mean.argmax(axis=1)
    variance: FloatArray = squares[np.arange(len(mean)), most_confident] / count
    return variance


def dropout_mean(samples: Iterable[ArrayLike], *, scale: Scale) -> FloatArray:
    """Return the mean probability over draws of test-time dropout, to predict with.

    The paper's appendix predicts, and calibrates, with it instead of the network's output with
    dropout off. The result is on the scale of probabilities.

    Parameters
    ----------
    samples : iterable of array-like, each of shape (n, n_classes) or (n,)
        The scores of the same rows in each draw.
    scale : {"probabilities", "logits"}
        What the scores are; the mean is of probabilities either way.

    Returns
    -------
    ndarray of shape (n, n_classes)

    Examples
    --------
    >>> dropout_mean([[0.5, 0.9], [0.7, 0.9]], scale="probabilities").round(2).tolist()
    [[0.4, 0.6], [0.1, 0.9]]
    """
    total, count = np.zeros(()), 0
    for sample in samples:
        scores = check_scores(sample, scale=scale, name="samples")
        n_classes = scores.shape[1]
        if scale == "logits":
            scores = scaled_softmax(scores, np.ones(n_classes), np.zeros(n_classes))
        if count and scores.shape != total.shape:
            raise ValueError(
                f"`samples` must hold the same rows in every draw; draw {count} has shape "
                f"{scores.shape}, those before it {total.shape}."
            )
        total = total + scores
        count += 1
    if count == 0:
        raise ValueError("`samples` holds no draw; pass at least one.")
    mean: FloatArray = total / count
    return mean
