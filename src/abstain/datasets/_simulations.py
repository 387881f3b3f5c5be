"""The paper's two simulations, with their published parameters and exact posteriors.

Binary: its Section 6.1 and Figure 1. Four classes: its appendix on the convergence of the
weighted-kappa algorithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import FloatArray, IntArray, check_priors

__all__ = ["Simulation", "simulate_binary_normal", "simulate_four_class_normal"]

FOUR_CLASS_PRIORS = (0.4, 0.3, 0.2, 0.1)
FOUR_CLASS_MEANS = (-8.0, -3.0, 3.0, 4.0)
FOUR_CLASS_SDS = (4.0, 3.0, 3.0, 2.0)


@dataclass(frozen=True, eq=False)
class Simulation:
    """A simulated set of predictions.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        What the classifier sees: one draw from the normal distribution of the true class.
    y : ndarray of shape (n,)
        True labels.
    proba : ndarray of shape (n, n_classes)
        The exact probability of each class given the score: perfectly calibrated.
    """

    scores: FloatArray
    y: IntArray
    proba: FloatArray


def simulate_binary_normal(
    n_samples: int = 10_000,
    *,
    positive_rate: float = 0.1,
    mean_negative: float = -1.0,
    mean_positive: float = 2.0,
    sd_negative: float = 2.0,
    sd_positive: float = 1.0,
    random_state: Any = None,
) -> Simulation:
    """Simulate the paper's binary classifier (its Figure 1 by default).

    Parameters
    ----------
    n_samples : int
        How many examples (the paper's n).
    positive_rate : float
        The proportion of positives (q).
    mean_negative, mean_positive, sd_negative, sd_positive : float
        The normal distribution of the scores of each class (mu and sigma).
    random_state : int, Generator or None
        Seeds the draws.

    Returns
    -------
    Simulation

    Examples
    --------
    >>> simulation = simulate_binary_normal(1000, random_state=0)
    >>> simulation.scores.shape, simulation.proba.shape
    ((1000,), (1000, 2))
    """
    return _simulate(
        n_samples,
        [1 - positive_rate, positive_rate],
        [mean_negative, mean_positive],
        [sd_negative, sd_positive],
        random_state,
    )


def simulate_four_class_normal(
    n_samples: int = 10_000,
    *,
    priors: ArrayLike = FOUR_CLASS_PRIORS,
    means: ArrayLike = FOUR_CLASS_MEANS,
    sds: ArrayLike = FOUR_CLASS_SDS,
    random_state: Any = None,
) -> Simulation:
    """Simulate the paper's four-class classifier.

    Parameters
    ----------
    n_samples : int
        How many examples.
    priors, means, sds : array-like of shape (4,)
        Proportion, mean and standard deviation of each class.
    random_state : int, Generator or None
        Seeds the draws.

    Returns
    -------
    Simulation

    Examples
    --------
    >>> simulate_four_class_normal(1000, random_state=0).proba.shape
    (1000, 4)
    """
    return _simulate(n_samples, priors, means, sds, random_state)


def _simulate(
    n_samples: int, priors: ArrayLike, means: ArrayLike, sds: ArrayLike, random_state: Any
) -> Simulation:
    rng = np.random.default_rng(random_state)
    mean, sd = (np.asarray(values, dtype=np.float64) for values in (means, sds))
    prior = check_priors(priors, n_classes=len(mean))
    y = rng.choice(len(prior), size=n_samples, p=prior)
    scores = rng.normal(mean[y], sd[y])
    return Simulation(scores=scores, y=y, proba=_posterior(scores, prior, mean, sd))


def _posterior(
    scores: FloatArray, prior: FloatArray, mean: FloatArray, sd: FloatArray
) -> FloatArray:
    """Apply Bayes' rule to normal class distributions, in logarithms."""
    with np.errstate(divide="ignore"):  # a class of proportion 0 has probability 0
        joint = np.log(prior / sd) - 0.5 * ((scores[:, None] - mean) / sd) ** 2
    joint -= joint.max(axis=1, keepdims=True)
    likelihood = np.exp(joint)
    posterior: FloatArray = likelihood / likelihood.sum(axis=1, keepdims=True)
    return posterior
