"""Isotonic, Dirichlet, identity, auto, and what all calibrators share."""

import numpy as np
import pytest
from scipy import special
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

from abstain import calibration
from abstain.calibration import (
    AutoCalibration,
    DirichletCalibration,
    IdentityCalibration,
    IsotonicCalibration,
    log_loss,
)
from abstain.exceptions import RepairWarning

NAMES = [
    "auto", "bcts", "beta", "dirichlet", "identity", "isotonic", "nbvs", "platt", "temperature",
    "vector",
]  # fmt: skip


def simulated(n=300, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return 2 * (rng.normal(size=(n, k)) + 1.5 * np.eye(k)[y]), y


def test_isotonic_is_that_of_scikit_learn():
    z, y = simulated(k=2)
    odds = z[:, 1] - z[:, 0]
    reference = IsotonicRegression(out_of_bounds="clip").fit(odds, y)
    fitted = IsotonicCalibration(scale="logits", prior_rows=0).fit(z, y)
    new = np.linspace(-12, 12, 50)
    np.testing.assert_allclose(fitted.predict_proba(new)[:, 1], reference.predict(new), atol=1e-9)


def test_isotonic_by_hand_with_weights():
    # The two middle scores are out of order and are pooled: (2 * 1 + 1 * 0) / 3.
    fitted = IsotonicCalibration(prior_rows=0)
    fitted.fit([0.1, 0.3, 0.4, 0.8], [0, 1, 0, 1], [1, 2, 1, 1])
    np.testing.assert_allclose(
        fitted.predict_proba([0.1, 0.3, 0.4, 0.8])[:, 1], [0, 2 / 3, 2 / 3, 1]
    )


def test_isotonic_weights_equal_repetition():
    z, y = simulated(n=60)
    weight = np.arange(60) % 3
    weight[:6] = 1
    weighted = IsotonicCalibration(scale="logits").fit(z, y, weight).predict_proba(z)
    repeated = IsotonicCalibration(scale="logits").fit(
        np.repeat(z, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(weighted, repeated.predict_proba(z), atol=1e-12)


def test_isotonic_row_that_every_class_refuses_is_uniform():
    scores = np.array([[4.0, 0, 0], [0, 4.0, 0], [0, 0, 4.0]] * 3)
    fitted = IsotonicCalibration(scale="logits").fit(scores, np.tile([0, 1, 2], 3))
    np.testing.assert_allclose(fitted.predict_proba([[0.0, 0.0, 0.0]]), 1 / 3)


def test_isotonic_of_scores_that_hardly_differ():
    """Scores on both sides of 0 are one where a curve between them would be steeper than any."""
    scores = np.array([-5e-324, -5e-324, 0.0, 1e-310, 1.0, -1.0])
    fitted = IsotonicCalibration(scale="logits").fit(scores, [1, 0, 1, 0, 1, 0])
    assert (np.diff(fitted.thresholds_) > 1e-300).all()
    np.testing.assert_allclose(fitted.predict_proba(scores[:4])[:, 1], 0.5)


def test_isotonic_class_without_examples():
    z, y = simulated()
    with pytest.warns(RepairWarning, match="No example of class 3"):
        fitted = IsotonicCalibration(scale="logits").fit(
            np.column_stack([z, z[:, 0] - 1]), y, classes=range(4)
        )
    proba = fitted.predict_proba(np.column_stack([z, z[:, 0] - 1]))
    assert np.isfinite(proba).all()
    assert (proba[:, 3] > 0).all()


def test_dirichlet_penalties_hold_the_identity():
    z, y = simulated()
    heavy = DirichletCalibration(scale="logits", off_diagonal=1e6, intercept=1e6).fit(z, y)
    off = heavy.matrix_[~np.eye(3, dtype=bool)]
    np.testing.assert_allclose(off, 0, atol=1e-4)
    np.testing.assert_allclose(heavy.bias_, 0, atol=1e-4)


def test_dirichlet_fits_better_than_its_special_cases():
    z, y = simulated(n=600)
    z[:, 0] += 0.5 * z[:, 1]
    free = DirichletCalibration(scale="logits", off_diagonal=0.0, intercept=0.0).fit(z, y)
    vector = calibration.get("vector", scale="probabilities")
    p = special.softmax(z, axis=1)
    vector.fit(p, y)
    assert log_loss(y, free.predict_proba(z)) <= log_loss(y, vector.predict_proba(p)) + 1e-9


def test_dirichlet_separable_and_absent_class():
    scores = np.array([[5.0, 0, 0], [0, 5.0, 0]] * 10)
    with pytest.warns(RepairWarning):
        fitted = DirichletCalibration(scale="logits").fit(scores, [0, 1] * 10, classes=range(3))
    assert np.isfinite(fitted.predict_proba(scores)).all()
    np.testing.assert_allclose(fitted.matrix_[:, 2], [0, 0, 1])


def test_dirichlet_refuses_negative_penalties():
    with pytest.raises(ValueError, match="`intercept` must be at least 0; got -1"):
        DirichletCalibration(intercept=-1).fit([0.1, 0.9], [0, 1])


def test_identity_is_exact():
    p = np.array([[0.0, 0.3, 0.7], [1.0, 0.0, 0.0], [0.1, 0.2, 0.7]])
    fitted = IdentityCalibration().fit(p, [2, 0, 1])
    result = fitted.predict_proba(p)
    assert (result == p).all()
    assert result is not p
    np.testing.assert_allclose(
        IdentityCalibration(scale="logits").fit(p, [2, 0, 1]).predict_proba(p),
        special.softmax(p, axis=1),
    )


def test_auto_takes_a_whole_weight_for_repetition():
    z, y = simulated(n=300)
    weight = np.arange(300) % 3
    weighted = AutoCalibration(scale="logits").fit(z, y, weight)
    repeated = AutoCalibration(scale="logits").fit(np.repeat(z, weight, 0), np.repeat(y, weight))
    assert weighted.selected_ == repeated.selected_
    assert weighted.cv_scores_ == pytest.approx(repeated.cv_scores_)


def test_auto_takes_rows_that_differ_in_the_last_digits_for_equal():
    z, y = simulated()
    times = np.arange(300) % 3
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.repeat(np.arange(300), times))
    # What matrix products do to equal rows at different places of a batch.
    noisy = z[rows] * (1 + 1e-15 * rng.choice([-1, 0, 1], size=(len(rows), 1)))
    weighted = AutoCalibration(scale="logits").fit(z, y, times)
    repeated = AutoCalibration(scale="logits").fit(noisy, y[rows])
    assert weighted.cv_scores_ == pytest.approx(repeated.cv_scores_)
    np.testing.assert_allclose(weighted.predict_proba(z), repeated.predict_proba(z), atol=1e-6)


def test_auto_picks_the_least_loss():
    z, y = simulated(n=900)
    z[:, 0] += 1.0
    auto = AutoCalibration(scale="logits", estimating_shift=False).fit(z, y)
    assert auto.cv_scores_[auto.selected_] == min(auto.cv_scores_.values())
    assert auto.selected_ == "bcts"
    assert set(auto.cv_scores_) == {
        "identity", "temperature", "bcts", "nbvs", "vector", "dirichlet"
    }  # fmt: skip


def test_auto_prefers_bias_correction_for_a_shift():
    # The scores were made without biases, so on few rows they cost more than they bring.
    data = [simulated(n=150, seed=seed) for seed in range(20)]
    picked = {
        shift: [
            AutoCalibration(scale="logits", estimating_shift=shift).fit(z, y).selected_
            for z, y in data
        ]
        for shift in (True, False)
    }
    assert picked[True].count("bcts") > picked[False].count("bcts")
    # Not at any price: some of the losses are clear enough.
    assert "temperature" in picked[True]


def test_auto_takes_two_rows():
    auto = AutoCalibration().fit([0.2, 0.9], [0, 1])
    assert np.isfinite(auto.predict_proba([0.5])).all()
    with pytest.raises(ValueError, match="`cv` must be a whole number of at least 2; got 1"):
        AutoCalibration(cv=1).fit([0.2, 0.9], [0, 1])


def test_auto_comes_back_as_what_was_picked():
    z, y = simulated(n=200)
    auto = AutoCalibration(scale="logits").fit(z, y)
    data = auto.to_dict()
    assert data["name"] == auto.selected_
    with pytest.raises(ValueError, match=r"use abstain\.calibration\.from_dict"):
        AutoCalibration.from_dict(data, classes=auto.classes_)


@pytest.mark.parametrize("name", NAMES)
def test_what_all_calibrators_promise(name):
    k = 2 if name in ("platt", "beta") else 3
    z, y = simulated(n=120, k=k)
    calibrator = clone(calibration.get(name, scale="logits")).fit(z, y)
    proba = calibrator.predict_proba(z)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    alone = np.concatenate([calibrator.predict_proba(z[i : i + 1]) for i in range(len(z))])
    assert (alone == proba).all()
    restored = calibration.from_dict(calibrator.to_dict(), classes=calibrator.classes_)
    assert (restored.predict_proba(z) == proba).all()
    fortran = np.asfortranarray(z)
    np.testing.assert_allclose(
        clone(calibrator).fit(fortran, y).predict_proba(fortran), proba, atol=1e-12
    )


def test_auto_by_name_is_told_whether_a_shift_is_estimated():
    assert calibration.get("auto", scale="logits").estimating_shift
    assert not calibration.get("auto", scale="logits", estimating_shift=False).estimating_shift


def test_dirichlet_of_a_class_that_is_certain_in_every_row():
    y = np.arange(60) % 3
    scores = np.tile([80.0, 40.0, 0.0], (60, 1)) + np.eye(3)[y]
    proba = DirichletCalibration(scale="logits").fit(scores, y).predict_proba(scores)
    np.testing.assert_allclose(proba.sum(axis=0) / 60, 1 / 3, atol=0.02)
    certain = DirichletCalibration(scale="logits").fit(np.eye(3)[[0] * 60] * 800, y)
    np.testing.assert_allclose(certain.predict_proba(scores).sum(axis=1), 1)
