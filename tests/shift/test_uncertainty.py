"""Intervals and draws of class proportions, and their coverage."""

import numpy as np
import pytest

from abstain.calibration import BiasCorrectedTemperatureScaling
from abstain.shift import BBSESoft, MaximumLikelihoodShift


def drawn(rng, priors, n, separation=1.5):
    k = len(priors)
    y = rng.choice(k, size=n, p=priors)
    return y, rng.normal(size=(n, k)) + separation * np.eye(k)[y]


def posterior(x, priors, separation=1.5):
    odds = np.exp(separation * x) * priors
    return odds / odds.sum(axis=1, keepdims=True)


def test_asymptotic_interval_by_hand():
    # Rows score (0.8, 0.2) or (0.2, 0.8), and the source's half and half is known without
    # noise (many rows): q = (a - 0.2) / 0.6, with a the share of 400 rows.
    source = np.array([[0.8, 0.2], [0.2, 0.8]])
    target = np.repeat(source, [240, 160], axis=0)
    fitted = MaximumLikelihoodShift().fit(source, target, sample_weight_source=[1e8, 1e8])
    error = np.sqrt(0.6 * 0.4 / 400) / 0.6
    low, high = fitted.priors_interval(0.9, n_draws=100_000)[0]
    assert (low, high) == pytest.approx(
        (0.4 / 0.6 - 1.645 * error, 0.4 / 0.6 + 1.645 * error), abs=2e-3
    )


def test_draws_are_proportions_and_repeat():
    rng = np.random.default_rng(0)
    priors = np.array([0.5, 0.3, 0.2])
    source = posterior(drawn(rng, priors, 300)[1], priors)
    target = posterior(drawn(rng, np.array([0.7, 0.3, 0.0]), 300)[1], priors)
    fitted = MaximumLikelihoodShift().fit(source, target)
    for method in ("asymptotic", "bootstrap"):
        draws = fitted.prior_draws(50, 3, method=method)
        assert draws.shape == (50, 3)
        assert (draws >= 0).all()
        np.testing.assert_allclose(draws.sum(axis=1), 1)
        assert (draws == fitted.prior_draws(50, 3, method=method)).all()
        assert (draws != fitted.prior_draws(50, 4, method=method)).any()


def test_a_class_at_zero_has_a_one_sided_interval():
    rng = np.random.default_rng(1)
    priors = np.array([0.5, 0.3, 0.2])
    source = posterior(drawn(rng, priors, 500)[1], priors)
    target = posterior(drawn(rng, np.array([0.7, 0.3, 0.0]), 500)[1], priors)
    interval = MaximumLikelihoodShift().fit(source, target).priors_interval()
    assert interval[2, 0] == 0
    assert 0 < interval[2, 1] < 0.1


def test_bootstrap_and_asymptotic_agree():
    rng = np.random.default_rng(2)
    priors = np.array([0.5, 0.5])
    y, x = drawn(rng, priors, 400)
    calibrator = BiasCorrectedTemperatureScaling(scale="logits").fit(x, y)
    source = calibrator.predict_proba(x)
    target = calibrator.predict_proba(drawn(rng, np.array([0.7, 0.3]), 400)[1])
    fitted = MaximumLikelihoodShift().fit(source, target, y)
    widths = [
        np.diff(fitted.priors_interval(method=method))[0] for method in ("asymptotic", "bootstrap")
    ]
    assert widths[0] == pytest.approx(widths[1], rel=0.25)


def test_a_calibrator_fitted_on_the_source_adds_its_noise():
    rng = np.random.default_rng(3)
    priors = np.array([0.5, 0.5])
    y, x = drawn(rng, priors, 200)
    calibrator = BiasCorrectedTemperatureScaling(scale="logits").fit(x, y)
    source, target = (
        calibrator.predict_proba(x),
        calibrator.predict_proba(drawn(rng, np.array([0.9, 0.1]), 5000)[1]),
    )
    widths = {
        how: np.diff(
            MaximumLikelihoodShift(calibrated_on_source=how)
            .fit(source, target, y)
            .priors_interval()
        )[0, 0]
        for how in ("auto", True, False)
    }
    assert widths["auto"] == widths[True]
    assert widths[True] != widths[False]


