"""Scaling calibrators of many classes: the same minimum, without a matrix of classes squared."""

import tracemalloc

import numpy as np
import pytest

from abstain import calibration
from abstain.calibration import _registry, _scaling_fit
from abstain.calibration._scaling_fit import Freedom, fit_scaling

SCALING = ("temperature", "bcts", "nbvs", "vector")


def simulated(n, k, seed=0, uneven=False):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(k)) if uneven else np.full(k, 1 / k)
    y = rng.choice(k, size=n, p=shares)
    if not uneven:
        y[:k] = np.arange(k)
    return 1.7 * (rng.normal(size=(n, k)) + 4 * np.eye(k)[y]), y


@pytest.mark.parametrize("name", SCALING)
@pytest.mark.parametrize("prior_rows", [1.0, 0.0])
def test_it_is_the_minimum_of_the_dense_method(monkeypatch, name, prior_rows):
    z, y = simulated(800, 30)
    z *= 2
    sparse = calibration.get(name, scale="logits").set_params(prior_rows=prior_rows).fit(z, y)
    monkeypatch.setattr(_scaling_fit, "MANY_CLASSES", np.inf)
    dense = calibration.get(name, scale="logits").set_params(prior_rows=prior_rows).fit(z, y)
    np.testing.assert_allclose(sparse.slope_, dense.slope_, rtol=1e-5)
    np.testing.assert_allclose(sparse.bias_, dense.bias_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(sparse.predict_proba(z), dense.predict_proba(z), atol=1e-6)


@pytest.mark.filterwarnings("ignore::abstain.exceptions.RepairWarning")
@pytest.mark.parametrize("name", SCALING)
def test_classes_without_examples_are_treated_as_by_the_dense_method(monkeypatch, name):
    z, y = simulated(300, 60, uneven=True)
    assert len(np.unique(y)) < 60
    weight = np.random.default_rng(0).integers(1, 3, size=300).astype(float)
    sparse = calibration.get(name, scale="logits").fit(z, y, weight, classes=np.arange(60))
    monkeypatch.setattr(_scaling_fit, "MANY_CLASSES", np.inf)
    dense = calibration.get(name, scale="logits").fit(z, y, weight, classes=np.arange(60))
    np.testing.assert_allclose(sparse.predict_proba(z), dense.predict_proba(z), atol=1e-6)


def test_scores_far_too_sure_are_brought_down():
    z, y = simulated(600, 40)
    sure = calibration.get("bcts", scale="logits").fit(100 * z, y)
    usual = calibration.get("bcts", scale="logits").fit(z, y)
    np.testing.assert_allclose(100 * sure.slope_, usual.slope_, rtol=1e-6)
    np.testing.assert_allclose(sure.bias_, usual.bias_, atol=1e-6)


@pytest.mark.parametrize("name", SCALING)
def test_steps_do_not_grow_with_the_classes(monkeypatch, name):
    visits = []
    plain = _scaling_fit.ScalingLoss.at

    def counted(self, *x):
        visits.append(1)
        plain(self, *x)

    monkeypatch.setattr(_scaling_fit.ScalingLoss, "at", counted)
    z, y = simulated(600, 300)
    calibration.get(name, scale="logits").fit(z, y)
    assert len(visits) <= 40


def test_nothing_of_the_size_of_classes_squared_is_made():
    n, k = 100, 3000
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(n, k)), rng.integers(k, size=n)
    for shared in (True, False):
        tracemalloc.start()
        fit_scaling(z, y, np.ones(n), Freedom(shared_slope=shared), max_iter=3)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 5 * z.nbytes
        assert peak < k * k * 8 / 4


def test_work_is_bounded_where_the_data_determine_little(monkeypatch):
    monkeypatch.setattr(_scaling_fit, "_MOST_WORK", 40)
    monkeypatch.setattr(_scaling_fit, "_MOST_DENSE", 0)
    z, y = simulated(120, 40)
    found = calibration.get("vector", scale="logits").fit(z, y)
    assert calibration.log_loss(y, found.predict_proba(z)) < calibration.log_loss(
        y, calibration.get("bcts", scale="logits").fit(z, y).predict_proba(z)
    )


def scores_with(biases, slopes, n=4_000, k=30):
    rng = np.random.default_rng(0)
    y = rng.integers(k, size=n)
    z = rng.normal(size=(n, k)) + 3 * np.eye(k)[y]
    return z * np.exp(slopes * rng.normal(size=k)) + biases * rng.normal(size=k), y


@pytest.mark.parametrize(
    ("biases", "slopes", "picked"),
    [(0.0, 0.0, "temperature"), (0.7, 0.0, "bcts"), (0.7, 0.3, "vector")],
)
def test_one_fold_leaves_the_one_in_the_race_that_all_would_pick(
    monkeypatch, biases, slopes, picked
):
    z, y = scores_with(biases, slopes)
    found = calibration.AutoCalibration(scale="logits").fit(z, y)
    monkeypatch.setattr(_registry, "MANY_CLASSES", 1000)
    every = calibration.AutoCalibration(scale="logits").fit(z, y)
    assert found.selected_ == every.selected_ == picked
    assert found.cv_scores_[picked] == pytest.approx(every.cv_scores_[picked], abs=1e-12)
    np.testing.assert_array_equal(found.predict_proba(z[:5]), every.predict_proba(z[:5]))


def test_of_very_many_rows_the_only_one_in_the_race_is_fitted_once(monkeypatch):
    z, y = scores_with(0.0, 0.0)
    by_folds = calibration.AutoCalibration(scale="logits").fit(z, y)
    monkeypatch.setattr(_registry, "MANY_ROWS", 4_000)
    monkeypatch.setattr(_registry, "_FAR_BEHIND", 0.0)
    found = calibration.AutoCalibration(scale="logits").fit(z, y)
    assert found.selected_ == "temperature"
    assert found.without_folds is None
    np.testing.assert_array_equal(found.predict_proba(z[:5]), by_folds.predict_proba(z[:5]))
