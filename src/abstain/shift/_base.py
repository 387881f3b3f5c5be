"""The interface of all label-shift estimators: how the class proportions have moved.

Under label shift p(x | y) stays and p(y) moves, so a calibrated probability is adapted by the
ratio of the new proportions to the old, renormalised (Saerens et al., 2002).
"""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from abstain._kernels.adapt import adapted
from abstain._validation import (
    FloatArray,
    IntArray,
    check_labels,
    check_proba,
    check_sample_weight,
)

__all__ = ["ShiftEstimator", "adapt_proba", "ratio_of_priors"]

SourcePriors = Literal["mean-probability", "label-frequency"]


class ShiftEstimator(BaseEstimator, ABC):
    """Base of all label-shift estimators.

    Parameters
    ----------
    source_priors : {"mean-probability", "label-frequency"}
        Where the source's class proportions come from: the mean calibrated probability on the
        source, as in the paper, so that no shift means no change; or the labels.

    Attributes
    ----------
    source_priors_, priors_ : ndarray of shape (n_classes,)
        Class proportions of the source and of the target.
    weights_ : ndarray of shape (n_classes,)
        Their ratio, target over source.
    """

    #: The registered name.
    name: ClassVar[str]
    #: Whether ``fit`` needs the labels of the source.
    needs_labels: ClassVar[bool] = False

    source_priors_: FloatArray
    priors_: FloatArray
    weights_: FloatArray

    def __init__(self, *, source_priors: SourcePriors = "mean-probability") -> None:
        self.source_priors = source_priors

    def fit(
        self,
        proba_source: ArrayLike,
        proba_target: ArrayLike,
        y_source: ArrayLike | None = None,
        *,
        sample_weight_source: ArrayLike | None = None,
        sample_weight_target: ArrayLike | None = None,
    ) -> Self:
        """Estimate the class proportions of the target.

        Parameters
        ----------
        proba_source : array-like of shape (n_source, n_classes)
            Calibrated probabilities on the labelled source.
        proba_target : array-like of shape (n_target, n_classes)
            Calibrated probabilities on the unlabelled target.
        y_source : array-like of shape (n_source,), optional
            True labels of the source, as column numbers.
        sample_weight_source, sample_weight_target : array-like, optional
            How much each row counts; a whole number equals repetition.

        Returns
        -------
        self
        """
        source = check_proba(proba_source, name="proba_source")
        n, n_classes = source.shape
        target = check_proba(proba_target, name="proba_target", n_classes=n_classes)
        weight_source = check_sample_weight(
            sample_weight_source, n_rows=n, name="sample_weight_source"
        )
        weight_target = check_sample_weight(
            sample_weight_target, n_rows=len(target), name="sample_weight_target"
        )
        if y_source is None and (self.needs_labels or self.source_priors == "label-frequency"):
            raise ValueError(
                f"{type(self).__name__} needs the labels of the source; pass `y_source`."
            )
        codes = (
            None
            if y_source is None
            else check_labels(y_source, n_classes=n_classes, n_rows=n, name="y_source")
        )
        self.source_priors_ = self._source_priors(source, codes, weight_source)
        self._fit(source, target, codes, weight_source, weight_target)
        self.weights_ = ratio_of_priors(self.priors_, self.source_priors_)
        return self

    def transform(self, proba: ArrayLike) -> FloatArray:
        """Return the probabilities adapted to the target's class proportions."""
        check_is_fitted(self)
        return adapt_proba(proba, self.weights_)

    @abstractmethod
    def _fit(
        self,
        source: FloatArray,
        target: FloatArray,
        codes: IntArray | None,
        weight_source: FloatArray | None,
        weight_target: FloatArray | None,
    ) -> None:
        """Set ``priors_``, and whatever else the estimator tells."""

    def _source_priors(
        self, source: FloatArray, codes: IntArray | None, weight: FloatArray | None
    ) -> FloatArray:
        if self.source_priors == "mean-probability":
            mean: FloatArray = np.average(source, axis=0, weights=weight)
            return mean
        if self.source_priors == "label-frequency" and codes is not None:
            counts = np.bincount(codes, weights=weight, minlength=source.shape[1])
            frequency: FloatArray = counts / counts.sum()
            return frequency
        raise ValueError(
            f'`source_priors` must be "mean-probability" or "label-frequency"; '
            f"got {self.source_priors!r}."
        )


def adapt_proba(proba: ArrayLike, weights: FloatArray) -> FloatArray:
    """Adapt probabilities by class weights, the ratios of new to old proportions.

    Parameters
    ----------
    proba : array-like of shape (n, n_classes)
        Calibrated probabilities.
    weights : ndarray of shape (n_classes,)
        Target over source proportion of each class.

    Returns
    -------
    ndarray of shape (n, n_classes)
        ``proba * weights``, each row renormalised. A row whose every possible class has
        weight 0 contradicts the weights and is returned as it was.
    """
    matrix = check_proba(proba, n_classes=len(weights))
    return adapted(matrix, np.asarray(weights, dtype=np.float64))


def ratio_of_priors(target: FloatArray, source: FloatArray) -> FloatArray:
    """Return target over source proportions; 1 for a class that neither has."""
    return np.divide(target, source, out=np.ones_like(target), where=source > 0)
