"""Sampled estimates: the paper's Algorithm 1 and its O(NM) auROC, against exact enumeration."""

import itertools

import numpy as np
import pytest
import ranking_reference as reference

from abstain import metrics
from abstain.metrics import AUROC, AveragePrecision, SensitivityAtSpecificity

SOME_P = np.array([0.1, 0.22, 0.35, 0.5, 0.68, 0.77, 0.93])


def enumerated(slow, p, capacity):
    """Return the exact mean of each window's value over all label vectors that define it."""
    vectors = np.array(list(itertools.product([0, 1], repeat=len(p))))
    chance = np.prod(np.where(vectors == 1, p, 1 - p), axis=1)
    means = []
    for kept in reference.windows(p, capacity):
        values = np.array([slow(y[kept], p[kept], np.ones(kept.sum())) for y in vectors])
        known = ~np.isnan(values)
        means.append((values * chance)[known].sum() / chance[known].sum())
    return np.array(means)


@pytest.mark.parametrize(
    ("metric", "slow"),
    [
        (SensitivityAtSpecificity(0.75), reference.sensitivity_at_specificity(0.75)),
        (AUROC(), reference.auroc),
        (AveragePrecision(), reference.average_precision),
    ],
)
def test_the_mean_over_many_samples_is_that_of_enumeration(metric, slow):
    sampled = metric.restored(
        {"estimation": {"method": "sampled", "n_samples": 5000, "smoothing": None}}
    )
    exact = enumerated(slow, SOME_P, 3)
    np.testing.assert_allclose(sampled.window_values(SOME_P, 3), exact, atol=0.02)


@pytest.mark.parametrize("level", [0.5, 0.6, 0.9, 1.0])
def test_tied_examples_are_labelled_one_by_one(level):
    p = np.array([0.1, 0.4, 0.4, 0.4, 0.8, 0.8, 0.9])
    metric = SensitivityAtSpecificity(level, method="sampled", n_samples=40_000, smoothing=None)
    exact = enumerated(reference.sensitivity_at_specificity(level), p, 3)
    np.testing.assert_allclose(metric.window_values(p, 3), exact, atol=0.01)


def test_a_weight_is_as_many_labels():
    p, counts = np.array([0.2, 0.45, 0.7, 0.9]), np.array([2, 1, 3, 1])
    metric = SensitivityAtSpecificity(0.75, method="sampled", n_samples=40_000, smoothing=None)
    once = metric.window_values(np.repeat(p, counts), 3)
    np.testing.assert_allclose(metric.window_values(p, 3, sample_weight=counts), once, atol=0.01)


@pytest.mark.parametrize("name", ["auroc", "sensitivity@specificity=0.9", "recall@precision=0.8"])
def test_samples_do_not_depend_on_the_number_of_threads(name, monkeypatch):
    p = np.random.default_rng(0).random(300)
    options = {"method": "sampled", "n_samples": 20, "random_state": 5}
    metric = metrics.get(name).restored({"estimation": options})
    monkeypatch.setenv("ABSTAIN_NUM_THREADS", "2")
    many = metric.window_values(p, 30)
    monkeypatch.setenv("ABSTAIN_NUM_THREADS", "1")
    np.testing.assert_array_equal(metric.window_values(p, 30), many)
    other = metric.restored({"estimation": {**options, "random_state": 6}})
    assert (other.window_values(p, 30) != many).any()


@pytest.mark.parametrize(
    "name",
    [
        "auroc",
        "average-precision",
        "partial-auroc=0.2",
        "precision@recall=0.8",
        "recall@precision=0.8",
        "sensitivity@specificity=0.9",
        "specificity@sensitivity=0.9",
    ],
)
def test_both_methods_agree_on_a_large_batch(name):
    p = np.random.default_rng(1).beta(0.6, 1.2, size=4000)
    exact = metrics.get(name)
    sampled = exact.restored({"estimation": {"method": "sampled", "n_samples": 50}})
    assert sampled.expected(p) == pytest.approx(exact.expected(p), abs=0.02)
    one, other = (metric.window_values(p, 800) for metric in (exact, sampled))
    assert len(one) == len(other) == 4000 - 800 + 1
    inside = slice(20, -20)
    np.testing.assert_allclose(one[inside], other[inside], atol=0.04)
    proba = np.column_stack([1 - p, p])
    kept = [~m.choose(proba, 800).region.contains(proba, p > 2) for m in (exact, sampled)]
    after = [exact.expected(p[mask]) for mask in kept]
    assert after[1] == pytest.approx(after[0], abs=0.01)


def test_smoothing_is_a_straight_line_over_eleven_windows():
    p = np.random.default_rng(2).random(60)
    rough, smooth = (
        SensitivityAtSpecificity(0.8, method="sampled", smoothing=smoothing).window_values(p, 10)
        for smoothing in (None, (11, 1))
    )
    assert smooth[20] == pytest.approx(rough[15:26].mean())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "guess"}, '`method` must be "deterministic" or "sampled"; got \'guess\''),
        ({"n_samples": 0}, "`n_samples` must be a whole number of at least 1; got 0"),
        ({"smoothing": (10, 1)}, r"`smoothing` must be \(odd window, order below it\)"),
    ],
)
def test_errors_say_what_to_do(options, message):
    with pytest.raises(ValueError, match=message):
        AUROC(**options)
