"""Weigh what may have happened to a batch, and adapt by what is to be expected then.

The paper adapts always (its Section 2). Label shift is one of four worlds here: each has a weight,
given by how well it explains the numbers of rows in cells of scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from abstain._inputs import FloatArray, check_fraction
from abstain._numerics import raise_not_fitted
from abstain._schema import SHARE, Keys, Numbers
from abstain.shift._base import (
    Assumed,
    DrawMethod,
    Part,
    ShiftEstimator,
    SourcePriors,
    ratio_of_priors,
)
from abstain.shift._fixed import NoShift
from abstain.shift._maximum_likelihood import OF_LIKELIHOOD, MaximumLikelihoodShift
from abstain.shift._tilts import normalised
from abstain.shift._worlds import WORLDS, Explanation, World, Worlds, weigh
from abstain.summaries import BatchSummary, LabelledSummary

#: How probable "nothing", "label", "scores" and "both" are before a batch is seen, in proportion.
PRIOR = (4.0, 4.0, 2.0, 2.0)
#: How often what looks like label shift, alone or with moved scores, is scores that moved in a way
#: that looks like it: a monotone tilt, which little evidence tells apart.
HEDGE = 0.2
# What the source's proportions are worth.
PRIOR_ROWS = 10.0
# Worlds of no more weight than this have no part in figures, which costs as much as any; the
# others have that much less of one.
_NO_PART = 0.01
# Whether proportions that hardly moved are open matters to nobody.
_HARDLY = 0.1
# The least ratio of class proportions whose logarithm is averaged.
_LEAST = 1e-9


class AutoShift(ShiftEstimator):
    """Class proportions averaged over what may have happened, by the evidence for each.

    Parameters
    ----------
    prior : tuple of four floats
        How probable it is before a batch is seen, in proportion, that nothing moved, that class
        proportions did, that the mix of scores did and each means what it meant, and both.
    hedge : float
        How often what looks like label shift is scores that moved in a way that looks like it.
    source_priors : {"mean-probability", "label-frequency"}
        Where the source's class proportions come from.
    prior_rows : float
        How many rows the source's proportions are worth in the likelihood of label shift.
    calibrated_on_source : bool or "auto"
        As of :class:`MaximumLikelihoodShift`.

    Attributes
    ----------
    source_priors_, priors_, weights_ : ndarray of shape (n_classes,)
        Proportions of the source, those that probabilities are adapted to, and their ratio: the
        exponential of the mean over the worlds of the logarithm of new over old proportions.
    worlds_ : Worlds
        The evidence.
    world_weights_ : ndarray of shape (4,)
        How probable each world is, given the batch.
    mean_proba_ : ndarray of shape (n_classes,)
        Mean probabilities of the target: its proportions if p(y | score) is what it was.

    Examples
    --------
    >>> import numpy as np
    >>> from abstain.shift import AutoShift
    >>> p = np.linspace(0.01, 0.99, 400)
    >>> y = (np.arange(400) * 0.618 % 1 < p).astype(int)
    >>> source = np.column_stack([1 - p, p])
    >>> AutoShift().fit(source, source[y == 1], y).world_weights_.argmax()  # label shift
    np.int64(1)
    >>> middle = source[(p > 0.3) & (p < 0.7)]  # ends of the scale that no class lacks
    >>> AutoShift().fit(source, middle, y).world_weights_[1] < 0.01
    np.True_
    """

    name: ClassVar[str] = "auto"
    # The level is of a test that once decided whether to adapt.
    keys: ClassVar[Keys] = OF_LIKELIHOOD | {
        "prior?": Numbers((4,), low=0, plain=True),
        "hedge?": SHARE,
        "level?": SHARE,
    }
    assumed: ClassVar[Assumed] = "weighed"
    draw_method: ClassVar[DrawMethod] = "asymptotic"

    worlds_: Worlds
    world_weights_: FloatArray
    mean_proba_: FloatArray

    def __init__(
        self,
        *,
        prior: tuple[float, float, float, float] = PRIOR,
        hedge: float = HEDGE,
        source_priors: SourcePriors = "mean-probability",
        prior_rows: float = PRIOR_ROWS,
        calibrated_on_source: bool | Literal["auto"] = "auto",
    ) -> None:
        super().__init__(source_priors=source_priors)
        self.prior = prior
        self.hedge = hedge
        self.prior_rows = prior_rows
        self.calibrated_on_source = calibrated_on_source

    def _fit(self, source: LabelledSummary, target: BatchSummary) -> None:
        prior = _checked_prior(self.prior)
        hedge = check_fraction(self.hedge, name="hedge")
        self.mean_proba_ = target.class_sums / target.class_sums.sum()
        worlds = self.worlds_ = weigh(source, target, prior, hedge, self._speaking)
        self.world_weights_ = worlds.weights
        self._label = self._maximum_likelihood().fit_summaries(source, target, self._known)
        both = worlds.explained["both"].by_class * self.source_priors_
        both /= both.sum()
        if self._known is not None:
            both = super()._with_known(both, target.total, self._known)
        ones = np.ones_like(both)
        moved = self._label.weights_, ones, ratio_of_priors(both, self.source_priors_)
        self._ratios = dict(zip(WORLDS, (ones, *moved), strict=True))
        logs = np.log([np.maximum(self._ratios[world], _LEAST) for world in WORLDS])
        ratios = np.exp(normalised(worlds.weights @ logs, self.source_priors_))
        self.priors_ = ratios * self.source_priors_

    def _with_known(self, priors: FloatArray, n: float, known: FloatArray) -> FloatArray:
        # They were in what each world makes of the batch.
        return priors

    @property
    def under(self) -> dict[World, Part]:
        """What figures are made of in each world."""
        models: dict[World, ShiftEstimator | Explanation] = {
            "nothing": self._still(0.0),
            "label": self._label,
            "scores": self._still(1.0),
            "both": self.worlds_.explained["both"],
        }
        return {world: Part(1.0, self._ratios[world], one) for world, one in models.items()}

    def parts(self) -> tuple[Part, ...]:
        """Return what figures are pooled from, each with its weight.

        The two worlds in which nothing is adapted are one part, whose labelled rows count as
        either has them.
        """
        some = np.maximum(self.worlds_.weights - _NO_PART, 0.0)
        nothing, label, scores, both = (some / some.sum()).tolist()
        by_score = scores / (nothing + scores) if nothing + scores else 1.0
        found = (
            Part(nothing + scores, self._ratios["nothing"], self._still(by_score)),
            Part(label, self._ratios["label"], self._label),
            Part(both, self._ratios["both"], self.worlds_.explained["both"]),
        )
        return tuple(part for part in found if part.weight > 0)

    def _still(self, by_score: float) -> Explanation:
        """Return what is left where nothing is adapted: labelled rows count by their score.

        To this degree: not at all where the batch is like the validation data.
        """
        scores = self.worlds_.explained["scores"]
        by_cell = by_score * scores.by_cell + (1 - by_score)
        # To the last digit: no ratio is open.
        return replace(scores, by_cell=by_cell, covariance=np.zeros_like(scores.covariance))

    def left_open(self) -> float:
        """Return how far the class proportions are open if they moved, as total variation.

        Whether they did, the weights say.
        """
        worlds = self.worlds_
        label, both = (worlds.weights[WORLDS.index(world)] for world in ("label", "both"))
        open_by = label * worlds.explained["label"].scatter(worlds.source_priors)
        open_by += both * worlds.explained["both"].scatter(worlds.source_priors)
        return float(open_by / (label + both)) if label + both > _HARDLY else 0.0

    def _asymptotic_draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        """Draw from each world in its turn, as often as its weight says."""
        source, target = self._fitted
        ends = np.round(np.cumsum(self.world_weights_) * n_draws).astype(np.intp)
        _, label, _, both = np.diff(ends, prepend=0).tolist()
        then = np.tile(self.source_priors_, (both + 1, 1))
        moved = self.worlds_.explained["both"].ratio_draws(then, then, then, rng) * then[1:]
        mean = self.mean_proba_
        # Labels fall as they fall, and the calibration is as sure as its rows are many.
        rows = 1 / target.total + 1 / len(source.proba)
        spread = np.sqrt(mean * (1 - mean) * rows)
        still = mean + spread * rng.standard_normal((n_draws - label - both, len(mean)))
        by_label = self._label.prior_draws(max(label, 1), int(rng.integers(2**32)))
        found = np.maximum(np.vstack([still, by_label[:label], moved]), 0.0)
        return rng.permutation(found / found.sum(axis=1, keepdims=True))

    def settled(self) -> ShiftEstimator:
        """Return an estimator, not fitted, that estimates as the likeliest world has it.

        Rows drawn with replacement are no sample of any world, so their evidence says nothing.
        """
        if not hasattr(self, "priors_"):
            raise_not_fitted(self)
        if self.world_weights_[1] + self.world_weights_[3] > 0.5:
            return self._maximum_likelihood()
        return NoShift(source_priors=self.source_priors)

    def _maximum_likelihood(self) -> MaximumLikelihoodShift:
        return MaximumLikelihoodShift(
            source_priors=self.source_priors,
            prior_rows=self.prior_rows,
            calibrated_on_source=self.calibrated_on_source,
        )


def _checked_prior(prior: Sequence[float]) -> FloatArray:
    values = np.asarray(prior, dtype=np.float64)
    if values.shape != (len(WORLDS),) or not (values >= 0).all() or not 0 < values.sum() < np.inf:
        raise ValueError(
            f"`prior` must be four numbers, at least 0 and not all 0: how probable, in "
            f"proportion, {', '.join(WORLDS)} are; got {prior!r}."
        )
    return values