def test_weights_equal_repetition_in_draws():
    rng = np.random.default_rng(4)
    priors = np.array([0.5, 0.3, 0.2])
    y, x = drawn(rng, priors, 100)
    source, target = posterior(x, priors), posterior(drawn(rng, priors[::-1], 80)[1], priors)
    a, b = rng.integers(1, 3, size=100), rng.integers(1, 3, size=80)
    weighted = MaximumLikelihoodShift().fit(
        source, target, y, sample_weight_source=a, sample_weight_target=b
    )
    repeated = MaximumLikelihoodShift().fit(
        np.repeat(source, a, axis=0), np.repeat(target, b, axis=0), np.repeat(y, a)
    )
    np.testing.assert_allclose(weighted.priors_interval(), repeated.priors_interval(), atol=1e-5)


def test_label_frequency_draws():
    rng = np.random.default_rng(5)
    priors = np.array([0.5, 0.5])
    y, x = drawn(rng, priors, 300)
    fitted = MaximumLikelihoodShift(source_priors="label-frequency", calibrated_on_source=True)
    fitted.fit(posterior(x, priors), posterior(drawn(rng, priors, 300)[1], priors), y)
    low, high = fitted.priors_interval()[0]
    assert low < fitted.priors_[0] < high


def test_confusion_estimators_have_the_bootstrap():
    rng = np.random.default_rng(6)
    priors = np.array([0.5, 0.5])
    y, x = drawn(rng, priors, 300)
    source, target = posterior(x, priors), posterior(drawn(rng, priors, 300)[1], priors)
    fitted = BBSESoft().fit(source, target, y)
    low, high = fitted.priors_interval(n_draws=100)[0]
    assert low < fitted.priors_[0] < high
    with pytest.raises(ValueError, match='has no likelihood; pass method="bootstrap"'):
        fitted.prior_draws(5, method="asymptotic")


def test_wrong_options_say_what_is_right():
    fitted = MaximumLikelihoodShift().fit([[0.2, 0.8], [0.7, 0.3]], [[0.4, 0.6]])
    with pytest.raises(ValueError, match='`method` must be "asymptotic" or "bootstrap"'):
        fitted.prior_draws(5, method="jackknife")
    with pytest.raises(ValueError, match="`n_draws` must be a whole number of at least 1; got 0"):
        fitted.prior_draws(0)
    with pytest.raises(ValueError, match=r"`confidence` must be in \[0, 1\]"):
        fitted.priors_interval(90)


@pytest.mark.slow
@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize(
    ("source_priors", "target_priors", "n_source", "n_target"),
    [
        ([0.5, 0.5], [0.8, 0.2], 500, 500),
        ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 500, 500),
        ([0.5, 0.3, 0.2], [0.65, 0.3, 0.05], 400, 2000),
    ],
)
def test_a_90_percent_interval_covers_90_percent(
    source_priors, target_priors, n_source, n_target, calibrated
):
    rng = np.random.default_rng(0)
    q, s = np.array(target_priors), np.array(source_priors)
    covered = np.zeros(len(q))
    repeats = 1000
    for _ in range(repeats):
        y, x = drawn(rng, s, n_source)
        new = drawn(rng, q, n_target)[1]
        if calibrated:
            calibrator = BiasCorrectedTemperatureScaling(scale="logits").fit(x, y)
            source, target = calibrator.predict_proba(x), calibrator.predict_proba(new)
        else:
            source, target, y = posterior(x, s), posterior(new, s), None
        interval = MaximumLikelihoodShift().fit(source, target, y).priors_interval(n_draws=2000)
        covered += (interval[:, 0] <= q) & (q <= interval[:, 1])
    # Two standard errors of the simulation are 0.019.
    np.testing.assert_allclose(covered / repeats, 0.9, atol=0.04)
