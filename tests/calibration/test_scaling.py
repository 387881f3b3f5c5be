"""Platt, temperature, bias-corrected temperature, vector, no-bias vector, beta."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special
from sklearn.base import clone
from sklearn.calibration import _sigmoid_calibration
from sklearn.linear_model import LogisticRegression

from abstain import calibration
from abstain.calibration import (
    BetaCalibration,
    BiasCorrectedTemperatureScaling,
    NoBiasVectorScaling,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from abstain.exceptions import RepairWarning

SCALING = (TemperatureScaling, BiasCorrectedTemperatureScaling, NoBiasVectorScaling, VectorScaling)


def simulated(n=400, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return 3 * rng.normal(size=(n, k)) + 2 * np.eye(k)[y] + 0.3 * np.arange(k), y


def loss(proba, y):
    return -np.mean(np.log(proba[np.arange(len(y)), y]))


def test_platt_is_the_sigmoid_of_scikit_learn():
    z, y = simulated(k=2)
    odds = z[:, 1] - z[:, 0]
    a, b = _sigmoid_calibration(odds, y)
    ours = PlattScaling(scale="logits").fit(z, y).predict_proba(z)[:, 1]
    np.testing.assert_allclose(ours, special.expit(-(a * odds + b)), atol=1e-6)


def test_platt_of_two_points_is_worked_by_hand():
    # Targets (N- = N+ = 1): 1/3 and 2/3. Two points, two parameters: they are met exactly.
    platt = PlattScaling(scale="logits").fit([-1.0, 1.0], [0, 1])
    np.testing.assert_allclose(platt.predict_proba([-1.0, 1.0])[:, 1], [1 / 3, 2 / 3])
    np.testing.assert_allclose(platt.slope_, np.log(2))


def test_temperature_by_hand():
    # Three of four rows with log-odds 3 are right: sigmoid(3 / T) = 3 / 4, 3 / T = log 3.
    fitted = TemperatureScaling(scale="logits", prior_rows=0).fit(
        [-3.0, 3.0, 3.0, -3.0], [0, 1, 1, 1]
    )
    np.testing.assert_allclose(fitted.slope_, np.log(3) / 3)


@pytest.mark.parametrize("kind", SCALING)
def test_the_loss_is_the_least_there_is(kind):
    z, y = simulated()
    fitted = kind(scale="logits", prior_rows=0).fit(z, y)
    k = z.shape[1]
    free_slopes = 1 if kind in SCALING[:2] else k
    free_biases = k if kind in (BiasCorrectedTemperatureScaling, VectorScaling) else 0

    def objective(x):
        bias = x[free_slopes:] if free_biases else 0.0
        return loss(special.softmax(x[:free_slopes] * z + bias, axis=1), y)

    start = np.concatenate([np.ones(free_slopes), np.zeros(free_biases)])
    best = optimize.minimize(objective, start, method="BFGS", options={"gtol": 1e-8})
    assert loss(fitted.predict_proba(z), y) <= best.fun + 1e-10
    np.testing.assert_allclose(fitted.slope_[:free_slopes], best.x[:free_slopes], rtol=1e-4)


def test_beta_is_a_logistic_regression_on_two_logarithms():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.02, 0.98, size=500)
    y = (rng.uniform(size=500) < p**1.5).astype(int)
    features = np.column_stack([np.log(p), -np.log(1 - p)])
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(features, y)
    assert (reference.coef_ > 0).all()
    ours = BetaCalibration(prior_rows=0).fit(p, y).predict_proba(p)[:, 1]
    np.testing.assert_allclose(ours, reference.predict_proba(features)[:, 1], atol=1e-4)


def test_beta_never_falls():
    # The best slopes without bounds would be negative; the curve is flat instead.
    fitted = BetaCalibration().fit([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0])
    assert (fitted.slope_ >= 0).all()
    np.testing.assert_allclose(fitted.predict_proba([0.1, 0.9])[:, 1], 0.5)


@pytest.mark.parametrize("kind", SCALING[1::2])
def test_with_biases_mean_probability_is_frequency(kind):
    z, y = simulated(n=401, k=4)
    proba = kind(scale="logits").fit(z, y).predict_proba(z)
    np.testing.assert_allclose(proba.mean(axis=0), np.bincount(y) / len(y), atol=1e-8)


@pytest.mark.parametrize("kind", [PlattScaling, BetaCalibration, *SCALING])
def test_scores_that_separate_the_classes_give_a_finite_fit(kind):
    z = np.array([-5.0, -4.0, 4.0, 5.0])
    fitted = kind(scale="logits").fit(z, [0, 0, 1, 1])
    assert np.isfinite(fitted.slope_).all()
    assert np.isfinite(fitted.bias_).all()
    proba = fitted.predict_proba(z)
    assert (np.argmax(proba, axis=1) == [0, 0, 1, 1]).all()


@pytest.mark.parametrize("kind", SCALING)
def test_a_class_without_examples_keeps_a_finite_result(kind):
    z, y = simulated()
    with pytest.warns(RepairWarning, match="No example of class 3"):
        fitted = kind(scale="logits").fit(np.column_stack([z, z[:, 0] - 1]), y, classes=range(4))
    assert fitted.bias_[3] == 0
    assert np.isfinite(fitted.slope_).all()
    assert np.isfinite(fitted.bias_).all()


@pytest.mark.parametrize("kind", [PlattScaling, BetaCalibration, *SCALING])
def test_probabilities_of_zero_and_one(kind):
    p = np.array([0.0, 0.0, 0.3, 0.6, 1.0, 1.0])
    proba = kind().fit(p, [0, 1, 0, 1, 1, 0]).predict_proba(p)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)


@pytest.mark.parametrize("kind", [TemperatureScaling, BiasCorrectedTemperatureScaling])
def test_scores_that_say_nothing(kind):
    fitted = kind(scale="logits").fit(np.zeros((5, 2)), [0, 1, 1, 1, 1])
    expected = 0.5 if kind is TemperatureScaling else 0.8
    np.testing.assert_allclose(fitted.predict_proba([[0.0, 0.0]])[0, 1], expected)


def test_temperature_of_reversed_scores_is_flat():
    fitted = TemperatureScaling(scale="logits").fit([-2.0, -1.0, 1.0, 2.0], [1, 1, 0, 0])
    assert (fitted.slope_ == 0).all()


def test_a_hundred_classes():
    z, y = simulated(n=2000, k=100)
    proba = VectorScaling(scale="logits").fit(z, y).predict_proba(z)
    assert loss(proba, y) < loss(special.softmax(z, axis=1), y)


@pytest.mark.parametrize("kind", [PlattScaling, BetaCalibration, *SCALING])
@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_integer_weights_equal_repetition(kind, seed):
    z, y = simulated(n=40, k=2, seed=seed)
    weight = np.random.default_rng(seed).integers(0, 3, size=40)
    weight[:4] = 1
    y[:4] = [0, 1, 0, 1]
    weighted = kind(scale="logits").fit(z, y, weight).predict_proba(z)
    repeated = kind(scale="logits").fit(np.repeat(z, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted, repeated.predict_proba(z), atol=1e-6)


@pytest.mark.parametrize("kind", SCALING)
@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_permuting_classes_permutes_everything(kind, seed):
    z, y = simulated(n=60, seed=seed)
    order = np.random.default_rng(seed).permutation(3)
    plain = kind(scale="logits").fit(z, y).predict_proba(z)
    permuted = (
        kind(scale="logits").fit(z[:, order], np.argsort(order)[y]).predict_proba(z[:, order])
    )
    np.testing.assert_allclose(permuted, plain[:, order], atol=1e-6)


def test_inputs_are_left_alone_and_clone_is_fresh():
    z, y = simulated()
    before = z.copy()
    fitted = VectorScaling(scale="logits").fit(z, y)
    fitted.predict_proba(z)
    assert (z == before).all()
    assert not hasattr(clone(fitted), "slope_")


def test_more_than_two_classes_are_refused_by_binary_calibrators():
    z, y = simulated()
    with pytest.raises(ValueError, match='Use calibration "bcts" or "vector" for more'):
        PlattScaling(scale="logits").fit(z, y)


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'platt'"):
        calibration.get("plat", scale="logits")
    with pytest.raises(ValueError, match="made for scale='probabilities'"):
        calibration.get(PlattScaling(), scale="logits")
    with pytest.raises(TypeError, match="must be a name or a Calibrator; got int"):
        calibration.get(3, scale="logits")
