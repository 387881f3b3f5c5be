"""Check, then adapt: class proportions where label shift explains the scores, none where not.

The paper adapts always (its Section 2). Where no mixture of the source's classes looks like the
target, a stable p(y | score) is the better assumption: the calibrated probabilities as they are.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from abstain._inputs import FloatArray, check_fraction
from abstain._numerics import raise_not_fitted
from abstain.shift._base import Assumed, DrawMethod, ShiftEstimator, SourcePriors, ratio_of_priors
from abstain.shift._check import LEVEL, LabelShiftCheck, label_shift_check
from abstain.shift._fixed import NoShift
from abstain.shift._maximum_likelihood import MaximumLikelihoodShift
from abstain.summaries import BatchSummary, LabelledSummary

# What the source's proportions are worth.
PRIOR_ROWS = 10.0


class AutoShift(ShiftEstimator):
    """Class proportions by maximum likelihood if label shift explains the target, else no shift.

    Parameters
    ----------
    source_priors : {"mean-probability", "label-frequency"}
        Where the source's class proportions come from.
    prior_rows : float
        How many rows the source's proportions are worth in the likelihood.
    level : float
        How often label shift may be rejected where it holds, in [0, 1].
    calibrated_on_source : bool or "auto"
        As of :class:`MaximumLikelihoodShift`.

    Attributes
    ----------
    source_priors_, priors_, weights_ : ndarray of shape (n_classes,)
        Proportions of the source and the target, and their ratio. Where label shift was
        rejected, nothing is adapted: ``priors_`` are the source's and the ratios 1.
    check_ : LabelShiftCheck or None
        The evidence; None without labels of the source, and then label shift is assumed.
    adapted_ : bool
        Whether label shift was assumed.
    assumed : {"label-shift", "same-given-score"}
        The same in words: what the probabilities rest on.
    alternative_ : ndarray of shape (n_classes,)
        The ratios under the other assumption.
    mean_proba_ : ndarray of shape (n_classes,)
        Mean probabilities of the target: its proportions if p(y | score) is what it was.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.shift import AutoShift
    >>> p = np.linspace(0.01, 0.99, 400)
    >>> y = (np.arange(400) * 0.618 % 1 < p).astype(int)
    >>> source = np.column_stack([1 - p, p])
    >>> AutoShift().fit(source, source[y == 1], y).adapted_
    True
    >>> middle = source[(p > 0.3) & (p < 0.7)]  # ends of the scale that no class lacks
    >>> AutoShift().fit(source, middle, y).weights_
    array([1., 1.])
    """

    name: ClassVar[str] = "auto"
    draw_method: ClassVar[DrawMethod] = "asymptotic"

    check_: LabelShiftCheck | None
    adapted_: bool
    alternative_: FloatArray
    mean_proba_: FloatArray

    def __init__(
        self,
        *,
        source_priors: SourcePriors = "mean-probability",
        prior_rows: float = PRIOR_ROWS,
        level: float = LEVEL,
        calibrated_on_source: bool | Literal["auto"] = "auto",
    ) -> None:
        super().__init__(source_priors=source_priors)
        self.prior_rows = prior_rows
        self.level = level
        self.calibrated_on_source = calibrated_on_source

    @property
    def assumed(self) -> Assumed:
        """What the adapted probabilities rest on."""
        return "label-shift" if self.adapted_ else "same-given-score"

    def _fit(self, source: LabelledSummary, target: BatchSummary) -> None:
        level = check_fraction(self.level, name="level")
        self._likelihood = self._maximum_likelihood().fit_summaries(source, target, self._known)
        self.mean_proba_ = target.class_sums / target.class_sums.sum()
        self.check_ = None
        if source.codes is not None:
            self.check_ = label_shift_check(source, target, level=level)
        self.adapted_ = self.check_ is None or self.check_.fits
        still = NoShift(source_priors=self.source_priors).fit_summaries(source, target)
        both: tuple[ShiftEstimator, ShiftEstimator] = self._likelihood, still
        self._chosen, self._rejected = both if self.adapted_ else both[::-1]
        found = self._likelihood.priors_
        ratios = ratio_of_priors(found, self.source_priors_)
        self.priors_ = found if self.adapted_ else self.source_priors_.copy()
        self.alternative_ = np.ones_like(ratios) if self.adapted_ else ratios

    def _with_known(self, priors: FloatArray, n: float, known: FloatArray) -> FloatArray:
        # They were in the likelihood; where nothing is adapted they have no say.
        return priors

    def prior_draws(
        self, n_draws: int = 1000, seed: int = 0, *, method: DrawMethod | None = None
    ) -> FloatArray:
        """Return proportions that the data leave open; the one and only where none is adapted."""
        if not hasattr(self, "priors_"):
            raise_not_fitted(self)
        if not self.adapted_:
            return np.tile(self.priors_, (n_draws, 1))
        return self._likelihood.prior_draws(n_draws, seed, method=method)

    def ratio_draws(
        self, moved: FloatArray, weight: FloatArray, source: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return ratios that the data leave open; ones where nothing is adapted."""
        return self._chosen.ratio_draws(moved, weight, source, rng)

    def other(self) -> ShiftEstimator:
        """Return the fitted estimator under the other assumption."""
        return self._rejected

    def settled(self) -> ShiftEstimator:
        """Return an estimator, not fitted, that adapts or not as this one did.

        Rows drawn with replacement are no sample of any mixture, so a check of them says nothing.
        """
        if not hasattr(self, "priors_"):
            raise_not_fitted(self)
        if self.adapted_:
            return self._maximum_likelihood()
        return NoShift(source_priors=self.source_priors)

    def _maximum_likelihood(self) -> MaximumLikelihoodShift:
        return MaximumLikelihoodShift(
            source_priors=self.source_priors,
            prior_rows=self.prior_rows,
            calibrated_on_source=self.calibrated_on_source,
        )
