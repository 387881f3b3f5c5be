"""The interface of all label-shift estimators: how the class proportions have moved.

Under label shift p(x | y) stays and p(y) moves, so a calibrated probability is adapted by the
ratio of the new proportions to the old, renormalised (Saerens et al., 2002).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from abstain._inputs import (
    MOST_DRAWS,
    FloatArray,
    check_fraction,
    check_labels,
    check_proba,
    check_sample_weight,
    check_whole,
    float_array,
    shown,
)
from abstain._kernels.proportions import adapted
from abstain._numerics import Parameters, clone, gamma_draws, raise_not_fitted, resampled_weight
from abstain._schema import Keys, Kind, MadeByOthers, OneOf
from abstain.exceptions import ArgumentError, NotIdentifiable, Way
from abstain.shift._cells import Cells
from abstain.shift._worlds import Explanation, World, Worlds
from abstain.summaries import BatchSummary, LabelledSummary, RowSummary

#: A class of a smaller mean probability is none of the source.
GONE = 1e-100
# A class is at most so many times as frequent as it was.
_STEEPEST = 1e100
# Draws that tell how far proportions are open.
_DRAWS = 100

#: How the warning of a fit that did not converge begins.
NOT_CONVERGED = "The class proportions did not converge"

#: What a policy file holds of the parameters of every estimator.
FROM: dict[str, Kind] = {"source_priors?": OneOf("mean-probability", "label-frequency")}

SourcePriors = Literal["mean-probability", "label-frequency"]
DrawMethod = Literal["asymptotic", "bootstrap"]
Assumed = Literal[
    "weighed", "label-shift", "same-given-score", "no-shift", "known-proportions", "as-made"
]


class Part(NamedTuple):
    """One thing that may have happened to a batch, as far as figures hang on it.

    Attributes
    ----------
    weight : float
        How probable it is.
    ratios : ndarray of shape (n_classes,)
        New over old class proportions.
    model : ShiftEstimator or Explanation
        What draws other ratios, and says how much labelled rows count for their score.
    """

    weight: float
    ratios: FloatArray
    model: ShiftEstimator | Explanation


class ShiftEstimator(Parameters, ABC):
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

    #: The registered name; that of the class where it says no other.
    name: ClassVar[str]
    #: What a policy file holds of its parameters; of the user's own anything that is plain.
    keys: ClassVar[Kind | Keys] = MadeByOthers(FROM, most=100)
    #: What the adapted probabilities rest on.
    assumed: ClassVar[Assumed] = "label-shift"
    #: Whether ``fit`` needs the labels of the source.
    needs_labels: ClassVar[bool] = False
    #: How draws and intervals are made unless asked otherwise.
    draw_method: ClassVar[DrawMethod] = "bootstrap"

    source_priors_: FloatArray
    priors_: FloatArray
    weights_: FloatArray
    #: What may have happened, with the evidence, where that was weighed.
    worlds_: Worlds | None = None
    # How many rows of the target have a known label, of each class, beside those it is fitted on.
    _known: FloatArray | None = None
    # Those of them that speak of the others, with their probabilities.
    _speaking: LabelledSummary | None = None

    def __init_subclass__(cls) -> None:
        """Name the class, so that one made from a built-in estimator is not stored as that."""
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def __init__(self, *, source_priors: SourcePriors = "mean-probability") -> None:
        self.source_priors = source_priors

    @property
    def of_positive(self) -> bool:
        """Whether what it was given depends on which of two classes is the positive one."""
        return False

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
        labelled = LabelledSummary(source, codes, weight_source)
        return self.fit_summaries(labelled, RowSummary(target, weight_target))

    def fit_summaries(
        self,
        source: LabelledSummary,
        target: BatchSummary,
        known: FloatArray | None = None,
        speaking: LabelledSummary | None = None,
    ) -> Self:
        """Estimate the class proportions of a batch from its summary; nothing is checked.

        Further rows of the batch whose label is known come as their number in each class, and
        themselves, calibrated and counted as they speak of the others.
        """
        self.source_priors_ = self._source_priors(source)
        self._known, self._speaking = known, speaking
        self._fit(source, target)
        if known is not None:
            self.priors_ = self._with_known(self.priors_, target.total, known)
        self.weights_ = ratio_of_priors(self.priors_, self.source_priors_)
        self._fitted = source, target
        return self

    def told_by(self, batch: BatchSummary) -> BatchSummary:
        """Return the summary of a batch that tells what happened to it: the one given."""
        return batch

    def transform(self, proba: ArrayLike) -> FloatArray:
        """Return the probabilities adapted to the target's class proportions."""
        if not hasattr(self, "priors_"):
            raise_not_fitted(self)
        return adapt_proba(proba, self.weights_)

    def prior_draws(
        self, n_draws: int = 1000, seed: int = 0, *, method: DrawMethod | None = None
    ) -> FloatArray:
        """Return class proportions drawn from what the data leave open.

        Parameters
        ----------
        n_draws : int
            How many, up to 100,000.
        seed : int
            Seed of the draws.
        method : {"asymptotic", "bootstrap"}, optional
            From the curvature of the likelihood, or by fitting again on both sets drawn with
            replacement; the estimator's own choice when not given.

        Returns
        -------
        ndarray of shape (n_draws, n_classes)
            Each row sums to 1.
        """
        if not hasattr(self, "priors_"):
            raise_not_fitted(self)
        count = check_whole(n_draws, name="n_draws", most=MOST_DRAWS)
        number = check_whole(seed, name="seed", least=0, most=2**64 - 1)
        chosen = self.draw_method if method is None else method
        if chosen == "bootstrap":
            return self._bootstrap_draws(count, np.random.default_rng(number))
        if chosen == "asymptotic":
            return self._asymptotic_draws(count, np.random.default_rng(number))
        raise ValueError(f'`method` must be "asymptotic" or "bootstrap"; got {method!r}.')

    def ratio_draws(
        self, moved: FloatArray, weight: FloatArray, source: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return the ratios of class proportions of each replicate of a batch.

        Parameters
        ----------
        moved : ndarray of shape (1 + n, m, n_classes), or (1 + n, m) for two classes
            Probabilities of rows that stand for the batch: as they are, then of each replicate.
        weight : ndarray of shape (1 + n, m)
            How much these count.
        source : ndarray of shape (1 + n, n_classes)
            Class proportions of the source.
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        draws = self.prior_draws(len(moved) - 1, seed=int(rng.integers(2**32)))
        return ratio_of_priors(draws, source[1:])

    def by_score(
        self, source: LabelledSummary, rows: FloatArray, weight: FloatArray
    ) -> FloatArray:
        """Return how much labelled rows count for their score, beside the ratio of their class.

        As rows of the batch, of which some are given. Under label shift all count the same;
        otherwise by the share of rows in their cell of scores, of the batch over their own.
        """
        if self.assumed in ("label-shift", "known-proportions"):
            return np.ones(len(source.proba))
        cells = Cells.of(source)
        own, shares = cells.number(source.proba), []
        for cell, count in ((own, source.counts), (cells.number(rows), weight)):
            found = np.bincount(cell, count, len(cells))
            # One more row spread over all cells: a share is never known to be none.
            found += found.sum() / len(cell) / len(found)
            shares.append(found / found.sum())
        then, now = shares
        return np.asarray((now / then)[own])

    @property
    def under(self) -> dict[World, Part]:
        """What figures are made of in each world, where these were weighed."""
        return {}

    def left_open(self) -> float:
        """Return how far the class proportions are open, as total variation expected."""
        return float(np.abs(self.prior_draws(_DRAWS) - self.priors_).sum(axis=1).mean() / 2)

    def parts(self) -> tuple[Part, ...]:
        """Return what figures are pooled from: this estimator, where there is no other."""
        return (Part(1.0, self.weights_, self),)

    def priors_interval(
        self,
        confidence: float = 0.9,
        method: DrawMethod | None = None,
        *,
        n_draws: int | None = None,
        seed: int = 0,
    ) -> FloatArray:
        """Return an interval for each class's proportion in the target.

        Parameters
        ----------
        confidence : float
            How often such intervals contain the proportion, in [0, 1].
        method : {"asymptotic", "bootstrap"}, optional
            As for ``prior_draws``.
        n_draws : int, optional
            How many draws; 10,000 asymptotic ones or 200 of the bootstrap when not given.
        seed : int
            Seed of the draws.

        Returns
        -------
        ndarray of shape (n_classes, 2)
            Lower and upper end: quantiles of the draws.
        """
        level = check_fraction(confidence, name="confidence")
        chosen = self.draw_method if method is None else method
        count = (200 if chosen == "bootstrap" else 10_000) if n_draws is None else n_draws
        draws = self.prior_draws(count, seed, method=method)
        return np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0).T

    def _asymptotic_draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        em = 'pass method="bootstrap", or use shift "em"'
        raise ArgumentError(
            f"{type(self).__name__} has no likelihood; {em}.", ways=[Way("shift", "em", em)]
        )

    def _bootstrap_draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        draws = np.empty((n_draws, len(self.priors_)))
        filled = failed = 0
        while filled < n_draws:
            try:
                draws[filled] = self._refitted(*_resampled(*self._fitted, rng), rng)
                filled += 1
            except NotIdentifiable:
                # A class may be missing from a draw of a small source.
                failed += 1
                if failed > n_draws:
                    raise
        return draws

    def settled(self) -> ShiftEstimator:
        """Return an estimator, not fitted, that estimates the same way on resamples.

        One that looks at the data to choose how to estimate has chosen by now, and stays with it.
        """
        return clone(self)

    def _refitted(
        self, source: LabelledSummary, target: BatchSummary, rng: np.random.Generator
    ) -> FloatArray:
        """Return the proportions estimated on other samples, with whatever else is noise."""
        priors = self._refitted_as_is(source, target)
        if self._known is None:
            return priors
        (known,) = gamma_draws(self._known, 1, rng)
        return self._with_known(priors, target.total, known)

    def _with_known(self, priors: FloatArray, n: float, known: FloatArray) -> FloatArray:
        """Return the proportions of so many rows and of those of known label together."""
        together: FloatArray = (n * priors + known) / (n + known.sum())
        return together

    def _refitted_as_is(self, source: LabelledSummary, target: BatchSummary) -> FloatArray:
        again = self.settled()
        with warnings.catch_warnings():
            # That it did not converge was said of the fit itself.
            warnings.filterwarnings("ignore", message=NOT_CONVERGED)
            again.fit_summaries(source, target)
        return again.priors_

    @abstractmethod
    def _fit(self, source: LabelledSummary, target: BatchSummary) -> None:
        """Set ``priors_``, and whatever else the estimator tells."""

    def _source_priors(self, source: LabelledSummary) -> FloatArray:
        if self.source_priors == "mean-probability":
            mean: FloatArray = np.average(source.proba, axis=0, weights=source.weight)
            return np.where(mean < GONE, 0.0, mean)
        if self.source_priors == "label-frequency" and source.codes is not None:
            counts = np.bincount(
                source.codes, weights=source.weight, minlength=source.proba.shape[1]
            )
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
    ratios = float_array(weights, "weights")
    if ratios.ndim != 1 or not (ratios >= 0).all() or not (ratios <= _STEEPEST).all():
        raise ValueError(
            f"`weights` must be one number for each class, from 0 to {_STEEPEST:g}; "
            f"got {shown(weights)}."
        )
    return adapted(check_proba(proba, n_classes=len(ratios)), ratios)


def _resampled(
    source: LabelledSummary, target: BatchSummary, rng: np.random.Generator
) -> tuple[LabelledSummary, BatchSummary]:
    """Draw both sets with replacement, as whole-numbered weights of their rows."""
    proba, weight = target.for_likelihood()
    return (
        replace(source, weight=resampled_weight(len(source.proba), source.weight, rng)),
        RowSummary(proba, resampled_weight(len(proba), weight, rng)),
    )


def ratio_of_priors(target: FloatArray, source: FloatArray) -> FloatArray:
    """Return target over source proportions; 1 for a class that neither has."""
    return np.divide(target, source, out=np.ones_like(target), where=source > 0)
