"""Test-time dropout: how much a prediction moves when the network's dropout is left on.

The paper's Section 3 compares against it; its appendix also predicts with the mean of the draws.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray, Scale, check_proba, check_scores
from abstain._kernels.softmax import scaled_softmax

__all__ = ["dropout_mean", "dropout_variance"]


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
