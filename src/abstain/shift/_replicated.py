"""Class proportions of many replicates at once, and how labelled rows count as rows of a batch."""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray, both_columns
from abstain._numerics import cuts_between
from abstain.summaries import LabelledSummary

_STEPS = 6
_PRECISION = 3e-4
# No proportion moves closer to 0 (or 1) than this share of where it was in a step.
_NEAREST = 0.1
_SMALLEST = 1e-12
# Levels of certainty in which scores are compared, and rows that each should have in both sets.
_MOST_LEVELS = 10
_ROWS_PER_LEVEL = 30


def replicated_priors(
    moved: FloatArray,
    weight: FloatArray,
    source: FloatArray,
    pseudo: FloatArray,
    start: FloatArray,
) -> FloatArray:
    """Return the likeliest class proportions of every replicate, by Newton's method.

    Parameters
    ----------
    moved : ndarray of shape (n_replicates, m, n_classes), or (n_replicates, m) for two classes
        Probabilities of the batch's rows; of two classes those of the positive one.
    weight : ndarray of shape (n_replicates, m)
        How much the rows count.
    source : ndarray of shape (n_replicates, n_classes)
        Class proportions at which the probabilities were made.
    pseudo : ndarray of shape (n_replicates, n_classes)
        Weight of further rows whose class is known.
    start : ndarray of shape (n_classes,)
        Proportions to begin from.
    """
    start = np.maximum(start, _SMALLEST)
    if moved.ndim == 2:
        return priors_of_two(moved, weight, source, pseudo, float(start[1] / start.sum()))[0]
    return _of_many(moved, weight, source, pseudo, start / start.sum())


def priors_of_two(
    moved: FloatArray,
    weight: FloatArray,
    source: FloatArray,
    pseudo: FloatArray,
    start: float,
    *,
    precision: float = _PRECISION,
    most: int = _STEPS,
) -> tuple[FloatArray, int]:
    """Maximise the likelihood of one number for each replicate, in which it is concave.

    Return the proportions, and the steps it took; as many as may be taken where it might need
    more of them.
    """
    source = np.maximum(source, _SMALLEST)
    negative = (1 - moved) / source[:, :1]
    slope = moved / source[:, 1:] - negative
    positive = np.full(len(moved), np.clip(start, _SMALLEST, 1 - _SMALLEST))
    n_steps, done = 0, False
    while n_steps < most and not done:
        n_steps += 1
        share = slope / np.maximum(negative + positive[:, None] * slope, _SMALLEST)
        pull = np.einsum("bn,bn->b", weight, share)
        curvature = np.einsum("bn,bn,bn->b", weight, share, share)
        pull += pseudo[:, 1] / positive - pseudo[:, 0] / (1 - positive)
        curvature += pseudo[:, 1] / positive**2 + pseudo[:, 0] / (1 - positive) ** 2
        moved_to = positive + pull / np.maximum(curvature, _SMALLEST)
        moved_to = np.clip(moved_to, _NEAREST * positive, 1 - _NEAREST * (1 - positive))
        done = np.abs(moved_to - positive).max() < precision
        positive = np.clip(moved_to, _SMALLEST, 1 - _SMALLEST)
    return both_columns(positive), n_steps


def _of_many(
    moved: FloatArray,
    weight: FloatArray,
    source: FloatArray,
    pseudo: FloatArray,
    start: FloatArray,
) -> FloatArray:
    """Minimise ``s . w - mean log(p . w)`` over the ratios w, in which it is convex."""
    n_classes = moved.shape[2]
    total = weight.sum(axis=1) + pseudo.sum(axis=1)
    source = np.maximum(source, _SMALLEST)
    ratios = start / source
    diagonal = np.arange(n_classes)
    for _ in range(_STEPS):
        mixed = np.maximum(moved @ ratios[:, :, None], _SMALLEST)
        share = moved / mixed
        weighted = share * weight[:, :, None]
        gradient = source - (weighted.sum(axis=1) + pseudo / ratios) / total[:, None]
        hessian = weighted.transpose(0, 2, 1) @ share / total[:, None, None]
        hessian[:, diagonal, diagonal] += pseudo / ratios**2 / total[:, None]
        hessian[:, diagonal, diagonal] += 1e-9 * np.trace(hessian, axis1=1, axis2=2)[:, None]
        step = np.linalg.solve(hessian, -gradient[:, :, None])[:, :, 0]
        # A step to where the quadratic model has no right to speak is cut short as a whole.
        length = np.ones_like(step)
        with np.errstate(over="ignore"):
            # Of a step of next to nothing the length may be without bound.
            np.divide((1 - _NEAREST) * ratios, -step, out=length, where=step < 0)
        ratios = ratios + np.minimum(length.min(axis=1), 1.0)[:, None] * step
        priors = ratios * source
        if np.abs(step * source).max() < _PRECISION:
            break
    found: FloatArray = priors / priors.sum(axis=1, keepdims=True)
    return found


def importance_by_score(
    labelled: LabelledSummary, rows: FloatArray, weight: FloatArray
) -> FloatArray:
    """Return how much labelled rows count as rows of a batch where p(y | score) stays.

    The share of rows in each cell of scores, of the batch over that of the labelled rows; cells
    are the most probable class and a level of its probability, as far as both sets have rows.
    """
    parts = (labelled.proba, labelled.weight), (rows, weight)
    top = [proba.max(axis=1) for proba, _ in parts]
    n_levels = int(min(len(labelled.proba), len(rows)) // _ROWS_PER_LEVEL)
    n_levels = min(max(n_levels, 1), _MOST_LEVELS)
    both = np.concatenate(top)
    edges = cuts_between(both, np.quantile(both, np.arange(1, n_levels) / n_levels))
    n_classes = labelled.proba.shape[1]
    cells = [
        proba.argmax(axis=1) * n_levels + np.searchsorted(edges, highest)
        for (proba, _), highest in zip(parts, top, strict=True)
    ]
    shares = []
    for cell, (_, count) in zip(cells, parts, strict=True):
        found = np.bincount(cell, weights=count, minlength=n_classes * n_levels).astype(float)
        # One more row spread over all cells: a share is never known to be none.
        found += found.sum() / len(cell) / len(found)
        shares.append(found / found.sum())
    then, now = shares
    return np.asarray((now / then)[cells[0]])
