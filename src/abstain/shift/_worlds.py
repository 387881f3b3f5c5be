"""What may have happened to a batch, weighed: nothing, label shift, moved scores, or both.

The paper assumes label shift (its Section 2). Here four worlds are told apart by how probable each
makes the numbers of rows in cells of scores: the evidence of a Poisson model, by Laplace's method.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, gammaln, logsumexp

from abstain._inputs import FloatArray
from abstain._numerics import one_blas_thread
from abstain.shift._cells import Cells, ones_if_none, share_unseen
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
# How far in rank of confidence a score tilt reaches, and what share of it is a class's own.
_REACH = 0.4
_COMMON, _OWN = 0.5, 0.25
# What is left of a score tilt cell by cell, as a share of its variance.
_ROUGH = 0.25
# Half a row more in each cell: a share is never known to be none.
_HALF = 0.5
# The variance of the logarithm of the batch's size, beside its own.
_ANY_SIZE = 100.0
_STEPS = 40
_CONVERGED = 1e-6
_LONGEST_STEP = 1.0
# Mean confidences of cells that are nearer than this count as alike, the more the nearer.
_LIKE = 1e-6
_SMALLEST = 1e-12
# Rows that stand for all where it is asked how many are unseen.
_SKETCH = 4_096


class _Model(NamedTuple):
    """What the numbers of a batch are compared with, by cell.

    Attributes
    ----------
    counts : ndarray of shape (n_cells,)
        Rows of the batch.
    share, noise : ndarray of shape (n_cells,)
        Share of the validation rows, and how uncertain its logarithm is, as a variance.
    proba, by_slope : ndarray of shape (n_cells, n_classes)
        Mean probabilities of validation rows, and how they move with the calibration's slope, by
        its standard error.
    smooth, steep : ndarray of shape (n_cells, n_cells)
        The covariance of score tilts of spread 1, and of those that look like class tilts.
    """

    counts: FloatArray
    share: FloatArray
    noise: FloatArray
    proba: FloatArray
    by_slope: FloatArray
    smooth: FloatArray
    steep: FloatArray


@dataclass(frozen=True, eq=False)
class Node:
    """A world at one spread of its tilts, at the likeliest tilts.

    Attributes
    ----------
    evidence : float
        The logarithm of how probable the batch's numbers are.
    class_tilt : ndarray of shape (n_classes,)
        Logarithm of new over old class proportions, but for a constant.
    covariance : ndarray of shape (n_classes, n_classes)
        How uncertain that is.
    cell_tilt : ndarray of shape (n_cells,)
        Logarithm of new over old rows of a cell that are not for the classes.
    strain : float
        How unlikely tilts are needed: chi-squared with as many degrees of freedom as cells, if
        the world is this one.
    """

    evidence: float
    class_tilt: FloatArray
    covariance: FloatArray
    cell_tilt: FloatArray
    strain: float


@dataclass(frozen=True, eq=False)
class Worlds:
    """The worlds with what each makes of a batch.

    Attributes
    ----------
    nodes : tuple of tuple of Node
        Of each world.
    cells : Cells
    counts, expected : ndarray of shape (n_cells,)
        Rows of the batch, and how many there would be had nothing moved.
    source_priors : ndarray of shape (n_classes,)
        Class proportions of the validation data.
    prior : ndarray of shape (4,)
        How probable each world was before, in proportion.
    hedge : float
        How often what looks like label shift is moved scores that look like it.
    unseen : float
        The share of the batch that scores where no validation row does, nor near.
    """

    nodes: tuple[tuple[Node, ...], ...]
    cells: Cells
    counts: FloatArray
    expected: FloatArray
    source_priors: FloatArray
    prior: FloatArray
    hedge: float
    unseen: float

    @cached_property
    def weights(self) -> FloatArray:
        """How probable each world is."""
        _, label, _, both = self.prior
        kept = self.prior * [1.0, 1 - self.hedge, 1.0, 1 - self.hedge]
        with np.errstate(divide="ignore"):
            logs = np.log(np.append(kept, (self.hedge * label, self.hedge * both)))
        logs += self.evidence
        found = np.exp(logs - logsumexp(logs))
        found[WORLDS.index("scores")] += found[len(WORLDS) :].sum()
        return np.asarray(found[: len(WORLDS)])

    @cached_property
    def evidence(self) -> FloatArray:
        """The logarithm of how probable the batch's numbers are in each world."""
        return np.array(
            [logsumexp([node.evidence for node in one]) - np.log(len(one)) for one in self.nodes]
        )

    @property
    def p_value(self) -> float:
        """How often counts as odd as these come about in the world that has them least odd."""
        strain = min(node.strain for world in self.nodes for node in world)
        return float(chdtrc(len(self.cells), strain))

    def within(self, world: World) -> FloatArray:
        """Return the weight of each node of a world."""
        logs = np.array([node.evidence for node in self.nodes[WORLDS.index(world)]])
        found: FloatArray = np.exp(logs - logsumexp(logs))
        return found

    def class_tilt(self, world: World) -> tuple[FloatArray, FloatArray]:
        """Return mean and covariance of the logarithms of new over old class proportions."""
        nodes, weight = self.nodes[WORLDS.index(world)], self.within(world)
        logs = np.array([normalised(node.class_tilt, self.source_priors) for node in nodes])
        mean = weight @ logs
        spread = np.einsum("n,nij->ij", weight, np.array([node.covariance for node in nodes]))
        apart = logs - mean
        return mean, spread + (apart * weight[:, None]).T @ apart

    def scatter(self, world: World) -> float:
        """Return how far the batch leaves class proportions open, as total variation expected."""
        logs, covariance = self.class_tilt(world)
        priors = np.exp(logs) * self.source_priors
        priors /= priors.sum()
        slopes = np.diag(priors) - np.outer(priors, priors)
        variance = np.einsum("ij,jk,ik->i", slopes, covariance, slopes)
        return float(np.sqrt(np.maximum(variance, 0.0) * 2 / np.pi).sum() / 2)

    def cell_tilt(self, world: World) -> FloatArray:
        """Return how much more of each cell there is, not for the classes."""
        nodes = self.nodes[WORLDS.index(world)]
        found: FloatArray = np.exp(self.within(world) @ [node.cell_tilt for node in nodes])
        return found


