"""Risk-coverage curves and their areas: AURC, excess-AURC and the generalised AUGRC.

How the error of the kept examples falls as more are withheld, the usual way to judge scores of
uncertainty when no metric is singled out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma

from abstain._inputs import FloatArray, check_same_length, check_sample_weight, float_array

#: Of a loss, so that sums and differences of them are finite.
LARGEST = 1e150


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """A risk-coverage curve and its areas; of all, lower is better.

    Attributes
    ----------
    coverage : ndarray of shape (n,)
        The share of examples kept, rising to 1.
    selective_risk : ndarray of shape (n,)
        The mean loss of the kept examples.
    generalised_risk : ndarray of shape (n,)
        The loss of the kept examples over the number of all: the chance that an example is
        kept and wrong.
    aurc : float
        Area under the selective risk.
    augrc : float
        Area under the generalised risk.
    excess_aurc : float
        AURC above that of the best order there is.
    """

    coverage: FloatArray
    selective_risk: FloatArray
    generalised_risk: FloatArray
    aurc: float
    augrc: float
    excess_aurc: float


def risk_coverage(
    loss: ArrayLike, score: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> RiskCoverage:
    r"""Return the risk-coverage curve of a score of uncertainty.

    Parameters
    ----------
    loss : array-like of shape (n,)
        Each example's loss, such as 1 where the prediction is wrong and 0 elsewhere; at most
        1e150 in size.
    score : array-like of shape (n,)
        Each example's uncertainty; the highest are withheld first.
    sample_weight : array-like of shape (n,), optional
        How much each example counts; a whole number equals repetition. Weights that add up to
        less than 1 are taken as parts of one example.

    Returns
    -------
    RiskCoverage

    Notes
    -----
    With the examples in ascending order of the score and :math:`L_k` the sum of the first k
    losses,

    .. math::

        \mathrm{AURC} = \frac1n \sum_{k=1}^n \frac{L_k}{k}, \qquad
        \mathrm{AUGRC} = \frac1n \sum_{k=1}^n \frac{L_k}{n}.

    Equal scores are in random order, and the areas are means over it: examples that tie share
    their mean loss. Excess-AURC takes away the AURC of the order by loss itself.

    References
    ----------
    Geifman, Uziel, El-Yaniv. Bias-reduced uncertainty estimation for deep neural classifiers.
    ICLR 2019 (AURC, excess-AURC). Traub et al. Overcoming common flaws in the evaluation of
    selective classification systems. NeurIPS 2024 (AUGRC).

    Examples
    --------
    >>> curve = risk_coverage([0, 1, 0, 0], [0.1, 0.9, 0.2, 0.3])
    >>> curve.selective_risk.tolist(), curve.aurc, curve.excess_aurc
    ([0.0, 0.0, 0.0, 0.25], 0.0625, 0.0)
    """
    losses, scores = float_array(loss, "loss"), float_array(score, "score")
    if losses.ndim != 1 or scores.ndim != 1:
        raise ValueError(
            f"`loss` and `score` must be one-dimensional; got shapes {losses.shape} and "
            f"{scores.shape}."
        )
    n = check_same_length(loss=losses, score=scores)
    if n == 0:
        raise ValueError("`loss` is empty; pass at least one example.")
    if not (np.isfinite(losses).all() and not np.isnan(scores).any()):
        raise ValueError("`loss` must be finite and `score` must not be NaN.")
    if np.abs(losses).max() > LARGEST:
        raise ValueError(f"`loss` must be at most {LARGEST:g} in size; use a larger unit.")
    weight = check_sample_weight(sample_weight, n_rows=n)
    weights = np.ones(n) if weight is None else weight
    with np.errstate(over="ignore"):
        if not np.isfinite(weights.sum()):
            raise ValueError("`sample_weight` must add up to a finite number.")
    total = float(weights.sum())
    if total < 1:
        weights = weights / total
    # In a unit above the largest loss, so that no sum overflows; a power of two rounds nothing.
    unit = max(int(np.frexp(np.abs(losses).max())[1]), 0)
    losses = np.ldexp(losses, -unit)
    order = np.argsort(scores, kind="stable")
    shared = _shared(losses[order], scores[order], weights[order])
    taken = np.cumsum(weights[order])
    suffered = np.cumsum(shared * weights[order])
    best = np.argsort(losses, kind="stable")
    aurc = _aurc(shared, weights[order])
    selective = np.divide(suffered, taken, out=np.zeros(n), where=taken > 0)
    excess = aurc - _aurc(losses[best], weights[best])
    return RiskCoverage(
        coverage=taken / taken[-1],
        selective_risk=np.ldexp(selective, unit),
        generalised_risk=np.ldexp(suffered / taken[-1], unit),
        aurc=float(np.ldexp(aurc, unit)),
        augrc=float(np.ldexp(_augrc(shared, weights[order]), unit)),
        excess_aurc=float(np.ldexp(excess, unit)),
    )


def _shared(loss: FloatArray, score: FloatArray, weight: FloatArray) -> FloatArray:
    """Give examples of equal score their mean loss."""
    group = np.cumsum(np.append(True, score[1:] != score[:-1])) - 1
    total = np.bincount(group, weights=weight)
    mean: FloatArray = np.bincount(group, weights=weight * loss) / np.where(total > 0, total, 1.0)
    return np.asarray(mean[group])


def _aurc(loss: FloatArray, weight: FloatArray) -> float:
    """Return the mean of L_k / k; a weight of w is w repeats, whole or not.

    The repeats of one example add ``sum_j (L + j l) / (W + j)`` for j from 1 to w, with L and W
    the loss and weight before it, which is ``w l + (L - W l) (H(W + w) - H(W))`` with H the
    harmonic numbers.
    """
    after = np.cumsum(weight)
    before = after - weight
    suffered = np.cumsum(weight * loss) - weight * loss
    harmonic = digamma(after + 1) - digamma(before + 1)
    return float(np.sum(weight * loss + (suffered - before * loss) * harmonic) / after[-1])


def _augrc(loss: FloatArray, weight: FloatArray) -> float:
    total = weight.sum()
    suffered = np.cumsum(weight * loss) - weight * loss
    share = weight / total
    return float(np.sum(share * (suffered / total) + share * loss * ((share + 1 / total) / 2)))
