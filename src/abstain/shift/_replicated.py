"""Class proportions of many replicates at once."""

from __future__ import annotations

import numpy as np

from abstain._inputs import FloatArray, both_columns

_STEPS = 6
_PRECISION = 3e-4
# No proportion moves closer to 0 (or 1) than this share of where it was in a step.
_NEAREST = 0.1
_SMALLEST = 1e-12


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