def weigh(
    source: LabelledSummary, target: BatchSummary, prior: FloatArray, hedge: float
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
    over all of these is taken by Laplace's method, at several s and t.
    """
    cells = Cells.of(source)
    model = _model(source, target, cells)
    with one_blas_thread():
        nodes = tuple(
            _nodes(model, np.array(world))
            for world in (_NOTHING, _LABEL, _SCORES, _BOTH, _LIKE_LABEL, _LIKE_BOTH)
        )
    expected = model.share * model.counts.sum()
    usual = model.share @ model.proba
    unseen = share_unseen(source, *target.sketch(_SKETCH))
    return Worlds(nodes, cells, model.counts, expected, usual, prior, hedge, unseen)


def _model(source: LabelledSummary, target: BatchSummary, cells: Cells) -> _Model:
    proba, k = source.proba, source.proba.shape[1]
    weight = ones_if_none(source.weight, len(proba))
    cell = cells.number(proba)
    rows = np.bincount(cell, weights=weight, minlength=len(cells))
    counts = cells.counts(target)
    # A cell without validation rows is as all of them are.
    usual = weight @ proba / weight.sum()
    share = (rows + _HALF) / (rows + _HALF).sum()

    def means(values: FloatArray, otherwise: FloatArray) -> FloatArray:
        sums = np.column_stack(
            [
                np.bincount(cell, weights=weight * column, minlength=len(cells))
                for column in values.T
            ]
        )
        return (sums + _SMALLEST * otherwise) / (rows + _SMALLEST)[:, None]

    mean = means(proba, usual)
    logs = np.log(np.maximum(proba, _SMALLEST))
    centred = logs - np.einsum("nk,nk->n", proba, logs)[:, None]
    moved = proba * centred
    information = float(weight @ np.einsum("nk,nk->n", moved, centred))
    error = 1 / np.sqrt(max(information, 1.0))
    smooth = _smooth(mean, rows, cells, k)
    return _Model(
        counts,
        share,
        1 / (rows + _HALF),
        mean,
        error * means(moved, 0 * usual),
        smooth,
        _steep(mean, share),
    )


def _smooth(mean: FloatArray, rows: NDArray[Any], cells: Cells, k: int) -> FloatArray:
    """Return the covariance of a score tilt: cells of like confidence are alike."""
    confidence = mean.max(axis=1)
    # Cells that are as confident as each other share their ranks, whatever the last digit.
    higher = np.clip((confidence[:, None] - confidence) / _LIKE, -0.5, 0.5) + 0.5
    rank = higher @ (rows / rows.sum())
    near = np.exp(-0.5 * ((rank[:, None] - rank) / _REACH) ** 2)
    if k == 2:
        part = (mean[:, 1] > 0.5).astype(np.intp)
    else:
        part = np.repeat(np.arange(k), np.diff(cells.first))
    covariance: FloatArray = near * (_COMMON + _OWN * (part[:, None] == part))
    return covariance


def _steep(mean: FloatArray, share: FloatArray) -> FloatArray:
    """Return the covariance of tilts that rise with the probability of each class.

    Straight in the probability, where label shift is in the logarithm of a mean of them; or in
    its rank. Which of the two nobody knows, so it may be any mixture.
    """
    apart = (mean[:, None, :] - mean) / _LIKE
    rank = np.einsum("cdk,d->ck", np.clip(apart, -0.5, 0.5) + 0.5, share)
    forms = np.hstack([mean, rank]) - share @ np.hstack([mean, rank])
    covariance: FloatArray = forms @ forms.T / 2
    return covariance


def _nodes(model: _Model, spreads: FloatArray) -> tuple[Node, ...]:
    """Return nodes of a world, given their spreads; all at once.

    The logarithms of the means are Gaussian but for the class tilt, which is straightened where it
    is. So a step is that of a Gaussian process: what is observed is ``eta + T / mu - 1`` with
    variance ``1 / mu``, and v solves ``(covariance + 1 / mu) v = observed - mean``.
    """
    classes, scores, steep = spreads.T[:, :, None]
    counts, n_nodes, k = model.counts, len(spreads), model.proba.shape[1]
    level = np.log(np.maximum(counts.sum() * model.share, _SMALLEST))
    # The size of the batch, which says nothing; and what e, b and a steep tilt of scores may be.
    noise = model.noise + _ROUGH * scores**2
    fixed = _ANY_SIZE + scores[:, :, None] ** 2 * model.smooth
    if steep.any():
        fixed = fixed + steep[:, :, None] ** 2 * model.steep
    diagonal = np.arange(len(counts))
    fixed[:, diagonal, diagonal] += noise
    x = np.zeros((n_nodes, k + 1))
    eta = np.tile(np.log(counts + _HALF), (n_nodes, 1))
    adapts = bool(classes.any())
    for _ in range(_STEPS):
        covariance, mean = fixed.copy(), level
        if adapts:
            fitted, jacobian = _class_tilt(model, x, classes)
            mean = level + fitted - np.einsum("nci,ni->nc", jacobian, x)
            covariance += jacobian @ jacobian.transpose(0, 2, 1)
        mu = np.exp(eta)
        system = covariance.copy()
        system[:, diagonal, diagonal] += 1 / mu
        observed = eta + counts / mu - 1 - mean
        v = np.linalg.solve(system, observed[..., None])[..., 0]
        move = mean + np.einsum("ncd,nd->nc", covariance, v) - eta
        longest = np.abs(move).max(axis=1, keepdims=True)
        x_move = np.zeros_like(x)
        if adapts:
            x_move = np.einsum("nci,nc->ni", jacobian, v) - x
            longest = np.maximum(longest, np.abs(classes * x_move).max(axis=1, keepdims=True))
        part = np.minimum(1.0, _LONGEST_STEP / np.maximum(longest, _SMALLEST))
        x, eta = x + part * x_move, eta + part * move
        if longest.max() < _CONVERGED:
            break
    mu = np.exp(eta)
    strain = np.einsum("nc,nc->n", v, eta - mean)
    evidence = (
        (counts * eta - mu - gammaln(counts + 1)).sum(axis=1)
        - 0.5 * strain
        - 0.5 * (np.linalg.slogdet(system)[1] + np.log(mu).sum(axis=1))
    )
    spread = np.zeros((n_nodes, k, k))
    if adapts:
        some = jacobian[:, :, :k]
        known = some.transpose(0, 2, 1) @ np.linalg.solve(system, some)
        spread = classes[:, :, None] ** 2 * (np.eye(k) - known)
    # Of the cells what is neither the batch's size nor the classes.
    rest = scores**2 * (v @ model.smooth) + noise * v
    return tuple(
        Node(float(one), *parts)
        for one, *parts in zip(evidence, classes * x[:, :k], spread, rest, strain, strict=True)
    )


def _class_tilt(
    model: _Model, x: FloatArray, classes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return log r of each cell at each node, and its derivatives in tilts and slope."""
    k = model.proba.shape[1]
    odds = np.exp(classes * x[:, :k])
    priors = odds * (model.share @ model.proba)
    total = priors.sum(axis=1, keepdims=True)
    w = odds / total
    mixed = w @ model.proba.T
    by_class = w[:, None, :] * model.proba / mixed[:, :, None] - (priors / total)[:, None, :]
    moved = w @ model.by_slope.T
    by_slope = moved / mixed - (moved @ model.share)[:, None]
    jacobian = np.concatenate([classes[:, :, None] * by_class, by_slope[:, :, None]], axis=2)
    # Linear in the slope, whose standard error is small.
    fitted: FloatArray = np.log(mixed) + by_slope * x[:, k:]
    return fitted, jacobian


def normalised(tilt: FloatArray, source_priors: FloatArray) -> FloatArray:
    """Return logarithms of ratios that keep the sum of the proportions at 1."""
    top = tilt.max()
    logs: FloatArray = tilt - top - np.log(np.exp(tilt - top) @ source_priors)
    return logs
