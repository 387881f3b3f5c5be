"""Whether a reader errs where the model does: one number, its test, and the confusions it gives.

Given the true class k, the chance of the answer a is taken as ``W[k, a] * p[a] ** g`` over its
sum, with p the model's probabilities before any shift. With g = 0 opinion and model are
independent given the class; above 0 a reader errs on the model's hard rows, and towards what the
model takes for likely. W is such that the mean over the rows of a class is its confusion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaincc

from abstain._inputs import FloatArray, IntArray

#: A probability below this is taken as this: how sure a model is beyond it says nothing of people,
#: who slip where nothing is hard.
LEAST = 1e-2
# Where g is looked for, and how far from 0 it is expected to be.
_RANGE = (-0.5, 1.5)
_SPREAD = 0.5
_ROUNDS = 25
# More numbers than this say no more of one number.
_MOST = 2**18
_TINY = np.finfo(np.float64).tiny


class Dependence(NamedTuple):
    """How the answers depend on the model's probabilities, given the true class.

    Attributes
    ----------
    strength : float
        The exponent g.
    weights : ndarray of shape (n_classes, n_classes)
        W.
    p_value : float
        How probably answers that are independent given the class look as dependent.
    """

    strength: float
    weights: FloatArray
    p_value: float


def dependence_of(
    confusion: FloatArray,
    proba: FloatArray,
    codes: IntArray,
    answers: IntArray,
    weight: FloatArray,
) -> Dependence:
    """Fit how answers depend on probabilities, drawn a little towards not at all.

    Parameters
    ----------
    confusion : ndarray of shape (n_classes, n_classes)
        The mean chance of each answer, given the class.
    proba : ndarray of shape (n, n_classes)
        The model's, by a calibrator that did not see the labels.
    codes, answers : ndarray of shape (n,)
        The true column, and the reader's.
    weight : ndarray of shape (n,)
    """
    step = slice(None, None, -(-proba.size // _MOST))
    logs = np.log(np.maximum(proba[step], LEAST))
    codes, answers, weight = codes[step], answers[step], weight[step]
    weights = confusion.copy()

    def misfit(strength: float) -> float:
        found = _log_likelihood(strength, weights, confusion, (logs, codes, answers, weight))
        return 0.5 * (strength / _SPREAD) ** 2 - found

    found = minimize_scalar(misfit, bounds=_RANGE, method="bounded", options={"xatol": 1e-6})
    strength = float(found.x)
    at_zero, at_best = misfit(0.0), misfit(strength)
    gained = at_zero - at_best + 0.5 * (strength / _SPREAD) ** 2
    return Dependence(strength, weights, float(gammaincc(0.5, max(gained, 0.0))))


def _log_likelihood(
    strength: float,
    weights: FloatArray,
    confusion: FloatArray,
    rows: tuple[FloatArray, IntArray, IntArray, FloatArray],
) -> float:
    """Return that of the answers; the weights are fitted on the way, from where they stand."""
    logs, codes, answers, weight = rows
    powers, total = np.exp(strength * logs), 0.0
    for k in range(len(confusion)):
        own = codes == k
        count = weight[own]
        if not count.any():
            weights[k] = confusion[k]
            continue
        power = powers[own]
        for _ in range(_ROUNDS):
            chance = power * weights[k]
            chance /= chance.sum(axis=1, keepdims=True)
            weights[k] *= confusion[k] / np.maximum(count @ chance / count.sum(), _TINY)
            weights[k] /= weights[k].sum()
        chance = power * weights[k]
        chance /= chance.sum(axis=1, keepdims=True)
        total += float(count @ np.log(chance[np.arange(len(chance)), answers[own]]))
    return total
