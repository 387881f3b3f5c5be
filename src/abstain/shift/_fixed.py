"""Class proportions that need no estimate: given by the user, or those of the source."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import MOST_DRAWS, FloatArray, check_priors, check_whole
from abstain._numerics import raise_not_fitted
from abstain._schema import SHARE, Either, Keys, proportions
from abstain.exceptions import ArgumentError, Way
from abstain.shift._base import FROM, Assumed, DrawMethod, ShiftEstimator, SourcePriors
from abstain.summaries import BatchSummary, LabelledSummary


class NoShift(ShiftEstimator):
    """The target has the class proportions of the source.

    Parameters
    ----------
    source_priors : {"mean-probability", "label-frequency"}
        Where the source's class proportions come from.

    Attributes
    ----------
    source_priors_, priors_, weights_ : ndarray of shape (n_classes,)
        Proportions of the source and the target, and their ratio: ones.

    Examples
    --------
    >>> from abstain.shift import NoShift
    >>> NoShift().fit([[0.75, 0.25], [0.25, 0.75]], [[0.5, 0.5]]).priors_
    array([0.5, 0.5])
    """

    name: ClassVar[str] = "none"
    keys: ClassVar[Keys] = FROM
    assumed: ClassVar[Assumed] = "no-shift"

    def ratio_draws(
        self, moved: FloatArray, weight: FloatArray, source: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return ones: nothing is adapted."""
        return np.ones_like(source[1:])

    def _fit(self, source: LabelledSummary, target: BatchSummary) -> None:
        self.priors_ = self.source_priors_.copy()

    def _with_known(self, priors: FloatArray, n: float, known: FloatArray) -> FloatArray:
        return priors

    def prior_draws(
        self, n_draws: int = 1000, seed: int = 0, *, method: DrawMethod | None = None
    ) -> FloatArray:
        """Return the proportions themselves, again and again: they are taken as known."""
        if not hasattr(self, "priors_"):
            raise_not_fitted(self)
        count = check_whole(n_draws, name="n_draws", most=MOST_DRAWS)
        return np.tile(self.priors_, (count, 1))


class KnownPriors(ShiftEstimator):
    """The class proportions of the target are known: "the prevalence is 3%".

    Parameters
    ----------
    priors : float or array-like of shape (n_classes,)
        The proportions, in the order of the columns (of an :class:`abstain.Abstainer`: of its
        ``classes_``, [negative, positive]); one number is that of the positive class of two.
    source_priors : {"mean-probability", "label-frequency"}
        Where the source's class proportions come from.

    Attributes
    ----------
    source_priors_, priors_, weights_ : ndarray of shape (n_classes,)
        Proportions of the source and the target, and their ratio.

    Examples
    --------
    >>> from abstain.shift import KnownPriors
    >>> shift = KnownPriors(0.03).fit([[0.75, 0.25], [0.25, 0.75]], [[0.5, 0.5]])
    >>> shift.transform([[0.5, 0.5]])
    array([[0.97, 0.03]])
    """

    name: ClassVar[str] = "known"
    keys: ClassVar[Keys] = FROM | {
        "priors": Either(number=SHARE, list=proportions("classes", plain=True))
    }
    assumed: ClassVar[Assumed] = "known-proportions"

    def __init__(
        self,
        priors: float | ArrayLike | None = None,
        *,
        source_priors: SourcePriors = "mean-probability",
    ) -> None:
        super().__init__(source_priors=source_priors)
        self.priors = priors

    @property
    def of_positive(self) -> bool:
        """Whether the proportions are one number, that of the positive class of two."""
        return self.priors is not None and np.ndim(self.priors) == 0

    def _fit(self, source: LabelledSummary, target: BatchSummary) -> None:
        if self.priors is None:
            way = "pass shift=KnownPriors(0.03), or one number for each class"
            raise ArgumentError(
                f"KnownPriors needs the proportions: {way}.",
                "priors",
                ways=[Way("KnownPriors", python=way)],
            )
        self.priors_ = check_priors(self.priors, n_classes=source.proba.shape[1])

    def _with_known(self, priors: FloatArray, n: float, known: FloatArray) -> FloatArray:
        return priors

    def prior_draws(
        self, n_draws: int = 1000, seed: int = 0, *, method: DrawMethod | None = None
    ) -> FloatArray:
        """Return the proportions themselves, again and again: they are taken as known."""
        if not hasattr(self, "priors_"):
            raise_not_fitted(self)
        count = check_whole(n_draws, name="n_draws", most=MOST_DRAWS)
        return np.tile(self.priors_, (count, 1))
