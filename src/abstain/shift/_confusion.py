"""Class proportions from the confusion matrix: BBSE and RLLS, hard and soft.

What the paper's companion study compares maximum likelihood with. They need the source's
labels, but not that the probabilities are calibrated.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from abstain._inputs import FloatArray, number
from abstain._numerics import minimise
from abstain._schema import AMOUNT, Keys
from abstain.exceptions import NotIdentifiable, Way
from abstain.shift._base import FROM, ShiftEstimator, SourcePriors
from abstain.shift._identifiable import require_regular
from abstain.summaries import BatchSummary, LabelledSummary

_STRONGEST = 1e9


class ConfusionShift(ShiftEstimator):
    """Base of the estimators that solve confusion @ weights = target's predictions."""

    needs_labels: ClassVar[bool] = True
    #: Whether the most likely class is counted, or its probability.
    hard: ClassVar[bool]

    def _fit(self, source: LabelledSummary, target: BatchSummary) -> None:
        if source.codes is None:
            raise ValueError(f"{type(self).__name__} needs `y_source`.")
        n, n_classes = source.proba.shape
        weight = np.ones(n) if source.weight is None else source.weight
        confusion = np.empty((n_classes, n_classes))
        for j in range(n_classes):
            of_class = source.codes == j
            confusion[:, j] = self._predicted(source.proba[of_class], weight[of_class])
        total = weight.sum()
        confusion /= total
        everyone = np.ones(len(target.proba)) if target.weight is None else target.weight
        predicted = self._predicted(target.proba, everyone) / everyone.sum()
        frequency = np.bincount(source.codes, weights=weight, minlength=n_classes) / total
        known = frequency > 0
        require_regular(confusion[:, known].T @ confusion[:, known], np.flatnonzero(known))
        ratios = np.zeros(n_classes)
        ratios[known] = self._solve(confusion[:, known], predicted, float(total))
        priors = np.maximum(ratios, 0.0) * frequency
        if not priors.any():
            raise NotIdentifiable(
                "No mixture of the classes of the source is predicted as the target is: every "
                "estimated proportion is 0 or below. Use more rows, or shift='em'.",
                tuple(np.flatnonzero(known).tolist()),
                ways=[Way("shift", "em", "shift='em'")],
            )
        self.priors_ = priors / priors.sum()

    def _predicted(self, proba: FloatArray, weight: FloatArray) -> FloatArray:
        """Return how much of the weight goes to each predicted class."""
        if self.hard:
            most_likely = np.argmax(proba, axis=1)
            return np.bincount(most_likely, weights=weight, minlength=proba.shape[1]).astype(
                np.float64
            )
        return weight @ proba

    @abstractmethod
    def _solve(self, confusion: FloatArray, predicted: FloatArray, n: float) -> FloatArray:
        """Return the ratio of target to source proportion of each class."""


class BBSEHard(ConfusionShift):
    """Black-box shift estimation from predicted classes.

    Parameters
    ----------
    source_priors : {"mean-probability", "label-frequency"}
        Where the source's class proportions come from.

    Attributes
    ----------
    source_priors_, priors_, weights_ : ndarray of shape (n_classes,)
        Proportions of the source and the target, and their ratio.

    Raises
    ------
    NotIdentifiable
        If the confusion matrix is singular; the message names the classes.

    Notes
    -----
    With ``C[i, j]`` the share of source rows predicted i and of class j, and m the shares
    predicted on the target, the ratios w solve ``C w = m``; negative ones become 0.

    References
    ----------
    Z. Lipton, Y.-X. Wang, A. Smola (2018). Detecting and correcting for label shift with black
    box predictors. ICML.

    Examples
    --------
    >>> from abstain.shift import BBSEHard
    >>> source = [[0.9, 0.1]] * 5 + [[0.2, 0.8]] * 5
    >>> y = [0, 0, 0, 0, 1, 0, 1, 1, 1, 1]  # one of five is wrong on each side
    >>> target = [[0.9, 0.1]] * 35 + [[0.2, 0.8]] * 65
    >>> BBSEHard().fit(source, target, y).priors_  # 0.2 + 0.6 q = 0.65
    array([0.25, 0.75])
    """

    name: ClassVar[str] = "bbse-hard"
    keys: ClassVar[Keys] = FROM
    hard: ClassVar[bool] = True

    def _solve(self, confusion: FloatArray, predicted: FloatArray, n: float) -> FloatArray:
        return _least_squares(confusion, predicted)


class BBSESoft(BBSEHard):
    """Black-box shift estimation from predicted probabilities.

    Parameters
    ----------
    source_priors : {"mean-probability", "label-frequency"}
        Where the source's class proportions come from.

    Attributes
    ----------
    source_priors_, priors_, weights_ : ndarray of shape (n_classes,)
        Proportions of the source and the target, and their ratio.

    Notes
    -----
    As ``BBSEHard``, with each row's probabilities in place of its predicted class.

    Examples
    --------
    >>> from abstain.shift import BBSESoft
    >>> source = [[0.8, 0.2]] * 5 + [[0.2, 0.8]] * 5
    >>> y = [0, 0, 0, 0, 1, 0, 1, 1, 1, 1]
    >>> target = [[0.8, 0.2]] * 35 + [[0.2, 0.8]] * 65
    >>> BBSESoft().fit(source, target, y).priors_
    array([0.25, 0.75])
    """

    name: ClassVar[str] = "bbse-soft"
    hard: ClassVar[bool] = False


