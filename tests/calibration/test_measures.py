import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from abstain.calibration import (
    bootstrap_interval,
    brier_score,
    expected_calibration_error,
    log_loss,
)


def simulated(n=200, k=3, seed=0):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(k), size=n)
    y = np.array([rng.choice(k, p=row) for row in proba])
    y[:k] = np.arange(k)
    return y, proba


def brute_force_error(confidence, hit, n_bins):
    total = 0.0
    for b in range(n_bins):
        low, high = b / n_bins, (b + 1) / n_bins
        inside = (confidence >= low) & ((confidence < high) | (b == n_bins - 1))
        if inside.any():
            total += inside.mean() * abs(confidence[inside].mean() - hit[inside].mean())
    return total


def test_log_loss_and_brier_are_those_of_scikit_learn():
    y, proba = simulated()
    assert log_loss(y, proba) == pytest.approx(metrics.log_loss(y, proba))
    y, proba = simulated(k=2)
    assert brier_score(y, proba).value == pytest.approx(
        2 * metrics.brier_score_loss(y, proba[:, 1])
    )


def test_log_loss_of_an_impossible_class_is_finite():
    assert log_loss([1, 0], [0.0, 0.0]) == pytest.approx(-np.log(np.finfo(float).eps) / 2)


def test_murphy_split_is_exact_on_few_values():
    rng = np.random.default_rng(0)
    p = rng.choice([0.1, 0.4, 0.8], size=300)
    y = (rng.uniform(size=300) < p).astype(int)
    score = brier_score(y, p, n_bins=50)
    assert score.value == pytest.approx(score.reliability - score.resolution + score.uncertainty)


def test_calibration_error_by_brute_force():
    y, proba = simulated()
    top = proba.max(axis=1), proba.argmax(axis=1) == y
    assert expected_calibration_error(y, proba) == pytest.approx(brute_force_error(*top, 15))
    by_class = np.mean([brute_force_error(proba[:, i], y == i, 10) for i in range(3)])
    assert expected_calibration_error(y, proba, kind="class-wise", n_bins=10) == pytest.approx(
        by_class
    )


def test_equal_mass_bins_hold_equal_mass():
    # Two bins of two rows: 0.1 and 0.3 with one hit, 0.6 and 0.8 with two.
    error = expected_calibration_error(
        [0, 1, 1, 1], [0.1, 0.3, 0.6, 0.8], n_bins=2, strategy="mass", kind="class-wise"
    )
    assert error == pytest.approx(0.5 * 0.3 + 0.5 * 0.3)


def test_errors_are_fractions():
    assert expected_calibration_error([0, 0, 1, 1], [1.0, 1.0, 0.0, 0.0]) == 1.0


@pytest.mark.parametrize("strategy", ["width", "mass"])
@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_integer_weights_equal_repetition(strategy, seed):
    y, proba = simulated(n=40, seed=seed)
    weight = np.random.default_rng(seed).integers(1, 4, size=40)
    y_all, proba_all = np.repeat(y, weight), np.repeat(proba, weight, axis=0)
    assert log_loss(y, proba, sample_weight=weight) == pytest.approx(log_loss(y_all, proba_all))
    for measure in (expected_calibration_error, lambda *a, **o: brier_score(*a, **o).reliability):
        assert measure(y, proba, sample_weight=weight, strategy=strategy) == pytest.approx(
            measure(y_all, proba_all, strategy=strategy)
        )


def test_intervals_contain_the_value_and_repeat():
    y, proba = simulated()
    for measure in (log_loss, brier_score):
        low, high = bootstrap_interval(measure, y, proba, random_state=0)
        value = measure(y, proba)
        assert low < (value if isinstance(value, float) else value.value) < high
    options = {"random_state": 3, "n_draws": 20, "kind": "class-wise"}
    first = bootstrap_interval(expected_calibration_error, y, proba, **options)
    assert first == bootstrap_interval(expected_calibration_error, y, proba, **options)
    assert first[0] >= 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "top"}, '`kind` must be "top-label" or "class-wise"; got \'top\''),
        ({"strategy": "even"}, '`strategy` must be "width" or "mass"; got \'even\''),
        ({"n_bins": 0}, "`n_bins` must be a whole number of at least 1; got 0"),
    ],
)
def test_wrong_options_say_what_is_right(options, message):
    with pytest.raises(ValueError, match=message):
        expected_calibration_error([0, 1], [0.2, 0.8], **options)
