"""Kernels over atoms and windows, each against the loop it stands for.

Masses are quarters, so that equal sums are equal to the last bit whatever their order.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abstain._kernels import atoms, ranking

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


@st.composite
def windows(draw):
    """Sums below boundaries, and some windows, empty ones among them, in any order."""
    weight, positive = draw(masses())
    n = len(weight)
    bounds = st.tuples(st.integers(0, n), st.integers(0, n)).map(sorted)
    pairs = draw(st.lists(bounds, min_size=1, max_size=20))
    starts, ends = np.array(pairs).T
    sums = below(weight), *atoms.prefix_sums(weight, positive)
    return sums, starts.copy(), ends.copy()


def kept_boundaries(n, start, end):
    """The atoms beside a window."""
    return [i for i in range(n) if not start <= i < end]


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
    assert atoms.window_ends(total, capacity).tolist() == ends_one_by_one(total, capacity)


@pytest.mark.parametrize("seed", range(20))
def test_window_ends_where_sums_are_rounded(seed):
    # Tenths: the difference of two sums and the sum of a difference round apart.
    rng = np.random.default_rng(seed)
    total = np.concatenate([[0.0], np.cumsum(rng.integers(0, 4, size=400) / 10)])
    for capacity in (0.3, 1.1, total[250] - total[180], total[-1]):
        got = atoms.window_ends(total, capacity)
        assert got.tolist() == ends_one_by_one(total, capacity)


@given(windows(), st.sampled_from([1e-9, 0.25, -np.inf]), st.data())
def test_undefined_and_best_windows(case, share, data):
    (_, positive, negative), starts, ends = case
    shares, bounds = (share, 1e-9), (positive, negative)
    values = np.array([data.draw(st.sampled_from([0.0, 0.5, 1.0, np.nan])) for _ in starts])
    gone, best, highest = [], -1, -np.inf
    for k in range(len(starts)):
        left = [b[starts[k]] + (b[-1] - b[ends[k]]) for b in bounds]
        # No share is at or below minus infinity, not even of nothing.
        least = [s * b[-1] if s > 0 else -np.inf for s, b in zip(shares, bounds, strict=True)]
        gone.append(left[0] <= least[0] or left[1] <= least[1])
        if values[k] > highest and not gone[k]:
            best, highest = k, values[k]
    given_windows = positive, negative, starts, ends, shares
    assert ranking.undefined_windows(*given_windows).tolist() == gone
    assert ranking.best_window(values, *given_windows) == best


@given(windows(), st.data())
def test_masses_above(case, data):
    (_, below, _), starts, ends = case
    n = len(below) - 1
    mass = np.diff(below)
    thresholds = np.array([data.draw(st.integers(0, n)) for _ in starts])
    above, kept = ranking.masses_above(below, starts, ends, thresholds)
    for k in range(len(starts)):
        beside = kept_boundaries(n, starts[k], ends[k])
        assert kept[k] == sum(mass[i] for i in beside)
        assert above[k] == sum(mass[i] for i in beside if i >= thresholds[k])


@given(windows())
def test_auroc_windows(case):
    (_, positive, negative), starts, ends = case
    n = len(positive) - 1
    pos, neg = np.diff(positive), np.diff(negative)
    pairs = ranking.pairs_won(positive, negative)
    won = [pos[i] * (neg[:i].sum() + neg[i] / 2) for i in range(n)]
    np.testing.assert_array_equal(pairs, np.concatenate([[0.0], np.cumsum(won)]))
    values = ranking.auroc_windows(positive, negative, pairs, starts, ends)
    for k in range(len(starts)):
        beside = kept_boundaries(n, starts[k], ends[k])
        all_pairs = pos[beside].sum() * neg[beside].sum()
        if all_pairs == 0:
            continue
        won = sum(
            pos[i] * neg[j] * (1.0 if j < i else 0.5) for i in beside for j in beside if j <= i
        )
        assert values[k] == pytest.approx(won / all_pairs)


@given(windows(), st.sampled_from([0.25, 0.5, 0.75, 1.0]))
def test_specificity_thresholds(case, level):
    (_, _, negative), starts, ends = case
    n = len(negative) - 1
    neg = np.diff(negative)
    got = ranking.specificity_thresholds(negative, starts, ends, level)
    for k in range(len(starts)):
        beside = kept_boundaries(n, starts[k], ends[k])
        need = level * neg[beside].sum()
        reached = [t for t in range(n + 1) if sum(neg[i] for i in beside if i < t) >= need]
        # A threshold inside the window is the same as one at its end.
        lowest = reached[0]
        expected = ends[k] if starts[k] < lowest <= ends[k] else lowest
        assert got[k] == expected


@given(windows(), st.sampled_from([0.25, 0.5, 0.75]))
def test_precision_thresholds(case, level):
    (_, positive, negative), starts, ends = case
    n = len(positive) - 1
    gain = (1 - level) * np.diff(positive) - level * np.diff(negative)
    got = ranking.precision_thresholds(positive, negative, starts, ends, level)
    for k in range(len(starts)):
        beside = kept_boundaries(n, starts[k], ends[k])
        above = [sum(gain[i] for i in beside if i >= t) for t in range(n + 1)]
        # One at the start of the window is the same as one at its end.
        outside = [t for t in range(n + 1) if not starts[k] < t < ends[k]]
        assert got[k] == next(t for t in outside if above[t] >= 0)


@given(windows(), st.sampled_from([0.25, 0.5, 1.0]))
def test_partial_auroc_windows(case, rate):
    (_, positive, negative), starts, ends = case
    n = len(positive) - 1
    pos, neg = np.diff(positive), np.diff(negative)
    pairs = ranking.pairs_won(positive, negative)
    thresholds = ranking.specificity_thresholds(negative, starts, ends, 1 - rate)
    got = ranking.partial_auroc_windows(positive, negative, pairs, starts, ends, thresholds, rate)
    for k in range(len(starts)):
        beside = kept_boundaries(n, starts[k], ends[k])
        all_pos, all_neg = pos[beside].sum(), neg[beside].sum()
        if all_pos == 0 or all_neg == 0:
            continue
        # Walk along the ROC curve from the highest atom down, until the rate is used up.
        area, height, room = 0.0, 0.0, rate * all_neg
        for i in reversed(beside):
            share = min(1.0, room / neg[i]) if neg[i] else 0.0
            area += share * neg[i] * (height + 0.5 * share * pos[i])
            height += pos[i]
            room -= share * neg[i]
        assert got[k] == pytest.approx(area / (all_pos * all_neg))


@given(windows())
def test_average_precision_windows(case):
    (weight, positive, _), starts, ends = case
    n = len(weight) - 1
    pos, mass = np.diff(positive), np.diff(weight)
    if not mass.all():
        return  # atoms have weight
    over = ranking.precision_sums(positive, weight)
    precise = [pos[i] * pos[i:].sum() / mass[i:].sum() for i in range(n)]
    np.testing.assert_allclose(over, [sum(precise[i:]) for i in range(n + 1)])
    order = np.lexsort((starts, weight[ends] - weight[starts]))
    got = ranking.average_precision_windows(positive, weight, over, starts, ends, order)
    for k in range(len(starts)):
        beside = kept_boundaries(n, starts[k], ends[k])
        if pos[beside].sum() == 0:
            continue
        sums = [
            pos[i] * sum(pos[j] for j in beside if j >= i) / sum(mass[j] for j in beside if j >= i)
            for i in beside
        ]
        assert got[k] == pytest.approx(sum(sums) / pos[beside].sum())
