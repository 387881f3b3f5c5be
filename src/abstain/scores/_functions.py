"""Metric-agnostic scores of uncertainty: what the paper compares against (its Section 4).

Each is a function of calibrated probabilities, a column per class or the positive class of two
alone; the highest scores are withheld first. Test-time dropout, which the paper's Section 3
compares against and its appendix also predicts by, scores by several predictions for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from inspect import signature
from typing import Any

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
from abstain._kernels.label_draws import row_numbers
from abstain._kernels.softmax import scaled_softmax
from abstain.program import Value, constant, log, of_rows, weighted_log, where


def of_operations(operations: Callable[..., Value]) -> Callable[..., FloatArray]:
    """Make a score of what states it: a function of arrays, and of whatever else decides by it.

    Parameters
    ----------
    operations : callable
        Takes a block of probabilities as ``program.Value``, a column per class, and returns the
        column of scores, higher for less certain rows.

    Returns
    -------
    callable
        Takes probabilities of shape (n, n_classes), and returns a number for each row. A policy
        that withholds by it is exported like any other.

    Examples
    --------
    >>> from abstain import scores
    >>> @scores.of_operations
    ... def doubt(proba):
    ...     return 1.0 - proba.largest()
    >>> doubt(np.array([[0.75, 0.25]]))
    array([0.25])
    """

    def score(proba: ArrayLike, **parameters: Any) -> FloatArray:
        return of_rows(lambda rows: operations(rows, **parameters), as_proba(proba))

    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(score, name, getattr(operations, name))
    theirs = signature(operations)
    given = [one.replace(annotation="ArrayLike") for one in theirs.parameters.values()]
    score.__signature__ = theirs.replace(parameters=given, return_annotation="FloatArray")  # type: ignore[attr-defined]
    score.operations = operations  # type: ignore[attr-defined]
    return score


@of_operations
def max_probability(proba: Value) -> Value:
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
    return 1.0 - proba.largest()


@of_operations
def distance_from_half(proba: Value) -> Value:
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
    if proba.width != 2:
        raise ValueError(
            f"`score` 'distance-from-half' is for two classes; `proba` has {proba.width} "
            f"columns. 'max-probability' is the same for many."
        )
    return 0.5 - abs(proba[1] - 0.5)


@of_operations
def js_divergence(proba: Value, *, priors: ArrayLike) -> Value:
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
    q = constant(check_priors(priors, n_classes=proba.width or 0))
    middle = (proba + q) / 2.0
    return 1.0 - (_divergence(proba, middle) + _divergence(q, middle)) / 2.0


@of_operations
def entropy(proba: Value) -> Value:
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
    return abs(weighted_log(proba, proba))


@of_operations
def gini(proba: Value) -> Value:
    """Score by the chance that two draws from a row's class probabilities differ.

    Higher means less certain, in [0, 1 - 1 / n_classes]. It is the squared error to be expected,
    so ``brier`` withholds by it; of two classes the order is that of the largest probability.

    Examples
    --------
    >>> gini(np.array([[0.9, 0.1], [0.5, 0.5]])).round(2).tolist()
    [0.18, 0.5]
    """
    return 1.0 - (proba * proba).total()


@of_operations
def margin(proba: Value) -> Value:
    """Score by how close the two largest class probabilities are.

    Higher means less certain, in [0, 1].

    Examples
    --------
    >>> margin(np.array([[0.7, 0.2, 0.1], [0.4, 0.4, 0.2]])).round(2).tolist()
    [0.5, 1.0]
    """
    two = proba.top(2)
    return 1.0 - (two[0] - two[1])


@of_operations
def codoc(proba: Value, *, advantages: ArrayLike, ratios: ArrayLike) -> Value:
    """Score by how much more often readers are right than the model, at the model's own score.

    In [-1, 1]; above 0 a case is better deferred. The model's score is the probability of the
    positive class of two, and of more classes the largest one, before any shift: the method knows
    of none.

    Parameters
    ----------
    proba : array-like of shape (n, n_classes), or (n,) for the positive class of two
        Calibrated probabilities.
    advantages : array-like of shape (2, n_knots)
        Scores that rise, and the advantage at each, as measured on labelled rows with answers.
    ratios : array-like of shape (n_classes,)
        New over old class proportions that the probabilities are adapted to.

    References
    ----------
    Dvijotham et al., "Enhancing the reliability and accuracy of AI-enabled diagnosis via
    complementarity-driven deferral to clinicians", Nature Medicine 29, 2023.

    Examples
    --------
    >>> codoc(np.array([[0.8, 0.2]]), advantages=[[0.0, 1.0], [0.5, -0.5]], ratios=[1, 1])
    array([0.3])
    """
    knots, values = np.asarray(advantages, dtype=np.float64)
    before = proba * (1 / np.maximum(np.asarray(ratios, dtype=np.float64), 1e-12))
    before = before / before.total()
    return (before[1] if proba.width == 2 else before.largest()).interpolated(knots, values)


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


def _divergence(proba: Value, middle: Value) -> Value:
    """State the Kullback-Leibler divergence of each row, in nats; 0 log 0 is 0."""
    some = proba > 0.0
    ratio = where(some, proba / where(some, middle, 1.0), 1.0)
    return (log(ratio) * proba).total()


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
    if not isinstance(samples, Iterable):
        raise TypeError(
            f"`samples` must be draws of the same rows' probabilities; got {shown(samples)}."
        )
    mean, squares, count = np.zeros(()), np.zeros(()), 0
    for proba in _alike(check_proba(sample, name="samples") for sample in samples):
        # Welford's update keeps small variances exact where a difference of sums would not.
        count += 1
        step = proba - mean
        mean = mean + step / count
        squares = squares + step * (proba - mean)
    most_confident = mean.argmax(axis=1)
    return np.asarray(squares[np.arange(len(mean)), most_confident] / count)


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
    for scores in _alike(check_scores(one, scale=scale, name="samples") for one in samples):
        n_classes = scores.shape[1]
        if scale == "logits":
            scores = scaled_softmax(scores, np.ones(n_classes), np.zeros(n_classes))
        total = total + scores
        count += 1
    return total / count


def _alike(draws: Iterable[FloatArray]) -> Iterator[FloatArray]:
    """Give draws, all of the same rows; raise where they are not, or there is none."""
    first = None
    for count, draw in enumerate(draws):
        first = draw.shape if first is None else first
        if draw.shape != first:
            raise ValueError(
                f"`samples` must hold the same rows in every draw; draw {count} has shape "
                f"{draw.shape}, those before it {first}."
            )
        yield draw
    if first is None:
        raise ValueError("`samples` holds no draw; pass at least one, and a hundred to score by.")
