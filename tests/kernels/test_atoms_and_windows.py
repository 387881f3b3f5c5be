"""Kernels over atoms and windows, each against the loop it stands for.

Masses are quarters, so that equal sums are equal to the last bit whatever their order.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abstain._kernels import atoms

quarters = st.integers(0, 8).map(lambda k: k / 4)
NOTHING = np.empty(0)


@st.composite
def masses(draw):
    """Weight and positive mass of atoms; some weigh nothing, some are of one class."""
    weight = draw(st.lists(quarters, min_size=1, max_size=25))
    positive = [draw(st.integers(0, int(4 * w))) / 4 for w in weight]
    return np.array(weight), np.array(positive)


def below(weight):
    """The weight below each boundary."""
    return np.concatenate([[0.0], np.cumsum(weight)])


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.data())
def test_ties(values, data):
    p = np.sort(np.array(values) / 8)
    weight = np.array([data.draw(quarters) for _ in values])
    value, count = atoms.ties_counted(p)
    distinct, total, mass = atoms.ties_summed(p, weight, weight * p)
    assert value.tolist() == distinct.tolist() == sorted(set(p.tolist()))
    for k, v in enumerate(value):
        assert count[k] == (p == v).sum()
        assert total[k] == weight[p == v].sum()
        assert mass[k] == (weight * p)[p == v].sum()


@given(masses())
def test_prefix_sums(given_masses):
    weight, positive = given_masses
    above, rest = atoms.prefix_sums(weight, positive)
    for i in range(len(weight) + 1):
        assert above[i] == positive[:i].sum()
        assert rest[i] == (weight - positive)[:i].sum()


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("labelled", [True, False])
def test_bins(weighted, labelled):
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.integers(0, 65, size=300) / 64, [0.0, 1.0]])
    weight = rng.integers(0, 4, size=302) * 1.0 if weighted else NOTHING
    label = rng.integers(0, 2, size=302) * 1.0 if labelled else NOTHING
    total, mass = np.zeros(16), np.zeros(16)
    for i in range(302):
        k = min(int(p[i] * 16), 15)
        w = weight[i] if weighted else 1.0
        total[k] += w
        mass[k] += label[i] if labelled else w * p[i]
    got = atoms.binned(p, weight, label, 16)
    np.testing.assert_array_equal(got[0], total)
    np.testing.assert_array_equal(got[1], mass)


def ends_one_by_one(total, capacity):
    n, ends, end = len(total) - 1, [], 0
    for start in range(n + 1):
        end = max(end, start)
        while end < n and total[end + 1] - total[start] <= capacity:
            end += 1
        ends.append(end)
        if end == n:
            break
    return ends


@given(masses(), st.integers(-1, 40).map(lambda k: k / 4))
def test_window_ends(given_masses, capacity):
    total = below(given_masses[0])
    expected = ends_one_by_one(total, capacity)
    assert atoms.window_ends(total, np.arange(len(expected)), capacity).tolist() == expected


@pytest.mark.parametrize("seed", range(20))
def test_window_ends_where_sums_are_rounded(seed):
    # Tenths: the difference of two sums and the sum of a difference round apart.
    rng = np.random.default_rng(seed)
    total = np.concatenate([[0.0], np.cumsum(rng.integers(0, 4, size=400) / 10)])
    for capacity in (0.3, 1.1, total[250] - total[180], total[-1]):
        expected = np.array(ends_one_by_one(total, capacity))
        for starts in (np.arange(len(expected)), np.arange(0, len(expected), 7)):
            got = atoms.window_ends(total, starts, capacity)
            assert got.tolist() == expected[starts].tolist()
