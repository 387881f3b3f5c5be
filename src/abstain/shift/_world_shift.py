"""What each world makes of class proportions, and of what labelled rows say of a batch."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from abstain._inputs import FloatArray, IntArray
from abstain.shift._base import Assumed, ShiftEstimator, SourcePriors
from abstain.shift._fixed import NoShift
from abstain.shift._worlds import World, Worlds
from abstain.summaries import BatchSummary, LabelledSummary

_LEAST = 1e-12


class Unadapted(NoShift):
    """Probabilities as they are; labelled rows count as rows of the batch by their score.

    Parameters
    ----------
    worlds : Worlds
        The batch, weighed.
    by_score : float
        How much of that: 0 where the batch is like the validation data, and each counts once.
    """

    def __init__(
        self,
        worlds: Worlds,
        by_score: float = 1.0,
        *,
        source_priors: SourcePriors = "mean-probability",
    ) -> None:
        super().__init__(source_priors=source_priors)
        self.worlds = worlds
        self.by_score = by_score

    @property
    def assumed(self) -> Assumed:
        """What the probabilities rest on."""
        return "same-given-score"

    def importance(
        self, source: LabelledSummary, rows: FloatArray, weight: FloatArray
    ) -> FloatArray:
        """Return how much each labelled row counts as a row of the batch."""
        by_cell = self.worlds.cell_tilt("scores")[self.worlds.cells.number(source.proba)]
        return self.by_score * by_cell + (1 - self.by_score)


class WorldShift(ShiftEstimator):
    """Class proportions as a world has them; labelled rows count by class, and by cell of scores.

    Parameters
    ----------
    worlds : Worlds
        The batch, weighed.
    world : {"label", "both"}
    """

    name: ClassVar[str] = "world"

    def __init__(
        self,
        worlds: Worlds,
        world: World,
        *,
        source_priors: SourcePriors = "mean-probability",
    ) -> None:
        super().__init__(source_priors=source_priors)
        self.worlds = worlds
        self.world = world

    @property
    def assumed(self) -> Assumed:
        """What the adapted probabilities rest on."""
        return "label-shift"

    def _fit(self, source: LabelledSummary, target: BatchSummary) -> None:
        self._logs, covariance = self.worlds.class_tilt(self.world)
        values, vectors = np.linalg.eigh(covariance)
        self._root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        priors = np.exp(self._logs) * self.source_priors_
        self.priors_ = priors / priors.sum()

    def ratio_draws(
        self, moved: FloatArray, weight: FloatArray, source: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return ratios that the batch leaves open."""
        noise = rng.standard_normal((len(moved) - 1, len(self._root)))
        logs = self._logs + noise @ self._root
        ratios = np.exp(logs - logs.max(axis=1, keepdims=True))
        found: FloatArray = ratios / (ratios * source[1:]).sum(axis=1, keepdims=True)
        return found

    def importance(
        self, source: LabelledSummary, rows: FloatArray, weight: FloatArray
    ) -> FloatArray:
        """Return how much each labelled row counts as a row of the batch."""
        by_cell = self.worlds.cell_tilt(self.world)[self.worlds.cells.number(source.proba)]
        found: FloatArray = self.weights_[source.labels] * by_cell
        return found

    def importance_again(
        self, ratios: FloatArray, importance: FloatArray, labels: IntArray, codes: IntArray
    ) -> FloatArray:
        """Return the same in each replicate, whose ratios differ."""
        by_cell = importance / np.maximum(self.weights_[labels], _LEAST)
        found: FloatArray = ratios[:, codes] * by_cell
        return found
