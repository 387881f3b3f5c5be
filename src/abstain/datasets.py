"""Simulators with known answers, and the data of the demo.

The paper's two simulations come with their published parameters and exact posteriors. Binary: its
Section 6.1 and Figure 1. Four classes: its appendix on the convergence of the weighted-kappa
algorithms. The demo's story is a screening clinic whose patients changed after the model was
validated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import (
    FloatArray,
    IntArray,
    check_fraction,
    check_generator,
    check_number,
    check_priors,
    check_whole,
    float_array,
)
from abstain.shift import adapt_proba

__all__ = ["screening_clinic", "simulate_binary_normal", "simulate_four_class_normal"]

FOUR_CLASS_PRIORS = (0.4, 0.3, 0.2, 0.1)
FOUR_CLASS_MEANS = (-8.0, -3.0, 3.0, 4.0)
FOUR_CLASS_SDS = (4.0, 3.0, 3.0, 2.0)
MOST_ROWS = 100_000_000
#: Of means and standard deviations, so that squares of what is drawn are finite.
LARGEST = 1e70
VALIDATION_RATE = 1 / 10
TARGET_RATE = 1 / 3
# The clinic's model is over-confident and leans to "healthy", as trained networks do.
OVERCONFIDENCE = 1.7
BIAS = -0.5


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
        How many examples (the paper's n), at most a hundred million.
    positive_rate : float
        The proportion of positives (q).
    mean_negative, mean_positive, sd_negative, sd_positive : float
        The normal distribution of the scores of each class (mu and sigma); up to 1e70, and a
        standard deviation from 1e-70 on.
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
    rate = check_fraction(positive_rate, name="positive_rate")
    given = {"negative": (mean_negative, sd_negative), "positive": (mean_positive, sd_positive)}
    mean = [check_number(one, name=f"mean_{side}") for side, (one, _) in given.items()]
    sd = [check_number(one, name=f"sd_{side}") for side, (_, one) in given.items()]
    return _simulate(n_samples, [1 - rate, rate], mean, sd, random_state)


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
        How many examples, at most a hundred million.
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
    rng = check_generator(random_state)
    check_whole(n_samples, name="n_samples", least=1, most=MOST_ROWS)
    mean, sd = float_array(means, "means"), float_array(sds, "sds")
    if mean.ndim != 1 or mean.shape != sd.shape or len(mean) < 2:
        raise ValueError(
            f"`means` and `sds` must have one number for each class; got shapes {mean.shape} and "
            f"{sd.shape}."
        )
    if not (np.abs(mean) <= LARGEST).all():
        raise ValueError(f"`means` must be finite, at most {LARGEST:g}; got {mean.tolist()}.")
    if not ((sd >= 1 / LARGEST) & (sd <= LARGEST)).all():
        raise ValueError(
            f"`sds` must be above 0, from {1 / LARGEST:g} to {LARGEST:g}; got {sd.tolist()}."
        )
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
    return np.asarray(likelihood / likelihood.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class ScreeningClinic:
    """Predictions of a screening model at validation and in the field.

    Attributes
    ----------
    scores_val, scores_target : ndarray
        Logits of the positive class ("disease"), miscalibrated.
    y_val, y_target : ndarray
        True labels; those of the target are for judging only.
    proba_target : ndarray of shape (n, 2)
        The exact class probabilities of the target, for judging only.
    """

    scores_val: FloatArray
    y_val: IntArray
    scores_target: FloatArray
    y_target: IntArray
    proba_target: FloatArray


def screening_clinic(
    n_val: int = 5_000, n_target: int = 5_000, *, random_state: Any = 0
) -> ScreeningClinic:
    """Simulate a screening clinic under label shift.

    The paper's binary simulation, one patient in ten ill at validation and one in three in the
    target, seen through a model whose logits are over-confident.

    Parameters
    ----------
    n_val, n_target : int
        How many patients.
    random_state : int, Generator or None
        Seeds the draws.

    Returns
    -------
    ScreeningClinic

    Examples
    --------
    >>> clinic = screening_clinic(random_state=0)
    >>> round(float(clinic.y_val.mean()), 2), round(float(clinic.y_target.mean()), 2)
    (0.1, 0.34)
    """
    rng = check_generator(random_state)
    val = simulate_binary_normal(n_val, positive_rate=VALIDATION_RATE, random_state=rng)
    target = simulate_binary_normal(n_target, positive_rate=TARGET_RATE, random_state=rng)
    # The model learned at the validation proportions and does not know that they moved.
    back = np.array([(1 - VALIDATION_RATE) / (1 - TARGET_RATE), VALIDATION_RATE / TARGET_RATE])
    return ScreeningClinic(
        scores_val=_model_logit(val.proba),
        y_val=val.y,
        scores_target=_model_logit(adapt_proba(target.proba, back)),
        y_target=target.y,
        proba_target=target.proba,
    )


def _model_logit(proba: FloatArray) -> FloatArray:
    return OVERCONFIDENCE * (np.log(proba[:, 1]) - np.log(proba[:, 0])) + BIAS
