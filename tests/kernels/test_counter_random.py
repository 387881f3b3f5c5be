"""Random numbers by counter: the published bits, and the same from NumPy as compiled."""

import numpy as np
import pytest

from abstain._kernels import counter_random
from abstain._kernels.atom_labels import drawn_positives
from abstain._kernels.counter_random import binomial, child_key, draw_key, row_numbers, uniform
from abstain._kernels.label_draws import confusion_draws
from abstain._kernels.sampled_sensitivity import _draw_labels

MASK = 2**64 - 1


def mixed(state):
    """The finaliser of SplitMix64 in plain whole numbers."""
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB & MASK
    return state ^ (state >> 31)


def test_published_numbers():
    # Vigna's reference splitmix64.c from seed 1234567.
    published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    got = uniform(np.uint64(1234567), np.arange(1, 6))
    assert got.tolist() == [(bits >> 11) / 2**53 for bits in published]


def test_keys_and_numbers_are_those_of_plain_arithmetic():
    key = mixed(mixed(7) + 3 * 0xD1342543DE82EF95 & MASK)
    assert draw_key(7, 3).tolist() == [key]
    assert child_key(draw_key(7, 3), 5).tolist() == [mixed(key + 5 * 0xD1342543DE82EF95 & MASK)]
    rows = np.random.default_rng(0).random((3, 4))
    for row, number in zip(rows, row_numbers(rows, 2), strict=True):
        key = int(draw_key(2, 0)[0])
        for entry in row.view(np.uint64):
            key = mixed(key ^ int(entry))
        assert number == (mixed(key + 0x9E3779B97F4A7C15 & MASK) >> 11) / 2**53


def test_seeds_of_any_size():
    assert draw_key(2**63 + 5, 0) != draw_key(5, 0)
    assert draw_key(-1, 0) == draw_key(2**64 - 1, 0)


def test_labels_drawn_on_the_fly_are_those_drawn_beforehand():
    p = np.random.default_rng(0).random(5000)
    labels = np.empty(len(p), dtype=np.uint32)
    for draw in range(3):
        _draw_labels(p, draw_key(4, draw)[0], labels)
        np.testing.assert_array_equal(labels, drawn_positives(np.ones(len(p)), p, draw, 1, 4)[0])


def test_compiled_binomial_counts_are_those_of_numpy():
    rng = np.random.default_rng(0)
    count = rng.integers(0, 3000, size=20_000) * 1.0
    p = rng.choice([0.0, 1.0, 0.5, *10.0 ** -np.arange(1, 6)], size=20_000)
    p = np.where(rng.random(20_000) < 0.5, p, 1 - p)
    key = child_key(draw_key(1, 2), np.arange(20_000))
    slow = binomial(count, p, key)
    np.testing.assert_array_equal(slow, binomial(count, p, key, fast=True))
    assert ((slow >= 0) & (slow <= count) & (slow == np.floor(slow))).all()


@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0], [1.0, 2.5, 40.0], [0.5, 0.0, 1000.0]])
def test_an_atom_draws_the_same_whatever_the_others_weigh(weights, monkeypatch):
    p = np.array([0.3, 0.5, 0.7])
    drawn = drawn_positives(np.array(weights), p, 0, 50, 9)
    monkeypatch.setattr("abstain._kernels.atom_labels._WORTH_COMPILING", 0)
    np.testing.assert_array_equal(drawn, drawn_positives(np.array(weights), p, 0, 50, 9))
    for i, w in enumerate(weights):
        others = np.where(np.arange(3) == i, w, 7.0)
        np.testing.assert_array_equal(drawn_positives(others, p, 0, 50, 9)[:, i], drawn[:, i])


def test_few_labels_are_counted_one_by_one():
    p, key = np.full(100, 0.3), child_key(draw_key(0, 0), np.arange(100))
    count = np.tile(np.arange(10.0), 10)
    expected = [
        sum(uniform(key[x], i + 1)[0] < 0.3 for i in range(int(count[x]))) for x in range(100)
    ]
    np.testing.assert_array_equal(binomial(count, p, key), expected)
    assert counter_random.FEW >= 9


@pytest.mark.parametrize("n_classes", [2, 3, 30])
def test_weighted_labels_are_drawn_one_by_one(n_classes):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(n_classes), size=40)
    prediction = rng.integers(n_classes, size=40)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0, 2.25, 64.0], size=40)
    drawn = confusion_draws(proba, prediction, weight, 5, 2, 4)
    for m, draw in enumerate([2, 3]):
        expected = np.zeros((n_classes, n_classes))
        for x in range(40):
            own = child_key(draw_key(5, draw), x)
            whole = int(weight[x])
            masses = [weight[x] - whole, *[1.0] * whole]
            for counter, mass in enumerate(masses):
                u = uniform(own, counter)[0]
                label = min(int((u >= np.cumsum(proba[x])).sum()), n_classes - 1)
                expected[label, prediction[x]] += mass
        np.testing.assert_array_equal(drawn[m], expected)
