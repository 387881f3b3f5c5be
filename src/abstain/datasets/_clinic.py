"""The demo's story: a screening clinic whose patients changed after the model was validated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from abstain._inputs import FloatArray, IntArray, check_generator
from abstain.datasets._simulations import simulate_binary_normal
from abstain.shift import adapt_proba

VALIDATION_RATE = 1 / 10
TARGET_RATE = 1 / 3
# The clinic's model is over-confident and leans to "healthy", as trained networks do.
OVERCONFIDENCE = 1.7
BIAS = -0.5


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
    logit: FloatArray = OVERCONFIDENCE * (np.log(proba[:, 1]) - np.log(proba[:, 0])) + BIAS
    return logit
