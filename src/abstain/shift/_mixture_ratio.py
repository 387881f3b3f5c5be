"""Counts in cells: how far the target is from a mixture of the source's classes.

A likelihood ratio with its own noise simulated, for tables of few rows as well as of many.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from abstain._inputs import FloatArray

# Tables simulated: enough for an eighth of their variance, if they are not too large.
_SIMULATIONS = 120
_FEWEST_SIMULATIONS = 30
_MOST_NUMBERS = 40 * 32_768
_MOST_STEPS = 2_000
# Numbers in the tables that are fitted at a time.
_AT_A_TIME = 32_768


def simulated_ratio(
    totals: FloatArray, shares: FloatArray, counts: FloatArray, mixture: FloatArray
) -> tuple[float, float]:
    """Return mean and variance of the likelihood ratio of tables drawn from the fitted model.

    The variance is at least that of a chi-squared variable of this mean: so few tables may show
    too little of it, and then the ratio at hand would seem too rare.
    """
    rng = np.random.default_rng(0)
    n_tables = int(np.clip(_MOST_NUMBERS // shares.size, _FEWEST_SIMULATIONS, _SIMULATIONS))
    mixed = shares @ mixture
    tables = np.stack(
        [
            rng.multinomial(max(round(total), 1), share, size=n_tables)
            for total, share in zip(totals, shares.T, strict=True)
        ],
        axis=-1,
    ).astype(np.float64)
    drawn = rng.multinomial(round(counts.sum()), mixed / mixed.sum(), size=n_tables)
    begin = np.maximum(mixture, 1e-3)
    begin /= begin.sum()
    # Some at a time, so that what is between stays in near cache.
    size = max(_AT_A_TIME // shares.size, 1)
    ratios = np.concatenate(
        [
            _fitted(
                tables[first : first + size],
                drawn[first : first + size].astype(np.float64),
                begin,
                precision=3e-2,
            )[0]
            for first in range(0, n_tables, size)
        ]
    )
    mean = max(float(np.mean(ratios)), 1e-3)
    # Both are known from so many tables only, which makes the tails of what is between heavier.
    return mean, max(float(np.var(ratios, ddof=1)), 2 * mean) * (1 + 10 / n_tables)


def likelihood_ratio(
    by_class: FloatArray, counts: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Fit the cell shares of the classes and the mixture together.

    Returns the likelihood ratio statistic, the mixture, and the shares of cells in each class.
    """
    even = np.full(by_class.shape[1], 1 / by_class.shape[1])
    ratios, state = _fitted(by_class[None], counts[None], even, precision=1e-7)
    return float(ratios[0]), state[0, -1], state[0, :-1]


def _fitted(
    by_class: FloatArray, counts: FloatArray, mixture: FloatArray, *, precision: float
) -> tuple[FloatArray, FloatArray]:
    """Fit many tables at once, beginning from a mixture.

    By EM, with every two steps extrapolated (SQUAREM: Varadhan & Roland, 2008) where that gains.
    Returns the statistics, and each class's shares of the cells above its part of the mixture.
    """
    n_tables, n_cells, n_classes = by_class.shape
    totals, rows = by_class.sum(axis=-2, keepdims=True), counts.sum(axis=-1, keepdims=True)
    free = xlogy(by_class, by_class / totals).sum(axis=(-2, -1))
    free += xlogy(counts, counts / rows).sum(axis=-1)
    # A cell that no class has on the source but the target has must start above 0.
    final = np.empty((n_tables, n_cells + 1, n_classes))
    final[:, :-1] = (by_class + 1e-3) / (totals + 1e-3 * n_cells)
    final[:, -1] = mixture
    value = np.full(n_tables, -np.inf)
    left = np.arange(n_tables)
    for _ in range(_MOST_STEPS):
        table, drawn, total, state = by_class[left], counts[left], rows[left], final[left]
        once = _step(table, drawn, total, state)
        twice = _step(table, drawn, total, once)
        further = _step(table, drawn, total, _extrapolated(state, once, twice))
        plain, bold = (_log_likelihood(table, drawn, one) for one in (twice, further))
        final[left] = np.where((bold >= plain)[:, None, None], further, twice)
        last, value[left] = value[left], np.maximum(plain, bold)
        left = left[value[left] - last >= precision]
        if not len(left):
            break
    return np.maximum(2 * (free - value), 0.0), final


def _step(
    by_class: FloatArray, counts: FloatArray, rows: FloatArray, state: FloatArray
) -> FloatArray:
    """Share the target's rows out to the classes, then count."""
    shares, mixture = state[..., :-1, :], state[..., -1, :]
    joint = shares * mixture[..., None, :]
    mixed = joint.sum(axis=-1)
    taken = np.divide(counts, mixed, out=np.zeros_like(counts), where=mixed > 0)
    joint *= taken[..., None]
    new = np.empty_like(state)
    new[..., -1, :] = joint.sum(axis=-2) / rows
    joint += by_class
    np.divide(joint, joint.sum(axis=-2, keepdims=True), out=new[..., :-1, :])
    return new


def _extrapolated(state: FloatArray, once: FloatArray, twice: FloatArray) -> FloatArray:
    move, bend = once - state, twice - 2 * once + state
    size, bent = (np.sum(one**2, axis=(-2, -1), keepdims=True) for one in (move, bend))
    length = np.sqrt(np.divide(size, bent, out=np.ones_like(size), where=bent > 0))
    length = np.maximum(length, 1.0)
    bold: FloatArray = np.maximum(state + 2 * length * move + length**2 * bend, 1e-3 * twice)
    bold[..., :-1, :] /= bold[..., :-1, :].sum(axis=-2, keepdims=True)
    bold[..., -1, :] /= bold[..., -1, :].sum(axis=-1, keepdims=True)
    return bold


def _log_likelihood(by_class: FloatArray, counts: FloatArray, state: FloatArray) -> FloatArray:
    shares, mixture = state[..., :-1, :], state[..., -1, :]
    mixed = np.matmul(shares, mixture[..., None])[..., 0]
    total: FloatArray = xlogy(by_class, shares).sum(axis=(-2, -1)) + xlogy(counts, mixed).sum(-1)
    return total
