"""Proportions worth some rows: the penalised likelihood, its bounds, and its noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abstain.shift import MaximumLikelihoodShift


def ordinal(rng, k, n, priors=None, spread=2.0):
    """Weak scores of ordered classes: exact posteriors at equal proportions."""
    y = rng.choice(k, size=n, p=priors)
    x = y + spread * rng.normal(size=n)
    odds = np.exp(-((x[:, None] - np.arange(k)) ** 2) / (2 * spread**2))
    return odds / odds.sum(axis=1, keepdims=True), y


def with_known_rows(target, source, rows):
    """The target with rows of known class added, as weights."""
    k = target.shape[1]
    weight = np.concatenate([np.ones(len(target)), rows * source.mean(axis=0)])
    return np.vstack([target, np.eye(k)]), weight


@pytest.mark.parametrize("algorithm", ["newton", "em"])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_prior_rows_are_rows_of_known_class(k, algorithm):
    rng = np.random.default_rng(k)
    source, _ = ordinal(rng, k, 300, spread=0.7)
    target, _ = ordinal(rng, k, 60, priors=np.arange(1, k + 1) / np.arange(1, k + 1).sum())
    rows, weight = with_known_rows(target, source, 10)
    expected = MaximumLikelihoodShift().fit(source, rows, sample_weight_target=weight)
    # EM ends when it hardly moves any more, which with weak scores is early.
    options = {"algorithm": algorithm, "max_iter": 200_000}
    fitted = MaximumLikelihoodShift(prior_rows=10, **options).fit(source, target)
    np.testing.assert_allclose(fitted.priors_, expected.priors_, atol=1e-6)


def test_one_row_by_hand():
    # One row of likelihood q0 0.8 / 0.5 + q1 0.2 / 0.5 and one known row, half of each class:
    # the sum of log(0.2 + 0.6 q) and log(q (1 - q)) / 2 is highest at 0.6 / (0.2 + 0.6 q) =
    # (2 q - 1) / (2 q (1 - q)), or 2.4 q^2 - 1.4 q - 0.2 = 0.
    source = np.array([[0.8, 0.2], [0.2, 0.8]])
    fitted = MaximumLikelihoodShift(prior_rows=1).fit(source, source[:1])
    q = (1.4 + np.sqrt(1.4**2 + 4 * 2.4 * 0.2)) / 4.8
    np.testing.assert_allclose(fitted.priors_, [q, 1 - q], atol=1e-8)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_no_class_is_ever_at_0_or_not_a_number(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    source = rng.dirichlet(np.full(k, 0.1), size=40)
    target = rng.dirichlet(np.full(k, 0.02), size=int(rng.integers(1, 30)))
    fitted = MaximumLikelihoodShift(prior_rows=10).fit(source, target)
    share = 10 / (10 + len(target))
    assert (fitted.weights_ >= share - 1e-9).all()
    assert fitted.priors_.sum() == pytest.approx(1)
    assert fitted.converged_
    draws = fitted.prior_draws(20)
    assert np.isfinite(draws).all()
    assert (draws >= 0).all()
    np.testing.assert_allclose(draws.sum(axis=1), 1)


def test_rows_of_classes_that_the_source_never_has_say_nothing():
    source = np.column_stack([ordinal(np.random.default_rng(0), 2, 50)[0], np.zeros(50)])
    for rows in (0.0, 10.0):
        fitted = MaximumLikelihoodShift(prior_rows=rows).fit(source, [[0.0, 0.0, 1.0]] * 3)
        np.testing.assert_allclose(fitted.weights_, 1)


def test_scores_that_say_nothing_keep_the_proportions_and_say_how_little_is_known():
    fitted = MaximumLikelihoodShift(prior_rows=10).fit([[0.7, 0.3]] * 5, [[0.7, 0.3]] * 30)
    np.testing.assert_allclose(fitted.priors_, [0.7, 0.3], atol=1e-9)
    low, high = fitted.priors_interval(n_draws=2000)[0]
    assert low < 0.55
    assert high > 0.85


def test_more_rows_pull_harder():
    rng = np.random.default_rng(1)
    source, _ = ordinal(rng, 3, 300, spread=1)
    target, _ = ordinal(rng, 3, 50, priors=[0.1, 0.1, 0.8], spread=1)
    pulled = [
        np.abs(MaximumLikelihoodShift(prior_rows=r).fit(source, target).weights_ - 1).max()
        for r in (0, 5, 50, 5000)
    ]
    assert pulled == sorted(pulled, reverse=True)
    assert pulled[-1] < 0.1
    with pytest.raises(ValueError, match="`prior_rows` must be at least 0; got -1"):
        MaximumLikelihoodShift(prior_rows=-1).fit(source, target)


@pytest.mark.parametrize("method", ["asymptotic", "bootstrap"])
def test_flat_directions_show_in_the_draws(method):
    # Nine ordered classes that the scores hardly tell apart: what one loses its neighbours gain.
    rng = np.random.default_rng(3)
    source, _ = ordinal(rng, 9, 1000, spread=3)
    target, y = ordinal(rng, 9, 500, priors=np.r_[0.02, np.full(8, 0.98 / 8)], spread=3)
    truth = np.bincount(y, minlength=9) / len(y)
    fitted = MaximumLikelihoodShift(prior_rows=10).fit(source, target)
    interval = fitted.priors_interval(n_draws=200, method=method)
    assert (interval[:, 1] > 0.01).all()
    assert ((interval[:, 0] <= truth) & (truth <= interval[:, 1])).mean() > 0.75


def test_draws_agree_with_the_bootstrap_where_much_is_known():
    rng = np.random.default_rng(4)
    source, _ = ordinal(rng, 3, 2000, spread=0.7)
    target, _ = ordinal(rng, 3, 1000, priors=[0.2, 0.3, 0.5], spread=0.7)
    fitted = MaximumLikelihoodShift(prior_rows=10).fit(source, target)
    near, far = (fitted.prior_draws(400, method=m) for m in ("asymptotic", "bootstrap"))
    np.testing.assert_allclose(near.mean(axis=0), far.mean(axis=0), atol=0.006)
    np.testing.assert_allclose(near.std(axis=0), far.std(axis=0), rtol=0.25)


def test_a_step_uphill_is_no_convergence(monkeypatch):
    # Where the curvature is lost in rounding the step may point anywhere.
    uphill = lambda self, x, here, damping: 100 * here.gradient  # noqa: E731
    monkeypatch.setattr("abstain._numerics._newton._ByHessian.step", uphill)
    # The proportions come from EM then.
    source, _ = ordinal(np.random.default_rng(0), 3, 300, spread=0.7)
    target, _ = ordinal(np.random.default_rng(1), 3, 200, priors=[0.1, 0.3, 0.6], spread=0.7)
    fitted = MaximumLikelihoodShift().fit(source, target)
    em = MaximumLikelihoodShift(algorithm="em").fit(source, target)
    np.testing.assert_allclose(fitted.priors_, em.priors_, atol=1e-9)
