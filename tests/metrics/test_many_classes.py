"""Confusion metrics of many classes: labels drawn from the likely ones of each row."""

import tracemalloc

import numpy as np
import pytest

from abstain import Abstainer, metrics
from abstain.metrics import _likely_classes
from abstain.summaries import Moves, RowSummary

pytestmark = pytest.mark.filterwarnings("ignore::abstain.exceptions.AssumptionWarning")


def simulated(n, k, seed):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return rng.normal(size=(n, k)) + 5 * np.eye(k)[y], y


def likely(n, k, seed=0, sure=4.0):
    shares = np.exp(sure * simulated(n, k, seed)[0])
    return shares / shares.sum(axis=1, keepdims=True)


def moved(n_moves, k, slope=1.0, ratios=None):
    ones = np.ones((n_moves, k))
    return Moves(slope * ones, 0 * ones, ones if ratios is None else ratios * ones, ones[0])


def drawn(name, summary, moves, withheld=None):
    prediction = summary.proba.argmax(axis=1)
    out = np.zeros(len(prediction), bool) if withheld is None else withheld
    return metrics.get(name).moved_draws(summary, prediction, out, moves, 0)


@pytest.mark.parametrize("sure", [4.0, 0.3])
def test_drawn_labels_have_the_mean_and_the_variance_of_the_probabilities(sure):
    proba = likely(300, 40, sure=sure)
    found, _ = drawn("accuracy", RowSummary(proba), moved(2_000, 40))
    top = proba.max(axis=1)
    assert found.mean() == pytest.approx(top.mean(), abs=4 * found.std() / 2_000**0.5)
    assert found.var() == pytest.approx((top * (1 - top)).sum() / 300**2, rel=0.15)


def test_moved_probabilities_are_the_ones_that_labels_are_drawn_from():
    proba, ratios = likely(300, 40, sure=0.8), np.linspace(0.5, 2, 40)
    expected = proba**0.9 * ratios
    expected /= expected.sum(axis=1, keepdims=True)
    out = np.arange(300) < 100
    found = drawn("balanced-accuracy", RowSummary(proba), moved(400, 40, 0.9, ratios), out)
    right, column = expected.max(axis=1), proba.argmax(axis=1)
    right = expected[np.arange(300), column]
    before, after = drawn("accuracy", RowSummary(proba), moved(400, 40, 0.9, ratios), out)
    assert before.mean() == pytest.approx(right.mean(), abs=0.005)
    assert after.mean() == pytest.approx(right[100:].mean(), abs=0.005)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("name", ["accuracy", "kappa"])
def test_whole_weights_are_repeated_rows(name):
    proba, times = likely(200, 40, sure=0.5), np.arange(200) % 3
    by_weight, _ = drawn(name, RowSummary(proba, times.astype(float)), moved(600, 40))
    repeated, _ = drawn(name, RowSummary(np.repeat(proba, times, axis=0)), moved(600, 40))
    assert by_weight.mean() == pytest.approx(repeated.mean(), abs=0.006)
    assert by_weight.std() == pytest.approx(repeated.std(), rel=0.15)


def test_a_share_of_right_labels_is_that_of_their_matrix():
    codes, prediction = np.array([0, 1, 2, 2]), np.array([0, 2, 2, 1])
    for name in ("accuracy", "error-rate"):
        metric = metrics.get(name)
        for weight in (None, np.array([1.0, 2.0, 0.5, 0.0])):
            cells = np.zeros((3, 3))
            np.add.at(cells, (codes, prediction), 1.0 if weight is None else weight)
            found = metric.value_of(codes, prediction, weight, 3)
            assert found == pytest.approx(metric.value(cells))
        assert np.isnan(metric.value_of(codes[:0], prediction[:0], None, 3))


def test_parts_of_the_draws_are_all_of_them(monkeypatch):
    summary, moves = RowSummary(likely(400, 40)), moved(50, 40)
    whole = drawn("kappa:quadratic", summary, moves)
    monkeypatch.setattr(_likely_classes, "_LABELS", 1)
    np.testing.assert_array_equal(drawn("kappa:quadratic", summary, moves), whole)


def test_room_does_not_grow_with_draws_times_classes_squared():
    peaks = []
    for k in (40, 160):
        summary, moves = RowSummary(likely(320, k)), moved(50, k)
        tracemalloc.start()
        drawn("accuracy", summary, moves)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 5 * peaks[0]


def test_estimates_of_many_classes_hold_what_came_true():
    z, y = simulated(800, 40, 0)
    who = Abstainer("accuracy", budget=0.1, shift="none", scale="logits", random_state=0)
    new, truth = simulated(800, 40, 1)
    decisions = who.fit(0.6 * z, y).decide(0.6 * new)
    kept = ~decisions.abstain
    right = decisions.prediction == truth
    assert decisions.estimate.before.holds(right.mean())
    assert decisions.estimate.after.holds(right[kept].mean())
