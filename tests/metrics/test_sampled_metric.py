"""Any function as a metric: the same answers as the dedicated metrics within sampling error."""

import json
import logging

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

from abstain.metrics import AUROC, Accuracy, SampledMetric, WeightedKappa
from abstain.metrics import _sampled_search as search
from abstain.regions import ProbabilityBoxes


def binary_proba(n, seed=0):
    p = np.random.default_rng(seed).beta(0.6, 0.9, size=n)
    return np.column_stack([1 - p, p])


def quadratic_kappa(y_true, y_pred):
    # By hand, since scikit-learn's takes milliseconds a call.
    by_chance = np.var(y_true) + np.var(y_pred) + (np.mean(y_true) - np.mean(y_pred)) ** 2
    return 1 - np.mean((y_true - y_pred) ** 2) / by_chance


def share_right(y_true, y_pred, sample_weight=None):
    return np.average(y_true == y_pred, weights=sample_weight)


def kept_value(dedicated, proba, choice):
    prediction = choice.rule.predict(proba)
    kept = ~choice.region.contains(proba, prediction)
    return dedicated.expected(proba[kept], prediction=prediction[kept]), kept


@pytest.mark.parametrize(
    ("function", "reads", "dedicated"),
    [
        pytest.param(roc_auc_score, "scores", AUROC(), marks=pytest.mark.slow),
        (share_right, "prediction", Accuracy()),
        (quadratic_kappa, "prediction", WeightedKappa()),
    ],
    ids=["auroc", "accuracy", "kappa"],
)
def test_binary_windows_agree_with_the_dedicated_metric(function, reads, dedicated):
    proba = binary_proba(400)
    sampled = SampledMetric(function, reads=reads, n_samples=40)
    assert sampled.expected(proba) == pytest.approx(dedicated.expected(proba), abs=0.02)
    ours, kept = kept_value(dedicated, proba, sampled.choose(proba, 80))
    best, _ = kept_value(dedicated, proba, dedicated.choose(proba, 80))
    assert kept.sum() == 320
    assert ours == pytest.approx(best, abs=0.005)


@pytest.mark.parametrize(
    ("function", "dedicated"),
    [(share_right, Accuracy()), (quadratic_kappa, WeightedKappa())],
    ids=["accuracy", "kappa"],
)
def test_groups_agree_with_the_dedicated_metric(function, dedicated):
    proba = np.random.default_rng(1).dirichlet([0.4, 0.5, 0.6], size=600)
    sampled = SampledMetric(function, reads="prediction", n_samples=50)
    ours, kept = kept_value(dedicated, proba, sampled.choose(proba, 120))
    best, _ = kept_value(dedicated, proba, dedicated.choose(proba, 120))
    before = dedicated.expected(proba)
    assert kept.sum() == 480
    assert ours - before > 0.8 * (best - before)


def test_lower_is_better():
    proba = binary_proba(300)
    metric = SampledMetric(brier_score_loss, greater_is_better=False, n_samples=20)
    p = proba[:, 1]
    kept = ~metric.choose(proba, 60).region.contains(proba, proba.argmax(1))
    # The Brier score expected of calibrated p is the mean of p (1 - p): the middle goes.
    assert (p * (1 - p))[kept].mean() < 0.9 * (p * (1 - p)).mean()
    assert metric.expected(proba) == pytest.approx((p * (1 - p)).mean(), abs=0.01)


def test_draws_depend_on_the_seed_alone():
    proba = binary_proba(100)
    metric = SampledMetric(roc_auc_score)
    draws = metric.draws(proba, n_draws=20, seed=5)
    np.testing.assert_array_equal(draws[:7], metric.draws(proba, n_draws=7, seed=5))
    assert len(set(draws)) > 10


def test_observed_is_the_function_itself():
    proba, y = binary_proba(50), np.arange(50) % 2
    weight = np.linspace(1, 2, 50)
    assert SampledMetric(roc_auc_score).observed(y, proba) == roc_auc_score(y, proba[:, 1])
    assert SampledMetric(roc_auc_score).observed(y, proba, sample_weight=weight) == roc_auc_score(
        y, proba[:, 1], sample_weight=weight
    )
    kappa = SampledMetric(quadratic_kappa, reads="prediction")
    assert kappa.observed(y, proba) == quadratic_kappa(y, proba.argmax(1))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_and_ties_fit_the_capacity(n_classes):
    rng = np.random.default_rng(0)
    proba = rng.integers(1, 5, size=(60, n_classes)).astype(float)
    proba /= proba.sum(axis=1, keepdims=True)
    weight = rng.choice([0.5, 1.0, 2.5, 100.0], size=60)
    metric = SampledMetric(share_right, reads="prediction", n_samples=5, n_groups=10)
    for capacity in (0, 30, 500):
        choice = metric.choose(proba, capacity, sample_weight=weight)
        withheld = choice.region.contains(proba, choice.rule.predict(proba))
        assert weight[withheld].sum() <= capacity
    assert metric.expected(proba, sample_weight=weight) == pytest.approx(
        Accuracy().expected(proba, sample_weight=weight), abs=0.1
    )


def test_boxes_survive_json_and_hold_the_same_rows_one_by_one():
    proba = np.random.default_rng(1).dirichlet([0.4, 0.5, 0.6], size=200)
    metric = SampledMetric(share_right, reads="prediction", n_samples=5, n_groups=12)
    region = metric.choose(proba, 50).region
    prediction = proba.argmax(axis=1)
    withheld = region.contains(proba, prediction)
    assert withheld.sum() == 50
    again = ProbabilityBoxes.from_dict(json.loads(json.dumps(region.to_dict())))
    one_by_one = [again.contains(proba[[x]], prediction[[x]])[0] for x in range(200)]
    np.testing.assert_array_equal(withheld, one_by_one)


def test_undefined_draws_are_left_out():
    # With two rows one class alone is often drawn, where the auROC is not defined.
    metric = SampledMetric(roc_auc_score)
    assert metric.expected([0.1, 0.9]) > 0.9
    assert np.isnan(metric.expected([1.0, 1.0]))


def test_cost_is_told_first_when_long(caplog, monkeypatch):
    proba = binary_proba(30)
    metric = SampledMetric(share_right, reads="prediction", n_samples=2)
    assert metric.search_time(proba).calls == 2 * search._STARTS * search._LEVELS
    assert metric.search_time(proba).seconds > 0
    monkeypatch.setattr(search, "_LONG_SECONDS", 0.0)
    with caplog.at_level(logging.WARNING, logger="abstain"):
        metric.choose(proba, 5)
    assert "calls the metric up to 150 times" in caplog.text


def test_progress_bar_is_on_stderr(capfd):
    metric = SampledMetric(share_right, reads="prediction", n_samples=2, progress=True)
    metric.choose(binary_proba(30), 5)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "150" in shown.err


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: SampledMetric(3), TypeError, "`function` must be a function"),
        (lambda: SampledMetric(len, reads="labels"), ValueError, "`reads` must be"),
        (
            lambda: SampledMetric(len, n_samples=0),
            ValueError,
            "`n_samples` must be a whole number of at least 1",
        ),
        (
            lambda: SampledMetric(len, n_groups=0),
            ValueError,
            "`n_groups` must be a whole number of at least 1",
        ),
        (
            lambda: SampledMetric(len).choose(binary_proba(9), 1, decision="optimal"),
            ValueError,
            "use ConfusionMetric",
        ),
    ],
)
def test_messages(make, error, message):
    with pytest.raises(error, match=message):
        make()
