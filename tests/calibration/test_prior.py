"""The weak prior: honest on few or separable rows, nothing on many."""

import numpy as np
import pytest
from scipy import special

from abstain import calibration
from abstain.calibration import (
    BetaCalibration,
    BiasCorrectedTemperatureScaling,
    DirichletCalibration,
    IsotonicCalibration,
    NoBiasVectorScaling,
    TemperatureScaling,
    VectorScaling,
)
from abstain.calibration._base import smoothed_targets

WITH_PRIOR = (
    BetaCalibration,
    BiasCorrectedTemperatureScaling,
    DirichletCalibration,
    IsotonicCalibration,
    NoBiasVectorScaling,
    TemperatureScaling,
    VectorScaling,
)


def separable(n=40):
    y = np.arange(n) % 2
    return (2 * y - 1) * (1 + np.random.default_rng(0).exponential(size=n)), y


def noisy(n, k=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return rng.normal(size=(n, k)) + 1.5 * np.eye(k)[y], y


def test_targets_are_those_of_platt_for_two_rows_of_prior():
    targets = smoothed_targets(np.arange(40) % 2, np.ones(40), 2, prior_rows=2)
    np.testing.assert_allclose(targets, [[21 / 22, 1 / 22], [1 / 22, 21 / 22]])


def test_targets_keep_the_class_frequencies():
    counts = np.array([1, 0, 7, 200])
    codes = np.repeat(np.arange(4), counts)
    targets = smoothed_targets(codes, np.ones(len(codes)), 4, prior_rows=1)
    np.testing.assert_allclose(counts @ targets, counts)
    np.testing.assert_allclose(targets.sum(axis=1), 1)
    assert (targets >= 0).all()
    # No more than the prior's rows change hands, and a class without examples gets none.
    assert counts @ (1 - np.diag(targets)) < 1
    assert (targets[[0, 2, 3], 1] == 0).all()


@pytest.mark.parametrize("kind", WITH_PRIOR)
def test_separable_rows_are_not_certain(kind):
    z, y = separable()
    fitted = kind(scale="logits").fit(z, y)
    own = fitted.predict_proba(z)[np.arange(len(y)), y]
    # Twenty rows of a class without an error leave an error of about one in forty open.
    assert 0.94 < own.mean() < 0.98
    bold = kind(scale="logits", prior_rows=0).fit(z, y)
    assert bold.predict_proba(z)[np.arange(len(y)), y].mean() > own.mean()
    if hasattr(fitted, "slope_"):
        assert fitted.slope_.max() < 4


@pytest.mark.parametrize("kind", [BiasCorrectedTemperatureScaling, VectorScaling, BetaCalibration])
def test_mean_probability_stays_the_class_frequency(kind):
    z, y = separable(41)
    proba = kind(scale="logits").fit(z, y).predict_proba(z)
    np.testing.assert_allclose(proba.mean(axis=0), np.bincount(y) / 41, atol=1e-8)


def test_mean_probability_of_isotonic_stays_the_class_frequency():
    z, y = noisy(300)
    proba = IsotonicCalibration(scale="logits").fit(z, y).predict_proba(z)
    np.testing.assert_allclose(proba.mean(axis=0), np.bincount(y) / 300, atol=1e-12)


@pytest.mark.parametrize("kind", WITH_PRIOR)
def test_the_prior_is_nothing_on_two_thousand_rows(kind):
    z, y = noisy(2000)
    # Validation rows at random: beyond them a prior shows more.
    weak = kind(scale="logits").fit(z, y).predict_proba(z)
    none = kind(scale="logits", prior_rows=0).fit(z, y).predict_proba(z)
    largest = 5e-3 if kind is IsotonicCalibration else 1e-3
    assert np.abs(weak - none).max() < largest
    assert np.abs(weak - none).mean() < 1e-3


def test_dirichlet_with_a_prior_is_the_fit_to_smoothed_targets():
    z, y = noisy(60, k=3)
    logs = special.log_softmax(z, axis=1)
    aims = smoothed_targets(y, np.ones(60), 3, prior_rows=6)[y]
    fitted = DirichletCalibration(scale="logits", prior_rows=6, off_diagonal=0, intercept=0)
    proba = fitted.fit(z, y).predict_proba(z)
    # At the minimum the residuals are uncorrelated with the features.
    np.testing.assert_allclose(logs.T @ (proba - aims) / 60, 0, atol=2e-4)


@pytest.mark.parametrize("rows", [-1, np.nan, np.inf])
def test_a_prior_of_fewer_rows_than_none_is_refused(rows):
    with pytest.raises(ValueError, match="`prior_rows` must be finite and at least 0"):
        TemperatureScaling(prior_rows=rows).fit([0.1, 0.9], [0, 1])


def test_isotonic_makes_neither_ties_nor_certainty():
    z, y = noisy(400)
    odds = z[:, 1] - z[:, 0]
    fitted = IsotonicCalibration(scale="logits").fit(odds, y)
    curve = fitted.predict_proba(np.sort(odds))[:, 1]
    assert (np.diff(curve) > 0).all()
    assert curve[0] > 0
    assert curve[-1] < 1
    plain = IsotonicCalibration(scale="logits", prior_rows=0).fit(odds, y)
    assert (np.diff(plain.predict_proba(np.sort(odds))[:, 1]) == 0).any()
    # Collinear knots are not kept.
    assert len(fitted.thresholds_) == len(plain.thresholds_)


def test_isotonic_of_scores_beyond_all_bounds():
    z = np.array([-800.0, -750.0, 0.0, 750.0, 800.0, 900.0])
    proba = IsotonicCalibration(scale="logits").fit(z, [0, 1, 0, 1, 0, 1]).predict_proba(z)
    assert np.isfinite(proba).all()


def test_the_prior_is_stored_in_what_was_fitted():
    z, y = separable()
    fitted = IsotonicCalibration(scale="logits", prior_rows=3).fit(z, y)
    back = calibration.from_dict(fitted.to_dict(), classes=fitted.classes_)
    assert (back.predict_proba(z) == fitted.predict_proba(z)).all()