class RLLSHard(ConfusionShift):
    """Regularised learning of label shift, from predicted classes.

    Parameters
    ----------
    source_priors : {"mean-probability", "label-frequency"}
        Where the source's class proportions come from.
    regularisation : float
        Strength of the pull to no shift, as a share of the bound in the reference; up to 1e9.

    Attributes
    ----------
    source_priors_, priors_, weights_ : ndarray of shape (n_classes,)
        Proportions of the source and the target, and their ratio.

    Notes
    -----
    With the notation of ``BBSEHard`` and ``w = 1 + t``, it minimises
    ``|C t - (m - C 1)| + r |t|`` over ``t >= -1``, where
    ``r = 3 regularisation (2 log(2 k / 0.05) / (3 n) + sqrt(2 log(2 k / 0.05) / n))`` for k
    classes and n source rows: the more rows, the less pull.

    References
    ----------
    K. Azizzadenesheli, A. Liu, F. Yang, A. Anandkumar (2019). Regularized learning for domain
    adaptation under label shifts. ICLR.

    Examples
    --------
    >>> from abstain.shift import RLLSHard
    >>> source = [[0.9, 0.1]] * 5 + [[0.2, 0.8]] * 5
    >>> y = [0, 0, 0, 0, 1, 0, 1, 1, 1, 1]
    >>> target = [[0.9, 0.1]] * 35 + [[0.2, 0.8]] * 65
    >>> RLLSHard(regularisation=0.0).fit(source, target, y).priors_.round(4)
    array([0.25, 0.75])
    """

    name: ClassVar[str] = "rlls-hard"
    keys: ClassVar[Keys] = FROM | {"regularisation?": AMOUNT}
    hard: ClassVar[bool] = True

    def __init__(
        self, *, source_priors: SourcePriors = "mean-probability", regularisation: float = 0.01
    ) -> None:
        super().__init__(source_priors=source_priors)
        self.regularisation = regularisation

    def _solve(self, confusion: FloatArray, predicted: FloatArray, n: float) -> FloatArray:
        if not 0 <= number(self.regularisation, "regularisation") <= _STRONGEST:
            raise ValueError(
                f"`regularisation` must be at least 0; got {self.regularisation!r}. It is at most "
                f"{_STRONGEST:g}."
            )
        n_classes = confusion.shape[1]
        spread = np.log(2 * n_classes / 0.05)
        strength = 3 * self.regularisation * (2 * spread / (3 * n) + np.sqrt(2 * spread / n))
        return 1 + _pulled_to_zero(confusion, predicted - confusion.sum(axis=1), strength)


class RLLSSoft(RLLSHard):
    """Regularised learning of label shift, from predicted probabilities.

    Parameters
    ----------
    source_priors : {"mean-probability", "label-frequency"}
        Where the source's class proportions come from.
    regularisation : float
        Strength of the pull to no shift, as a share of the bound in the reference; up to 1e9.

    Attributes
    ----------
    source_priors_, priors_, weights_ : ndarray of shape (n_classes,)
        Proportions of the source and the target, and their ratio.

    Notes
    -----
    As ``RLLSHard``, with each row's probabilities in place of its predicted class.

    Examples
    --------
    >>> from abstain.shift import RLLSSoft
    >>> source = [[0.8, 0.2]] * 5 + [[0.2, 0.8]] * 5
    >>> y = [0, 0, 0, 0, 1, 0, 1, 1, 1, 1]
    >>> target = [[0.8, 0.2]] * 35 + [[0.2, 0.8]] * 65
    >>> RLLSSoft(regularisation=0.0).fit(source, target, y).priors_.round(4)
    array([0.25, 0.75])
    """

    name: ClassVar[str] = "rlls-soft"
    hard: ClassVar[bool] = False


def _least_squares(confusion: FloatArray, predicted: FloatArray) -> FloatArray:
    """Solve for ratios, clipped at 0."""
    ratios, *_ = np.linalg.lstsq(confusion, predicted, rcond=None)
    clipped: FloatArray = np.maximum(ratios, 0.0)
    return clipped


def _pulled_to_zero(matrix: FloatArray, aim: FloatArray, strength: float) -> FloatArray:
    """Minimise ``|matrix t - aim| + strength |t|`` over ``t >= -1``."""
    exact: FloatArray = np.linalg.lstsq(matrix, aim, rcond=None)[0].astype(np.float64)
    size = np.linalg.norm(exact)
    if size == 0:
        return exact
    # The first norm has a corner where it is 0; the pull leaves the corner only if it is
    # stronger than the corner is steep.
    against = np.linalg.lstsq(matrix.T, strength * exact / size, rcond=None)[0]
    if (exact >= -1).all() and np.linalg.norm(against) <= 1:
        return exact
    # Nor does it leave the corner of the pull, where the misfit is less steep than that.
    if np.linalg.norm(matrix.T @ aim) <= strength * np.linalg.norm(aim):
        return np.zeros_like(exact)
    k = len(exact)

    def objective(t: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        residual = matrix @ t - aim
        # Corners are rounded off, far below the noise of any data.
        misfit, length = (
            np.hypot(np.linalg.norm(residual), 1e-9),
            np.hypot(np.linalg.norm(t), 1e-9),
        )
        towards = matrix.T @ residual / misfit
        gradient = towards + strength * t / length
        hessian = (matrix.T @ matrix - np.outer(towards, towards)) / misfit + strength * (
            np.eye(k) / length - np.outer(t, t) / length**3
        )
        return float(misfit + strength * length), gradient, hessian

    return minimise(objective, np.clip(exact, -1.0, None) / 2, lower=-1.0).x
