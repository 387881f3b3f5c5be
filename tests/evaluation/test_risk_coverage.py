"""Risk-coverage areas by hand, against sums over all random orders, and with weights."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abstain.evaluation import risk_coverage


def areas(loss):
    """AURC and AUGRC of losses in a given order, from their definition."""
    n = len(loss)
    sums = np.cumsum(loss)
    return np.mean(sums / np.arange(1, n + 1)), np.mean(sums / n)


def test_by_hand():
    # Kept one by one: right, wrong, right. Risks 0, 1/2, 1/3; best order 0, 0, 1/3.
    curve = risk_coverage([1, 0, 0], [0.5, 0.1, 0.9])
    assert curve.coverage == pytest.approx([1 / 3, 2 / 3, 1])
    assert curve.selective_risk == pytest.approx([0, 1 / 2, 1 / 3])
    assert curve.generalised_risk == pytest.approx([0, 1 / 3, 1 / 3])
    assert curve.aurc == pytest.approx(5 / 18)
    assert curve.augrc == pytest.approx(2 / 9)
    assert curve.excess_aurc == pytest.approx(5 / 18 - 1 / 9)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=6))
def test_ties_are_the_mean_over_random_orders(rows):
    loss, score = (np.array(part, dtype=float) for part in zip(*rows, strict=True))
    found = [
        areas(loss[list(order)])
        for order in permutations(range(len(rows)))
        if (np.diff(score[list(order)]) >= 0).all()
    ]
    curve = risk_coverage(loss, score)
    assert (curve.aurc, curve.augrc) == pytest.approx(np.mean(found, axis=0))


@given(st.integers(0, 1_000))
def test_whole_weights_equal_repetition(seed):
    rng = np.random.default_rng(seed)
    loss, score = rng.uniform(size=12), rng.integers(0, 6, 12)
    weight = rng.integers(1, 4, 12)
    weighted = risk_coverage(loss, score, sample_weight=weight)
    repeated = risk_coverage(np.repeat(loss, weight), np.repeat(score, weight))
    for area in ("aurc", "augrc", "excess_aurc"):
        assert getattr(weighted, area) == pytest.approx(getattr(repeated, area))


@given(st.integers(0, 1_000))
def test_the_best_order_has_no_excess_and_no_order_has_less(seed):
    rng = np.random.default_rng(seed)
    loss = rng.uniform(size=20)
    assert risk_coverage(loss, loss).excess_aurc == pytest.approx(0, abs=1e-12)
    assert risk_coverage(loss, rng.uniform(size=20)).excess_aurc >= -1e-12


def test_errors():
    with pytest.raises(ValueError, match="one-dimensional"):
        risk_coverage([[1]], [1])
    with pytest.raises(ValueError, match="same number of rows"):
        risk_coverage([1, 0], [1])
    with pytest.raises(ValueError, match="is empty"):
        risk_coverage([], [])
    with pytest.raises(ValueError, match="finite"):
        risk_coverage([np.nan], [1])


def test_extreme_losses_and_weights_give_finite_areas():
    curve = risk_coverage([1e150, 0, -1e150], [1, 2, 3])
    assert np.isfinite([curve.aurc, curve.augrc, curve.excess_aurc]).all()
    curve = risk_coverage([0, 1, 1], [1, 2, 3], sample_weight=[1e300, 1e300, 1e-300])
    assert 0 <= curve.aurc <= 1
    assert curve.augrc == pytest.approx(0.125)
    tiny = risk_coverage([0, 1], [1, 2], sample_weight=[5e-324, 5e-324])
    assert 0 <= tiny.augrc <= 1
    with pytest.raises(ValueError, match="at most 1e\\+150 in size"):
        risk_coverage([0, 1.7e308], [1, 2])
    heavy = risk_coverage([0, 1], [1, 2], sample_weight=[1.7e308, 1.7e308])
    assert heavy.augrc == pytest.approx(0.125)
