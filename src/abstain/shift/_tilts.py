"""The likeliest tilts of a batch's cells of scores: of its classes, of its scores, of both.

A Poisson model of the numbers of rows in cells, straightened where the classes tilt, and the
evidence for it by Laplace's method.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from abstain._inputs import FloatArray
from abstain.shift._cells import Cells
from abstain.summaries import BatchSummary, LabelledSummary

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


class CellModel(NamedTuple):
    """What the numbers of a batch are compared with, by cell.

    Attributes
    ----------
    counts : ndarray of shape (n_cells,)
        Rows of the batch.
    share, noise : ndarray of shape (n_cells,)
        Share of the validation rows, and how uncertain its logarithm is, as a variance.
    proba, by_slope : ndarray of shape (n_cells, n_parts)
        Mean probabilities of validation rows, and how they move with the calibration's slope, by
        its standard error. Of each class, or of classes that share their cells together.
    priors : ndarray of shape (n_parts,)
        Their mean over the cells.
    share_of_one : ndarray of shape (n_parts,)
        How far tilts of classes, each for itself, tilt a part of them: 1 for a class alone.
    smooth, steep : ndarray of shape (n_cells, n_cells)
        The covariance of score tilts of spread 1, and of those that look like class tilts.
    """

    counts: FloatArray
    share: FloatArray
    noise: FloatArray
    proba: FloatArray
    by_slope: FloatArray
    priors: FloatArray
    share_of_one: FloatArray
    smooth: FloatArray
    steep: FloatArray


class Modes(NamedTuple):
    """The likeliest tilts at each node: a world at one spread of its tilts.

    Attributes
    ----------
    tilt : ndarray of shape (n_nodes, n_parts)
        Logarithm of new over old class proportions, but for a constant.
    covariance : ndarray of shape (n_nodes, n_parts, n_parts)
        How uncertain that is.
    by_cell : ndarray of shape (n_nodes, n_cells)
        Logarithm of new over old rows of a cell that are not for the classes.
    evidence, strain : ndarray of shape (n_nodes,)
        The logarithm of how probable the batch's numbers are; and how unlikely tilts are needed:
        chi-squared with as many degrees of freedom as cells, if the world is this one.
    """

    tilt: FloatArray
    covariance: FloatArray
    by_cell: FloatArray
    evidence: FloatArray
    strain: FloatArray


def cell_model(source: LabelledSummary, target: BatchSummary, cells: Cells) -> CellModel:
    """Count a batch in cells, and say what its numbers are compared with."""
    proba, weight = source.proba, source.counts
    n_cells, total = len(cells), weight @ source.proba
    cell = cells.number(proba)
    rows = np.bincount(cell, weights=weight, minlength=n_cells).astype(np.float64)
    logs = np.log(np.maximum(proba, _SMALLEST))
    moved = proba * (logs - np.einsum("nk,nk->n", proba, logs)[:, None])
    information = float(weight @ np.einsum("nk,nk->n", moved, logs))
    proba, moved = cells.by_part(proba), cells.by_part(moved)
    k = proba.shape[1]
    sums = np.column_stack(
        [
            np.bincount(cell, weights=weight * column, minlength=n_cells)
            for column in (*proba.T, *moved.T)
        ]
    )
    # A cell without validation rows is as all of them are.
    sums[:, :k] += _SMALLEST * (weight @ proba / weight.sum())
    mean, by_slope = np.hsplit(sums / (rows + _SMALLEST)[:, None], 2)
    by_slope /= np.sqrt(max(information, 1.0))
    share = (rows + _HALF) / (rows + _HALF).sum()
    of_one = np.sqrt(cells.by_part(total**2)) / np.maximum(cells.by_part(total), _SMALLEST)
    return CellModel(
        cells.counts(target),
        share,
        # Some rows that stand for all know no more than they are.
        source.thinned / (rows + _HALF),
        mean,
        by_slope,
        share @ mean,
        of_one,
        _smooth(mean, rows, cells, of_one),
        _steep(mean, share),
    )


def _smooth(mean: FloatArray, rows: FloatArray, cells: Cells, of_one: FloatArray) -> FloatArray:
    """Return the covariance of a score tilt: cells of like confidence are alike."""
    confidence = mean.max(axis=1)
    # Cells that are as confident as each other share their ranks, whatever the last digit.
    higher = np.clip((confidence[:, None] - confidence) / _LIKE, -0.5, 0.5) + 0.5
    rank = higher @ (rows / rows.sum())
    near = np.exp(-0.5 * ((rank[:, None] - rank) / _REACH) ** 2)
    if mean.shape[1] == 2:
        part = (mean[:, 1] > 0.5).astype(np.intp)
    else:
        part = np.repeat(np.arange(mean.shape[1]), np.diff(cells.first))
    own = _OWN * of_one[part] ** 2
    covariance: FloatArray = near * (_COMMON + own * (part[:, None] == part))
    return covariance


def _steep(mean: FloatArray, share: FloatArray) -> FloatArray:
    """Return the covariance of tilts that rise with the probability of each class.

    Straight in the probability, where label shift is in the logarithm of a mean of them; or in
    its rank. Which of the two nobody knows, so it may be any mixture.
    """
    rank = np.column_stack([_rank(column / _LIKE, share) for column in mean.T])
    forms = np.hstack([mean, rank]) - share @ np.hstack([mean, rank])
    return forms @ forms.T / 2


def _rank(values: FloatArray, share: FloatArray) -> FloatArray:
    """Return the share of what is below each value, where those less than 1/2 apart are alike."""
    apart = np.subtract.outer(values, values)
    return np.asarray(np.clip(apart, -0.5, 0.5, out=apart) @ share + 0.5 * share.sum())


def likeliest_tilts(model: CellModel, spreads: FloatArray) -> Modes:
    """Return the likeliest tilts at all nodes of a world, given their spreads.

    The logarithms of the means are Gaussian but for the class tilt, which is straightened where it
    is. So a step is that of a Gaussian process: what is observed is ``eta + T / mu - 1`` with
    variance ``1 / mu``, and v solves ``(covariance + 1 / mu) v = observed - mean``.
    """
    scores, steep = spreads.T[1:, :, None]
    # Of each part, and last of the slope, which has no spread but its own.
    classes = spreads[:, :1] * np.append(model.share_of_one, 1.0)
    counts, n_nodes, k = model.counts, len(spreads), model.proba.shape[1]
    level = np.log(np.maximum(counts.sum() * model.share, _SMALLEST))
    # The size of the batch, which says nothing; and what e, b and a steep tilt of scores may be.
    noise = model.noise + _ROUGH * scores**2
    fixed = _ANY_SIZE + scores[:, :, None] ** 2 * model.smooth
    fixed += steep[:, :, None] ** 2 * model.steep
    diagonal = np.arange(len(counts))
    fixed[:, diagonal, diagonal] += noise
    x = np.zeros((n_nodes, k + 1))
    eta = np.tile(np.log(counts + _HALF), (n_nodes, 1))
    for _ in range(_STEPS):
        fitted, jacobian = _straightened(model, x, classes)
        mean = level + fitted - np.einsum("nci,ni->nc", jacobian, x)
        covariance = fixed + jacobian @ jacobian.transpose(0, 2, 1)
        mu = np.exp(eta)
        system = covariance.copy()
        system[:, diagonal, diagonal] += 1 / mu
        v = np.linalg.solve(system, (eta + counts / mu - 1 - mean)[..., None])[..., 0]
        move = mean + np.einsum("ncd,nd->nc", covariance, v) - eta
        x_move = np.einsum("nci,nc->ni", jacobian, v) - x
        moves = np.hstack([move, classes * x_move])
        longest = np.abs(moves).max(axis=1, keepdims=True)
        part = np.minimum(1.0, _LONGEST_STEP / np.maximum(longest, _SMALLEST))
        x, eta = x + part * x_move, eta + part * move
        if longest.max() < _CONVERGED:
            break
    mu = np.exp(eta)
    strain = np.einsum("nc,nc->n", v, eta - mean)
    evidence = (counts * eta - mu - gammaln(counts + 1)).sum(axis=1) - 0.5 * (
        strain + np.linalg.slogdet(system)[1] + np.log(mu).sum(axis=1)
    )
    some, own = jacobian[:, :, :k], classes[:, :k]
    known = some.transpose(0, 2, 1) @ np.linalg.solve(system, some)
    spread = own[:, :, None] * own[:, None, :] * (np.eye(k) - known)
    # Of the cells what is neither the batch's size nor the classes.
    rest = scores**2 * (v @ model.smooth) + noise * v
    return Modes(classes[:, :k] * x[:, :k], spread, rest, evidence, strain)


def _straightened(
    model: CellModel, x: FloatArray, classes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return log r of each cell at each node, and its derivatives in tilts and slope."""
    k = model.proba.shape[1]
    classes = classes[:, :k]
    odds = np.exp(classes * x[:, :k])
    priors = odds * model.priors
    total = priors.sum(axis=1, keepdims=True)
    w = odds / total
    mixed = w @ model.proba.T
    by_class = w[:, None, :] * model.proba / mixed[:, :, None] - (priors / total)[:, None, :]
    moved = w @ model.by_slope.T
    by_slope = moved / mixed - (moved @ model.share)[:, None]
    jacobian = np.concatenate([classes[:, None, :] * by_class, by_slope[:, :, None]], axis=2)
    # Linear in the slope, whose standard error is small.
    fitted: FloatArray = np.log(mixed) + by_slope * x[:, k:]
    return fitted, jacobian


def normalised(tilt: FloatArray, source_priors: FloatArray) -> FloatArray:
    """Return logarithms of ratios that keep the sum of the proportions at 1."""
    logs = tilt - tilt.max(axis=-1, keepdims=True)
    found: FloatArray = logs - np.log(np.exp(logs) @ source_priors)[..., None]
    return found
