"""Weighted kappa: the paper's marginal values, scikit-learn's observed ones, and the choice."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from abstain import metrics
from abstain.metrics import WeightedKappa

ASYMMETRIC = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [7.0, 3.0, 0.0]])


def proba_of(seed, n=40, n_classes=3, sharpness=0.7):
    return np.random.default_rng(seed).dirichlet(np.full(n_classes, sharpness), size=n)


def kappa_by_hand(y_true, prediction, W):
    n = len(y_true)
    penalty = sum(W[i, j] for i, j in zip(y_true, prediction, strict=True))
    chance = sum(W[i, j] for i in y_true for j in prediction) / n
    return 1 - penalty / chance


@pytest.mark.parametrize("weights", ["quadratic", "linear", None, ASYMMETRIC])
def test_marginal_values_equal_recomputation_for_known_labels(weights):
    rng = np.random.default_rng(3)
    y = rng.integers(3, size=25)
    prediction = np.where(rng.random(25) < 0.6, y, rng.integers(3, size=25))
    metric = WeightedKappa(weights)
    values = metric.marginal_values(np.eye(3)[y], prediction=prediction)
    W = metric.penalties(3)
    again = [kappa_by_hand(np.delete(y, x), np.delete(prediction, x), W) for x in range(len(y))]
    np.testing.assert_allclose(values, again, rtol=1e-12)


@pytest.mark.parametrize("weights", ["quadratic", "linear", None])
def test_observed_is_scikit_learns(weights):
    rng = np.random.default_rng(5)
    proba, y = proba_of(5, n=300, n_classes=4), rng.integers(4, size=300)
    weight = rng.random(300)
    for w in (None, weight):
        ours = WeightedKappa(weights).observed(y, proba, sample_weight=w)
        theirs = cohen_kappa_score(y, proba.argmax(1), weights=weights, sample_weight=w)
        assert ours == pytest.approx(theirs, abs=1e-12)


def test_observed_takes_labels_of_any_kind():
    proba = proba_of(1, n=30)
    classes = np.array(["mild", "none", "severe"])
    y = np.random.default_rng(0).integers(3, size=30)
    ours = WeightedKappa().observed(classes[y], proba, classes=classes)
    assert ours == WeightedKappa().observed(y, proba)


def test_value_by_hand():
    # 20 of 25 agree; by chance 12.2: kappa = 1 - 5 / 12.8.
    confusion = np.array([[10.0, 2.0], [3.0, 10.0]])
    assert WeightedKappa(None).value(confusion) == pytest.approx(1 - 5 / (25 - 12.48))


def test_expected_of_certain_probabilities_is_observed():
    y = np.random.default_rng(8).integers(4, size=60)
    prediction = np.random.default_rng(9).integers(4, size=60)
    metric = WeightedKappa("linear")
    expected = metric.expected(np.eye(4)[y], prediction=prediction)
    assert expected == pytest.approx(
        metric.observed(y, np.eye(4)[y], prediction=prediction), abs=1e-12
    )


def test_sampled_marginal_values_approach_the_deterministic():
    proba = proba_of(2, n=1000)
    exact = WeightedKappa().marginal_values(proba)
    errors = []
    for n_samples in (4, 256):
        sampled = [
            WeightedKappa(
                solver="marginal", method="sampled", n_samples=n_samples, random_state=seed
            ).marginal_values(proba)
            for seed in range(10)
        ]
        errors.append(np.abs(np.array(sampled) - exact).mean())
    # 64 times the samples, about an eighth of the error.
    assert errors[1] < errors[0] / 4
    assert errors[1] < 0.003


def test_sampled_choice_is_near_the_deterministic():
    proba = proba_of(2, n=1000)
    exact = WeightedKappa(solver="marginal").choose(proba, 200).region
    sampled = WeightedKappa(solver="marginal", method="sampled", random_state=0)
    found = sampled.choose(proba, 200).region
    prediction = proba.argmax(axis=1)
    both = exact.contains(proba, prediction) & found.contains(proba, prediction)
    assert both.sum() >= 190


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(0, 40), st.sampled_from(["marginal", "joint"]))
def test_choice_fits_the_capacity_and_repeats_itself(seed, capacity, solver):
    proba = proba_of(seed).round(1)
    proba /= proba.sum(axis=1, keepdims=True)
    choice = WeightedKappa(solver=solver).choose(proba, capacity)
    prediction = choice.rule.predict(proba)
    withheld = choice.region.contains(proba, prediction)
    assert withheld.sum() <= capacity
    one_by_one = [
        choice.region.contains(proba[x : x + 1], prediction[x : x + 1])[0] for x in range(40)
    ]
    np.testing.assert_array_equal(withheld, one_by_one)


@pytest.mark.parametrize("solver", ["marginal", "joint"])
def test_whole_weights_equal_repetition(solver):
    proba = proba_of(11)
    weight = np.random.default_rng(1).integers(0, 4, size=40).astype(float)
    metric = WeightedKappa(solver=solver)
    repeated = np.repeat(proba, weight.astype(int), axis=0)
    heavy = metric.choose(proba, 20, sample_weight=weight)
    light = metric.choose(repeated, 20)
    np.testing.assert_allclose(heavy.region.gains, light.region.gains, rtol=1e-9)
    assert metric.expected(proba, sample_weight=weight) == pytest.approx(metric.expected(repeated))


@pytest.mark.parametrize("solver", ["marginal", "joint"])
def test_draws_spread_around_the_expected_value(solver):
    proba = proba_of(4, n=400)
    metric = WeightedKappa(solver=solver)
    draws = metric.draws(proba, n_draws=400, seed=3)
    assert abs(draws.mean() - metric.expected(proba)) < 4 * draws.std() / 20 + 0.01
    np.testing.assert_array_equal(draws[:50], metric.draws(proba, n_draws=50, seed=3))
    assert not np.array_equal(draws[:50], metric.draws(proba, n_draws=50, seed=4))


def test_undefined_where_all_are_of_one_class():
    proba = np.tile([1.0, 0.0], (5, 1))
    assert np.isnan(WeightedKappa().expected(proba))
    assert not WeightedKappa().choose(proba, 2).region.contains(proba, np.zeros(5, int)).any()


@pytest.mark.parametrize("name", ["kappa", "kappa:linear", "kappa:quadratic"])
def test_names_there_and_back(name):
    assert metrics.get(name).name == name
    assert metrics.from_dict(metrics.get(name).to_dict()).name == name


def test_a_users_matrix_survives_the_dictionary():
    restored = metrics.from_dict(WeightedKappa(ASYMMETRIC, solver="marginal").to_dict())
    np.testing.assert_array_equal(restored.weights, ASYMMETRIC)
    assert restored.solver == "marginal"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": "cubic"}, "`weights` must be one of"),
        ({"weights": [[0, 1]]}, "`weights` must be a square matrix"),
        ({"weights": [[0, -1], [1, 0]]}, "`weights` must not be negative; the least is -1"),
        ({"solver": "greedy"}, '`solver` must be "joint" or "marginal"'),
        ({"method": "exact"}, '`method` must be "deterministic" or "sampled"'),
        ({"method": "sampled"}, 'pass solver="marginal"'),
        ({"n_samples": 0}, "`n_samples` must be a whole number of at least 1"),
    ],
)
def test_messages_at_construction(arguments, message):
    with pytest.raises(ValueError, match=message):
        WeightedKappa(**arguments)


def test_messages_for_data():
    with pytest.raises(ValueError, match="a row and a column for each of the 4 classes; got 3"):
        WeightedKappa(ASYMMETRIC).expected(proba_of(0, n_classes=4))
    with pytest.raises(ValueError, match='`decision` must be "auto", "argmax" or "optimal"'):
        WeightedKappa().choose(proba_of(0), 3, decision="best")
