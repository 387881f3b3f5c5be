"""What the data leave open about class proportions found by maximum likelihood.

Target rows, source rows and, where the calibrator was fitted on the source, its parameters are
all estimates. Their noise goes through the estimating equations to the proportions (the delta
method), with the bound at 0 kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import chdtr

from abstain._inputs import FloatArray, IntArray
from abstain._kernels.proportions import mixture_derivatives
from abstain._numerics import gamma_draws
from abstain.shift._base import SourcePriors
from abstain.summaries import BatchSummary, LabelledSummary

_CHUNK = 65_536
# If the mean residual of each class is this much closer to 0 than chance would bring it, the
# calibrator was fitted on these rows.
_BY_CHANCE = 0.02
# Rows of known class that a class has in a draw at least, for logarithms.
_FEWEST = 1e-6
_BARRED_STEPS = 40
# Of more classes than this, draws are solved for together, to this precision.
_MANY_CLASSES = 32
_PRECISION = 1e-6
_MOST_PRODUCTS = 200


@dataclass(frozen=True)
class LocalModel:
    """The likelihood near its maximum, and the noise in where that is.

    Attributes
    ----------
    ratios, source_priors : ndarray of shape (n_classes,)
        Target over source proportions at the maximum; the source's proportions.
    gradient, hessian : ndarray
        Derivatives of the convex objective in the ratios; a gradient above 0 holds a ratio at 0.
    covariance : ndarray of shape (2 * n_classes, 2 * n_classes)
        Of the noise in minus the gradient, followed by that in the source's proportions.
    known : ndarray of shape (n_classes,)
        Rows of known class, of each class; they are no part of the derivatives.
    n_rows : float
        All rows, these included.
    """

    ratios: FloatArray
    source_priors: FloatArray
    gradient: FloatArray
    hessian: FloatArray
    covariance: FloatArray
    known: FloatArray
    n_rows: float = 1.0

    def draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        """Draw proportions: each the minimum of the objective tilted by noise."""
        k = len(self.ratios)
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        noise = rng.standard_normal((n_draws, 2 * k)) @ root.T
        tilt, moved = noise[:, :k], noise[:, k:]
        free = self.source_priors > 0
        ratios = np.zeros((n_draws, k))
        if self.known.any():
            # The known rows are drawn too, or a direction that only they settle had no noise.
            rows = gamma_draws(self.known[free], n_draws, rng)
            known = np.maximum(rows, _FEWEST) / self.n_rows
            ratios[:, free] = self._barred_minima(tilt[:, free], free, known)
        else:
            ratios[:, free] = self._tilted_minima(tilt[:, free], free)
        priors = np.maximum(ratios * np.maximum(self.source_priors + moved, 0.0), 0.0)
        total = priors.sum(axis=1, keepdims=True)
        at = np.where(free, self.ratios * self.source_priors, 0.0)
        drawn: FloatArray = np.where(
            total > 0, priors / np.where(total > 0, total, 1.0), at / at.sum()
        )
        return drawn

    def _barred_minima(
        self, tilt: FloatArray, free: NDArray[np.bool_], known: FloatArray
    ) -> FloatArray:
        """Return the minima of w'Hw/2 - linear'w - known'log w, of all draws at once.

        The logarithms are kept as they are: near 0 they are anything but quadratic. Found by a
        primal-dual interior point method, whose duals are known / w.
        """
        hessian = self.hessian[np.ix_(free, free)]
        hessian = hessian + 1e-12 * np.trace(hessian) * np.eye(len(hessian))
        linear = hessian @ self.ratios[free] - self.gradient[free] + tilt
        w = np.tile(np.maximum(self.ratios[free], 1e-6), (len(tilt), 1))
        dual = known / w
        corner = np.arange(len(hessian))
        todo = np.arange(len(tilt))
        for _ in range(_BARRED_STEPS):
            at, held, pull = w[todo], dual[todo], known[todo]
            aim = linear[todo] - at @ hessian + pull / at
            if len(hessian) > _MANY_CLASSES:
                move = _solved(hessian, held / at, aim)
            else:
                matrix = np.repeat(hessian[None], len(todo), axis=0)
                matrix[:, corner, corner] += held / at
                move = np.linalg.solve(matrix, aim[..., None])[..., 0]
            dual_move = (pull - held * move) / at - held
            w[todo] = at + _inside(at, move) * move
            dual[todo] = held + _inside(held, dual_move) * dual_move
            far = np.abs(move).max(axis=1) > 1e-5 * at.max(axis=1)
            todo = todo[far]
            if not len(todo):
                break
        return w

    def _tilted_minima(self, tilt: FloatArray, free: NDArray[np.bool_]) -> FloatArray:
        hessian = self.hessian[np.ix_(free, free)]
        hessian = hessian + 1e-12 * np.trace(hessian) * np.eye(len(hessian))
        linear = hessian @ self.ratios[free] - self.gradient[free]
        root = linalg.cholesky(hessian, lower=True)
        minima: FloatArray = linalg.cho_solve((root, True), (linear + tilt).T).T
        negative = np.flatnonzero((minima < 0).any(axis=1))
        if len(negative):
            from scipy.optimize import nnls  # rarely needed, and slow to import

        for row in negative:
            # min w'Hw/2 - (linear + tilt)'w over w >= 0 is least squares in the root of H.
            aim = linalg.solve_triangular(root, linear + tilt[row], lower=True)
            minima[row] = nnls(root.T, aim)[0]
        return minima


def local_model(
    source: LabelledSummary,
    target: BatchSummary,
    ratios: FloatArray,
    source_priors: FloatArray,
    *,
    priors_from: SourcePriors,
    calibrated: bool,
    known: FloatArray,
) -> LocalModel:
    """Return the likelihood near its maximum with its noise.

    Parameters
    ----------
    source, target : LabelledSummary and BatchSummary
        What the estimator was fitted on.
    ratios, source_priors : ndarray of shape (n_classes,)
        The estimate.
    priors_from : {"mean-probability", "label-frequency"}
        Where the source's proportions come from.
    calibrated : bool
        Whether the probabilities come from a calibrator fitted on the source, whose slope and
        biases then are noisy too.
    known : ndarray of shape (n_classes,)
        Rows of known class, of each class, drawn anew in each draw.
    """
    n_known = float(known.sum())
    k = len(ratios)
    rows, weight = target.for_likelihood()
    _, mean, hessian = mixture_derivatives(
        np.ascontiguousarray(rows), np.empty(0) if weight is None else weight, ratios
    )
    n_target = _total(rows, weight)
    n_source = _total(source.proba, source.weight)
    target_noise = (hessian - np.outer(mean, mean)) / n_target
    # The rows' share of all, those of known class included.
    share = n_target / (n_target + n_known)
    moments = _source_moments(source, priors_from)
    # The source enters as means of (what its proportions are means of, the calibrator's score).
    source_noise = moments.covariance / n_source
    to_priors = np.hstack([np.eye(k), np.zeros((k, k + 1))])
    to_tilt = -to_priors
    if calibrated and source.codes is not None:
        by_parameters = moments.slopes if priors_from == "mean-probability" else 0.0
        target_slopes = np.column_stack(
            [_target_by_slope(rows, weight, ratios), np.diag(mean) - hessian * ratios]
        )
        solve = np.linalg.pinv(moments.information, rcond=1e-10, hermitian=True)
        to_priors[:, k:] += by_parameters @ solve if np.ndim(by_parameters) else 0.0
        to_tilt[:, k:] += (share * target_slopes - by_parameters) @ solve
    both = np.vstack([to_tilt, to_priors])
    covariance = both @ source_noise @ both.T
    covariance[:k, :k] += share**2 * target_noise
    return LocalModel(
        ratios,
        source_priors,
        source_priors - share * mean,
        share * hessian,
        covariance,
        known,
        n_target + n_known,
    )


def _solved(matrix: FloatArray, more: FloatArray, aim: FloatArray) -> FloatArray:
    """Solve ``(matrix + diag(more)) x = aim``, a row for each of many, by conjugate gradients.

    One matrix for all, and not a factor of each: products with it are those of two matrices.
    """
    scale = 1 / (np.diag(matrix) + more)
    solution, rest = np.zeros_like(aim), aim.copy()
    towards = scale * rest
    direction = towards
    size = np.einsum("bi,bi->b", rest, towards)
    enough = _PRECISION**2 * size
    for _ in range(_MOST_PRODUCTS):
        if (size <= enough).all():
            break
        product = direction @ matrix + more * direction
        curvature = np.einsum("bi,bi->b", direction, product)
        length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
        solution += length[:, None] * direction
        rest -= length[:, None] * product
        towards = scale * rest
        last, size = size, np.einsum("bi,bi->b", rest, towards)
        ratio = np.divide(size, last, out=np.zeros_like(size), where=last > 0)
        direction = towards + ratio[:, None] * direction
    return solution


def _inside(values: FloatArray, moves: FloatArray) -> FloatArray:
    """Return the part of each move that keeps its values positive, at most all of it."""
    most = np.max(-moves / values, axis=1, keepdims=True)
    part: FloatArray = np.minimum(1.0, 0.95 / np.maximum(most, 1e-12))
    return part


def calibrated_here(source: LabelledSummary) -> bool:
    """Whether the source's labels show that the calibrator was fitted on these rows.

    Calibrators with biases make mean probability and class frequency meet; on other rows they
    differ by chance, and how much is a chi-squared variable.
    """
    if source.codes is None:
        return False
    moments = _source_moments(source, "mean-probability")
    k = source.proba.shape[1]
    residual = moments.mean[k + 1 :]
    spread = moments.covariance[k + 1 :, k + 1 :] / _total(source.proba, source.weight)
    distance = residual @ np.linalg.pinv(spread, rcond=1e-10, hermitian=True) @ residual
    rank = np.linalg.matrix_rank(spread, hermitian=True)
    return bool(chdtr(max(rank, 1), distance) < _BY_CHANCE)


@dataclass(frozen=True)
class _Moments:
    """Means over the source rows.

    The row vector is what the proportions are means of, then the derivatives of the row's log
    likelihood in the calibrator's slope and biases.
    """

    mean: FloatArray
    covariance: FloatArray
    slopes: FloatArray
    information: FloatArray


def _source_moments(source: LabelledSummary, priors_from: SourcePriors) -> _Moments:
    k = source.proba.shape[1]
    total = _total(source.proba, source.weight)
    mean = np.zeros(2 * k + 1)
    second = np.zeros((2 * k + 1, 2 * k + 1))
    information = np.zeros((k + 1, k + 1))
    slopes = np.zeros((k, k + 1))
    for proba, codes, weight in _chunks(source.proba, source.codes, source.weight):
        logs = np.log(np.maximum(proba, np.finfo(np.float64).eps))
        centred = logs - np.einsum("xi,xi->x", proba, logs)[:, None]
        label = np.zeros_like(proba)
        if codes is not None:
            label[np.arange(len(proba)), codes] = 1.0
        score = np.column_stack([np.sum((label - proba) * logs, axis=1), label - proba])
        row = np.hstack([proba if priors_from == "mean-probability" else label, score])
        mean += weight @ row / total
        second += row.T @ (row * weight[:, None]) / total
        weighted = proba * weight[:, None] / total
        slopes[:, 0] += np.sum(weighted * centred, axis=0)
        slopes[:, 1:] += np.diag(weighted.sum(axis=0)) - weighted.T @ proba
        information[0, 0] += np.sum(weighted * centred**2)
    information[0, 1:] = information[1:, 0] = slopes[:, 0]
    information[1:, 1:] = slopes[:, 1:]
    return _Moments(mean, second - np.outer(mean, mean), slopes, information)


def _target_by_slope(
    rows: FloatArray, weights: FloatArray | None, ratios: FloatArray
) -> FloatArray:
    """Return how the mean of p / (p . w) over the target moves with the calibrator's slope."""
    total = _total(rows, weights)
    result = np.zeros(len(ratios))
    for proba, _, weight in _chunks(rows, None, weights):
        logs = np.log(np.maximum(proba, np.finfo(np.float64).eps))
        mixed = proba @ ratios
        share = proba / np.where(mixed > 0, mixed, 1.0)[:, None]
        adapted = np.einsum("xi,i,xi->x", share, ratios, logs)
        result += weight @ (share * (logs - adapted[:, None])) / total
    return result


def _chunks(
    proba: FloatArray, codes: IntArray | None, weight: FloatArray | None
) -> Iterator[tuple[FloatArray, IntArray | None, FloatArray]]:
    """Cut rows into parts, so that no second copy of all of them is made."""
    for begin in range(0, len(proba), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        rows = proba[part]
        yield (
            rows,
            None if codes is None else codes[part],
            np.ones(len(rows)) if weight is None else weight[part],
        )


def _total(rows: FloatArray, weight: FloatArray | None) -> float:
    return float(len(rows)) if weight is None else float(weight.sum())
