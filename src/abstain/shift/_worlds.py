"""What may have happened to a batch, weighed: nothing, label shift, moved scores, or both.

The paper assumes label shift (its Section 2). Here four worlds are told apart by how probable each
makes the numbers of rows in cells of scores: the evidence of a Poisson model, by Laplace's method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import chdtrc

from abstain._inputs import FloatArray
from abstain._numerics import one_blas_thread
from abstain.shift._cells import Cells, share_unseen
from abstain.shift._check import CellCounts
from abstain.shift._label_chance import bias_covariance, log_chance
from abstain.shift._tilts import CellModel, Modes, cell_model, likeliest_tilts, normalised
from abstain.summaries import BatchSummary, LabelledSummary

#: Nothing moved; class proportions did; the mix of scores did, and each means what it meant; both.
World = Literal["nothing", "label", "scores", "both"]
WORLDS: tuple[World, ...] = get_args(World)

# Spread of the class tilt, of the score tilt and of the steep one, in logarithms: the nodes.
_NOTHING = ((0.0, 0.0, 0.0),)
_LABEL = tuple((spread, 0.0, 0.0) for spread in (0.35, 0.7, 1.4, 2.8))
_SCORES = tuple((0.0, spread, 0.0) for spread in (0.2, 0.4, 0.8))
_BOTH = ((0.7, 0.3, 0.0), (0.7, 0.7, 0.0), (2.0, 0.3, 0.0), (2.0, 0.7, 0.0))
# What scores look like that tilt as classes do: label shift's and both's look-alikes.
_LIKE_LABEL = tuple((0.0, 0.0, spread) for spread, _, _ in _LABEL)
_LIKE_BOTH = tuple((0.0, score, spread) for spread, score, _ in _BOTH)
_NODES = (_NOTHING, _LABEL, _SCORES, _BOTH, _LIKE_LABEL, _LIKE_BOTH)


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a world makes of a batch: the mean over its nodes, by their evidence.

    Attributes
    ----------
    cells : Cells
    by_cell : ndarray of shape (n_cells,)
        How many times as many rows of each cell there are, not for the classes.
    tilt : ndarray of shape (n_parts,)
        Logarithm of new over old proportions of the classes, or of those that share cells.
    covariance : ndarray of shape (n_parts, n_parts)
        How uncertain that is.
    evidence, strain : float
        Of all nodes; of the one that strains least.
    """

    cells: Cells
    by_cell: FloatArray
    tilt: FloatArray
    covariance: FloatArray
    evidence: float
    strain: float

    @property
    def by_class(self) -> FloatArray:
        """New over old proportion of each class, but for a constant."""
        return np.asarray(np.exp(self.tilt)[self.cells.part])

    def chance_of(self, rows: LabelledSummary, biases: FloatArray) -> float:
        """Return the logarithm of how probable labels are, calibrated but for some biases."""
        part = self.cells.part
        return log_chance(rows, self.tilt[part], self.covariance[np.ix_(part, part)] + biases)

    def scatter(self, source_priors: FloatArray) -> float:
        """Return how far the batch leaves class proportions open, as total variation expected."""
        priors = np.exp(self.tilt) * source_priors
        priors /= priors.sum()
        slopes = np.diag(priors) - np.outer(priors, priors)
        variance = np.einsum("ij,ij->i", slopes @ self.covariance, slopes)
        return float(np.sqrt(np.maximum(variance, 0.0) * 2 / np.pi).sum() / 2)

    def ratio_draws(
        self, moved: FloatArray, weight: FloatArray, source: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return ratios of class proportions that the batch leaves open, for each replicate."""
        if not self.covariance.any():
            return np.ones_like(source[1:])
        values, vectors = np.linalg.eigh(self.covariance)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        logs = self.tilt + rng.standard_normal((len(moved) - 1, len(root))) @ root
        ratios = np.exp(logs - logs.max(axis=1, keepdims=True))[:, self.cells.part]
        found: FloatArray = ratios / (ratios * source[1:]).sum(axis=1, keepdims=True)
        return found

    def by_score(
        self, source: LabelledSummary, rows: FloatArray, weight: FloatArray
    ) -> FloatArray:
        """Return how much labelled rows count for their score, beside the ratio of their class."""
        return self.by_cell[self.cells.number(source.proba)]


@dataclass(frozen=True, eq=False)
class Worlds:
    """The worlds with what each makes of a batch.

    Attributes
    ----------
    explained : dict of str to Explanation
        Of each world.
    weights : ndarray of shape (4,)
        How probable each is.
    evidence : ndarray of shape (6,)
        The logarithm of how probable the batch's numbers are in each, and in those that look
        like label shift and like both.
    p_value : float
        How often counts as odd as these come about in the world that has them least odd.
    counts : CellCounts or None
        What the batch and its validation data have in each cell; None without labels.
    source_priors : ndarray of shape (n_parts,)
        Proportions of the validation data's classes, or of those that share cells together.
    unseen : float
        The share of the batch that scores where no validation row does, nor near.
    """

    explained: dict[World, Explanation]
    weights: FloatArray
    evidence: FloatArray
    p_value: float
    counts: CellCounts | None
    source_priors: FloatArray
    unseen: float


def weigh(
    source: LabelledSummary,
    target: BatchSummary,
    prior: FloatArray,
    hedge: float,
    speaking: LabelledSummary | None = None,
) -> Worlds:
    """Return what each world makes of a batch.

    Parameters
    ----------
    source, target : LabelledSummary and BatchSummary
        Validation data and batch, calibrated and not adapted.
    prior : ndarray of shape (4,)
        How probable each world is before, in proportion.
    hedge : float
        How often what looks like label shift is moved scores that look like it.
    speaking : LabelledSummary, optional
        Further rows of the batch whose label is known, as they speak of the others.

    Notes
    -----
    With V and T the numbers of validation rows and rows of the batch in a cell c, and p the
    mean calibrated probabilities of validation rows in it, T is Poisson with logarithm of the mean
    ``a + log share_c + log r_c + b_c + e_c``. The share is proportional to V + 1/2, and
    ``e ~ N(0, 1 / (V + 1/2) + t^2 / 4)`` is what V and a smooth tilt leave open. A class tilt
    ``r_c = w . p_c``, ``w ~ exp(h)``, has ``h ~ N(0, s^2)``; a score tilt is a Gaussian process b
    over the rank of confidence, with variance ``3 t^2 / 4``, a third of it each class's own. The
    calibration's slope moves p within its standard error. World "nothing" has ``s = t = 0``,
    "label" ``t = 0``, "scores" ``s = 0``. Scores may also tilt steeply, along each class's
    probability and its rank with spread s: what looks like label shift and is none. The integral
    over all of these is taken by Laplace's method, at several s and t. Known labels, of rows
    picked at random, are as probable as a world's tilt makes them, open as far as T leaves it.
    """
    cells = Cells.of(source)
    model = cell_model(source, target, cells)
    with one_blas_thread():
        modes = likeliest_tilts(model, np.concatenate(_NODES))
    ends = np.cumsum([len(nodes) for nodes in _NODES])
    found = [
        _explanation(model, cells, Modes(*(part[end - len(nodes) : end] for part in modes)))
        for nodes, end in zip(_NODES, ends.tolist(), strict=True)
    ]
    evidence = np.array([one.evidence for one in found])
    if speaking is not None and len(speaking.labels):
        biases = bias_covariance(source)
        evidence += [one.chance_of(speaking, biases) for one in found]
    kept = prior * [1.0, 1 - hedge, 1.0, 1 - hedge]
    with np.errstate(divide="ignore"):
        logs = np.log(np.append(kept, hedge * prior[[1, 3]])) + evidence
    weights = np.exp(logs - np.logaddexp.reduce(logs))
    # What only looks like label shift, alone or with moved scores, is moved scores.
    weights[WORLDS.index("scores")] += weights[len(WORLDS) :].sum()
    counts = None
    if source.codes is not None:
        counts = CellCounts(source, model.counts, cells, range(source.proba.shape[1]))
    return Worlds(
        dict(zip(WORLDS, found, strict=False)),
        weights[: len(WORLDS)],
        evidence,
        float(chdtrc(len(cells), min(one.strain for one in found))),
        counts,
        model.priors,
        share_unseen(source, *target.sketch),
    )


def _explanation(model: CellModel, cells: Cells, modes: Modes) -> Explanation:
    """Return what a world makes of a batch, averaged over its nodes: some spreads of its tilts."""
    tilt, covariance, by_cell, evidence, strain = modes
    total = float(np.logaddexp.reduce(evidence))
    weight = np.exp(evidence - total)
    logs = normalised(tilt, model.priors)
    mean = weight @ logs
    apart = logs - mean
    return Explanation(
        cells,
        np.exp(weight @ by_cell),
        mean,
        np.einsum("n,nij->ij", weight, covariance) + (apart * weight[:, None]).T @ apart,
        total - float(np.log(len(weight))),
        float(strain.min()),
    )
