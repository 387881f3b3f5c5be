"""Confusion matrices of sampled labels: right moments, whatever the weights and the threads."""

import numpy as np
import pytest

from abstain._kernels.label_draws import confusion_draws, label_draw, mean_drawn_entry

NO_WEIGHT = np.empty(0)


@pytest.mark.parametrize("weight", [None, 3.0, 0.4, 2.5, 200.5])
def test_moments_of_the_counts(weight):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.3, 0.5, 1.0], size=50)
    prediction = rng.integers(3, size=50)
    weights = NO_WEIGHT if weight is None else np.full(50, weight)
    drawn = confusion_draws(proba, prediction, weights, 1, 0, 2000)
    w = 1.0 if weight is None else weight
    # A whole weight is so many labels, the remainder one label of that weight.
    spread = np.floor(w) + (w - np.floor(w)) ** 2
    for i in range(3):
        for j in range(3):
            p = proba[prediction == j, i]
            mean, sd = w * p.sum(), np.sqrt(spread * (p * (1 - p)).sum())
            assert drawn[:, i, j].mean() == pytest.approx(mean, abs=5 * sd / np.sqrt(2000))
            assert drawn[:, i, j].std() == pytest.approx(sd, rel=0.1)
    np.testing.assert_allclose(drawn.sum(axis=(1, 2)), 50 * w)


def test_draws_do_not_depend_on_threads_or_on_how_they_are_cut(monkeypatch):
    rng = np.random.default_rng(0)
    # Enough rows that several threads share them.
    proba = rng.dirichlet([1, 2, 3], size=200_010)
    prediction = proba.argmax(axis=1)
    weights = rng.integers(1, 5, size=len(proba)).astype(float)
    for weight in (NO_WEIGHT, weights):
        monkeypatch.setenv("ABSTAIN_NUM_THREADS", "2")
        drawn = confusion_draws(proba, prediction, weight, 7, 0, 6)
        monkeypatch.setenv("ABSTAIN_NUM_THREADS", "1")
        again = confusion_draws(proba, prediction, weight, 7, 0, 6)
        np.testing.assert_array_equal(drawn, again)
        np.testing.assert_array_equal(
            drawn[2:5], confusion_draws(proba, prediction, weight, 7, 2, 5)
        )


def test_labels_are_those_that_are_counted():
    rng = np.random.default_rng(0)
    proba, prediction = rng.dirichlet([1, 1, 1], size=60), rng.integers(3, size=60)
    tables = rng.random((4, 3, 3))
    drawn = confusion_draws(proba, prediction, NO_WEIGHT, 3, 0, 4)
    entries = np.zeros(60)
    for m in range(4):
        labels = label_draw(proba, 3, m)
        counted = np.zeros((3, 3))
        np.add.at(counted, (labels, prediction), 1)
        np.testing.assert_array_equal(counted, drawn[m])
        entries += tables[m, labels, prediction] / 4
    np.testing.assert_allclose(mean_drawn_entry(proba, prediction, tables, 3), entries)


def test_certain_rows_always_get_their_class():
    proba = np.eye(3)
    for weights in (NO_WEIGHT, np.array([1.0, 500.0, 2.5])):
        drawn = confusion_draws(proba, np.arange(3), weights, 0, 0, 20)
        off_diagonal = drawn * (1 - np.eye(3))
        assert not off_diagonal.any()
