"""Probabilities that are there already, as a fitted scikit-learn classifier that returns them."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

__all__ = ["Given"]


class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose features are the probabilities themselves, for packages that wrap one."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn nothing but the classes, one for each column."""
        self.classes_ = np.arange(np.shape(X)[1])
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return what came."""
        return np.asarray(X)

    def predict(self, X: Any) -> Any:
        """Return the most probable class."""
        return np.asarray(X).argmax(axis=1)
