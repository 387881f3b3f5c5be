"""Estimators of class proportions: values by hand, laws, and what cannot be told."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from abstain import shift
from abstain.exceptions import NotIdentifiable
from abstain.shift import (
    BBSEHard,
    BBSESoft,
    KnownPriors,
    MaximumLikelihoodShift,
    NoShift,
    RLLSHard,
    RLLSSoft,
    _maximum_likelihood,
    adapt_proba,
)

ESTIMATORS = (MaximumLikelihoodShift, BBSEHard, BBSESoft, RLLSHard, RLLSSoft)


def simulated(priors, n, seed=0, source=None):
    """Exact posteriors (under ``source``) of normal classes mixed by ``priors``."""
    rng = np.random.default_rng(seed)
    k = len(priors)
    y = rng.choice(k, size=n, p=priors)
    x = rng.normal(size=(n, k)) + 2 * np.eye(k)[y]
    odds = np.exp(2 * x) * (np.ones(k) if source is None else np.asarray(source))
    return odds / odds.sum(axis=1, keepdims=True), y


def log_likelihood(priors, proba, source):
    return np.sum(np.log(proba @ (priors / source)))


def test_maximum_likelihood_by_hand():
    # Two kinds of rows: a share a of rows scores (0.8, 0.2). The likelihood is that of a coin
    # with chance 0.8 q + 0.2 (1 - q) = a, so q = (a - 0.2) / 0.6.
    source = np.array([[0.8, 0.2], [0.2, 0.8]])
    target = np.repeat(source, [7, 3], axis=0)
    fitted = MaximumLikelihoodShift().fit(source, target)
    np.testing.assert_allclose(fitted.priors_, [0.5 / 0.6, 0.1 / 0.6])
    np.testing.assert_allclose(fitted.weights_, [1 / 0.6, 0.2 / 0.6])
    assert fitted.converged_
    assert fitted.n_iter_ < 20


def test_a_class_may_go_to_zero_cleanly():
    source = np.array([[0.8, 0.2], [0.2, 0.8]])
    fitted = MaximumLikelihoodShift().fit(source, source[:1])
    assert fitted.priors_.tolist() == [1.0, 0.0]
    np.testing.assert_allclose(fitted.transform([[0.5, 0.5]]), [[1.0, 0.0]])


@pytest.mark.parametrize("k", [2, 3, 5])
def test_newton_agrees_with_plain_em(k):
    source, _ = simulated(np.ones(k) / k, 500)
    target, _ = simulated(np.arange(1, k + 1) / (k * (k + 1) / 2), 400, seed=1)
    newton = MaximumLikelihoodShift().fit(source, target)
    em = MaximumLikelihoodShift(algorithm="em").fit(source, target)
    np.testing.assert_allclose(newton.priors_, em.priors_, atol=1e-7)
    assert em.n_iter_ > newton.n_iter_


def test_the_likelihood_is_the_highest_there_is():
    source, _ = simulated(np.ones(3) / 3, 300)
    target, _ = simulated([0.6, 0.3, 0.1], 200, seed=1)
    fitted = MaximumLikelihoodShift().fit(source, target)
    grid = [np.array([i, j, 100 - i - j]) / 100 for i in range(101) for j in range(101 - i)]
    best = max(log_likelihood(q, target, fitted.source_priors_) for q in grid)
    assert log_likelihood(fitted.priors_, target, fitted.source_priors_) >= best


def test_large_targets_start_from_a_sample():
    source, _ = simulated(np.ones(3) / 3, 500)
    part, _ = simulated([0.6, 0.3, 0.1], 1_000, seed=1)
    target = np.tile(part, (60, 1))
    many = MaximumLikelihoodShift().fit(source, target)
    few = MaximumLikelihoodShift().fit(source, part)
    np.testing.assert_allclose(many.priors_, few.priors_, atol=1e-9)


def test_warm_start_begins_where_the_last_fit_ended():
    source, _ = simulated(np.ones(3) / 3, 500)
    target, _ = simulated([0.6, 0.3, 0.1], 500, seed=1)
    cold = MaximumLikelihoodShift(algorithm="em").fit(source, target)
    warm = MaximumLikelihoodShift(algorithm="em", warm_start=True).fit(source, target)
    first = warm.n_iter_
    warm.fit(source, target)
    assert warm.n_iter_ < first == cold.n_iter_
    np.testing.assert_allclose(warm.priors_, cold.priors_, atol=1e-9)


def test_running_out_of_steps_is_told():
    source, _ = simulated(np.ones(3) / 3, 100)
    target, _ = simulated([0.6, 0.3, 0.1], 100, seed=1)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 steps"):
        fitted = MaximumLikelihoodShift(algorithm="em", max_iter=2).fit(source, target)
    assert not fitted.converged_


def test_labelled_rows_join_the_likelihood():
    source, _ = simulated([0.5, 0.5], 300)
    target, y = simulated([0.2, 0.8], 200, seed=1)
    everything = MaximumLikelihoodShift().fit(source, target, y_target=y)
    np.testing.assert_allclose(everything.priors_, np.bincount(y) / 200, atol=1e-9)
    some = np.where(np.arange(200) < 50, y, -1)
    fitted = MaximumLikelihoodShift().fit(source, target, y_target=some)
    counts = np.bincount(y[:50], minlength=2)

    def negative(q):
        priors = np.array([1 - q, q])
        mixed = log_likelihood(priors, target[50:], fitted.source_priors_)
        return -mixed - counts @ np.log(priors)

    best = optimize.minimize_scalar(negative, bounds=(1e-6, 1 - 1e-6), method="bounded",
                                    options={"xatol": 1e-10})  # fmt: skip
    assert fitted.priors_[1] == pytest.approx(best.x, abs=1e-6)
    with pytest.raises(ValueError, match="`y_target` must have one entry per row"):
        MaximumLikelihoodShift().fit(source, target, y_target=[0])


def test_label_frequency_as_the_source():
    source, y = simulated([0.5, 0.5], 300)
    target, _ = simulated([0.2, 0.8], 300, seed=1)
    fitted = MaximumLikelihoodShift(source_priors="label-frequency").fit(source, target, y)
    np.testing.assert_allclose(fitted.source_priors_, np.bincount(y) / 300)
    with pytest.raises(ValueError, match="needs the labels of the source"):
        MaximumLikelihoodShift(source_priors="label-frequency").fit(source, target)


def test_a_class_that_the_source_never_has():
    source = np.column_stack([simulated([0.5, 0.5], 100)[0], np.zeros(100)])
    target = np.vstack([source, [[0.0, 0.0, 1.0]]])
    fitted = MaximumLikelihoodShift().fit(source, target)
    assert fitted.priors_[2] == 0
    np.testing.assert_allclose(fitted.priors_[:2], fitted.source_priors_[:2], atol=1e-6)


@pytest.mark.parametrize("kind", [MaximumLikelihoodShift, BBSESoft, RLLSSoft])
def test_no_shift_changes_nothing(kind):
    proba, y = simulated([0.5, 0.3, 0.2], 400, source=[0.5, 0.3, 0.2])
    fitted = kind(source_priors="label-frequency").fit(proba, proba, y)
    if kind is MaximumLikelihoodShift:
        fitted = kind().fit(proba, proba)
    np.testing.assert_allclose(fitted.weights_, 1, atol=1e-5)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_all_come_near_the_truth(kind):
    source, y = simulated([0.5, 0.3, 0.2], 4000, source=[0.5, 0.3, 0.2])
    target, _ = simulated([0.2, 0.2, 0.6], 4000, seed=1, source=[0.5, 0.3, 0.2])
    fitted = kind().fit(source, target, y)
    np.testing.assert_allclose(fitted.priors_, [0.2, 0.2, 0.6], atol=0.03)


@pytest.mark.parametrize("kind", ESTIMATORS)
@settings(max_examples=8)
@given(seed=st.integers(0, 1000))
def test_permuting_classes_permutes_everything(kind, seed):
    source, y = simulated([0.4, 0.3, 0.3], 80, seed=seed)
    target, _ = simulated([0.2, 0.2, 0.6], 60, seed=seed + 1)
    order = np.random.default_rng(seed).permutation(3)
    plain = kind().fit(source, target, y)
    permuted = kind().fit(source[:, order], target[:, order], np.argsort(order)[y])
    np.testing.assert_allclose(permuted.priors_, plain.priors_[order], atol=1e-5)


@pytest.mark.parametrize("kind", ESTIMATORS)
@settings(max_examples=8)
@given(seed=st.integers(0, 1000))
def test_integer_weights_equal_repetition(kind, seed):
    source, y = simulated([0.4, 0.3, 0.3], 80, seed=seed)
    target, _ = simulated([0.2, 0.2, 0.6], 60, seed=seed + 1)
    rng = np.random.default_rng(seed)
    a, b = rng.integers(1, 4, size=80), rng.integers(1, 4, size=60)
    weighted = kind().fit(source, target, y, sample_weight_source=a, sample_weight_target=b)
    repeated = kind().fit(
        np.repeat(source, a, axis=0), np.repeat(target, b, axis=0), np.repeat(y, a)
    )
    np.testing.assert_allclose(weighted.priors_, repeated.priors_, atol=1e-5)


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_unit_weights_are_the_identity(seed):
    proba, _ = simulated([0.4, 0.3, 0.3], 20, seed=seed)
    np.testing.assert_allclose(adapt_proba(proba, np.ones(3)), proba, rtol=1e-12)


def test_rlls_by_brute_force():
    source, y = simulated([0.5, 0.3, 0.2], 200)
    target, _ = simulated([0.2, 0.2, 0.6], 200, seed=1)
    fitted = RLLSSoft(regularisation=0.05).fit(source, target, y)
    confusion = np.stack([source[y == j].sum(axis=0) for j in range(3)], axis=1) / 200
    moved = target.mean(axis=0) - confusion.sum(axis=1)
    spread = np.log(2 * 3 / 0.05)
    strength = 3 * 0.05 * (2 * spread / 600 + np.sqrt(2 * spread / 200))

    def objective(t):
        return np.linalg.norm(confusion @ t - moved) + strength * np.linalg.norm(t)

    best = min(
        (
            optimize.minimize(objective, start, method="Nelder-Mead",
                              bounds=[(-1, None)] * 3,
                              options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 5000})
            for start in (np.zeros(3) + 0.1, np.array([-0.5, -0.3, 1.5]))
        ),
        key=lambda result: result.fun,
    )  # fmt: skip
    frequency = np.bincount(y) / 200
    expected = (1 + best.x) * frequency
    np.testing.assert_allclose(fitted.priors_, expected / expected.sum(), atol=1e-4)


def test_rlls_pulls_towards_no_shift():
    source, y = simulated([0.5, 0.5], 60)
    target, _ = simulated([0.1, 0.9], 60, seed=1)
    pull = [RLLSHard(regularisation=r).fit(source, target, y).priors_[1] for r in (0.1, 0.5, 1.0)]
    # As soon as the pull holds, it holds at no shift, to the last digit.
    assert pull[0] > pull[1] == pull[2] == np.mean(y)
    with pytest.raises(ValueError, match="`regularisation` must be at least 0; got -1"):
        RLLSHard(regularisation=-1).fit(source, target, y)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_two_classes_with_the_same_scores_are_named(kind):
    proba, y = simulated([0.4, 0.6], 100)
    twin = np.column_stack([proba[:, 0] / 2, proba[:, 1], proba[:, 0] / 2])
    # Every row twice, with either label of the twins, so that their confusion is the same.
    codes = np.concatenate([np.where(y == 1, 1, 0), np.where(y == 1, 1, 2)])
    # Of twins the first is always predicted, which leaves the others of the last row open.
    message = "apart" if kind in (BBSEHard, RLLSHard) else "classes 0 and 2"
    with pytest.raises(NotIdentifiable, match=message):
        kind().fit(np.vstack([twin, twin]), twin, codes)


def test_scores_that_say_nothing_are_not_identifiable():
    with pytest.raises(NotIdentifiable, match="classes 0 and 1"):
        MaximumLikelihoodShift().fit([[0.7, 0.3]] * 5, [[0.7, 0.3]] * 3)


def test_known_priors_and_no_shift():
    source, _ = simulated([0.5, 0.5], 50)
    assert NoShift().fit(source, source[:3]).weights_.tolist() == [1, 1]
    known = KnownPriors([0.9, 0.1]).fit(source, source[:3])
    assert known.priors_.tolist() == [0.9, 0.1]
    assert (known.prior_draws(4) == [0.9, 0.1]).all()
    assert known.priors_interval().tolist() == [[0.9, 0.9], [0.1, 0.1]]
    with pytest.raises(ValueError, match="KnownPriors needs the proportions"):
        KnownPriors().fit(source, source)
    with pytest.raises(ValueError, match="sum to 1"):
        KnownPriors([0.9, 0.3]).fit(source, source)


@pytest.mark.parametrize(
    "name", ["em", "bbse-hard", "bbse-soft", "rlls-hard", "rlls-soft", "known", "none"]
)
def test_names(name):
    estimator = shift.get(name)
    assert estimator.name == name
    assert shift.get(estimator) is estimator
    assert type(clone(estimator)) is type(estimator)


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'bbse-soft'"):
        shift.get("bbse_soft")
    with pytest.raises(TypeError, match="must be a name or a ShiftEstimator; got int"):
        shift.get(1)
    with pytest.raises(ValueError, match='`algorithm` must be "newton" or "em"; got \'sgd\''):
        MaximumLikelihoodShift(algorithm="sgd").fit([[0.3, 0.7], [0.6, 0.4]], [[0.3, 0.7]])


def test_rlls_stays_at_no_shift_at_once_where_the_scores_are_weak():
    # Two hundred replicates each searched a corner that is known beforehand.
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.full(3, 500.0), 400)
    y = (rng.random((400, 1)) > proba.cumsum(axis=1)).sum(axis=1)
    fitted = RLLSSoft().fit(proba, proba[::-1], y)
    np.testing.assert_allclose(fitted.priors_, np.bincount(y) / 400, rtol=1e-14)


@pytest.mark.parametrize("prior_rows", [10.0, 0.0])
def test_of_very_many_classes_the_same_maximum_is_found_without_a_hessian(monkeypatch, prior_rows):
    rng = np.random.default_rng(0)

    def rows(n, priors=None):
        y = rng.choice(140, size=n, p=priors)
        z = 3 * (rng.normal(size=(n, 140)) + 3 * np.eye(140)[y])
        return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True), y

    source, y = rows(1_500)
    target, _ = rows(1_500, rng.dirichlet(np.ones(140)))
    weight = np.arange(1_500) % 3
    found = []
    for most in (128, 1_000):
        monkeypatch.setattr(_maximum_likelihood, "_MOST_DENSE", most)
        one = MaximumLikelihoodShift(prior_rows=prior_rows)
        found.append(one.fit(source, target, y, sample_weight_target=weight).weights_)
    np.testing.assert_allclose(*found, atol=1e-6)
