"""Class proportions of a stream: windows of many lengths, weighed by what they foresee."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abstain.shift import OnlineProportions

SOURCE = np.array([0.5, 0.3, 0.2])


def stream(changes, *, n=2_000, sharpness=2.0, seed=0):
    """Rows of three classes, their labels, and the proportions, which change."""
    rng = np.random.default_rng(seed)
    priors = np.repeat(np.atleast_2d(changes), n // len(np.atleast_2d(changes)), axis=0)
    y = (rng.random(len(priors))[:, None] > priors.cumsum(axis=1)).sum(axis=1)
    x = sharpness * np.eye(3)[y] + rng.normal(size=(len(y), 3))
    proba = SOURCE * np.exp(sharpness * x)  # the true posterior at the source's proportions
    return proba / proba.sum(axis=1, keepdims=True), y, priors


def slowly(proba, source):
    """What it does, one number at a time."""
    lengths = [2.0**power for power in range(4, 16)] + [np.inf]
    counts = [[0.0] * len(source) for _ in lengths]
    weights = [1 / len(lengths)] * len(lengths)
    found = []
    for t, row in enumerate(proba):
        q = []
        for held in counts:
            total = sum(held) + 3
            q.append([(c + 3 * s) / total for c, s in zip(held, source, strict=True)])
        classes = range(len(source))
        mixed = [sum(w * one[k] for w, one in zip(weights, q, strict=True)) for k in classes]
        product = [mixed[k] * row[k] / source[k] for k in classes]
        found.append([part / sum(product) for part in product])
        foreseen = [sum(one[k] * row[k] / source[k] for k in classes) for one in q]
        weights = [w * f for w, f in zip(weights, foreseen, strict=True)]
        share = 1 / (t + 2)
        weights = [(1 - share) * w / sum(weights) + share / len(weights) for w in weights]
        for held, one, length, likely in zip(counts, q, lengths, foreseen, strict=True):
            for k in classes:
                held[k] = held[k] * (1 - 1 / length) + one[k] * row[k] / source[k] / likely
    return np.array(found)


def test_one_row_by_hand():
    online = OnlineProportions([0.5, 0.5]).update([[0.75, 0.25]])
    # Every window begins at a half, so all foresaw the row alike and each has 3 rows at a half
    # and one of 0.75.
    assert online.priors == pytest.approx([(1.5 + 0.75) / 4, (1.5 + 0.25) / 4])
    assert set(np.round([*online.windows.values()], 12)) == {round(1 / 13, 12)}


def test_it_does_what_a_loop_over_numbers_does():
    proba, _, _ = stream([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]], n=120)
    found = OnlineProportions(SOURCE).adapt(proba)
    np.testing.assert_allclose(found, slowly(proba, SOURCE), rtol=1e-9)


@settings(max_examples=25)
@given(
    cuts=st.lists(st.integers(0, 60), max_size=5),
    order=st.permutations(range(3)),
    seed=st.integers(0, 99),
)
def test_parts_and_the_order_of_classes_change_nothing(cuts, order, seed):
    proba, _, _ = stream([[0.2, 0.3, 0.5]], n=60, seed=seed)
    whole = OnlineProportions(SOURCE)
    adapted = whole.adapt(proba)
    parts = OnlineProportions(SOURCE)
    pieces = [parts.adapt(part) for part in np.split(proba, sorted(cuts))]
    np.testing.assert_array_equal(np.vstack(pieces), adapted)
    np.testing.assert_array_equal(parts.priors, whole.priors)
    turned = OnlineProportions(SOURCE[list(order)])
    np.testing.assert_allclose(
        turned.adapt(proba[:, list(order)]), adapted[:, list(order)], atol=1e-12
    )
    np.testing.assert_allclose(adapted.sum(axis=1), 1)


@settings(max_examples=25)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=30).filter(any))
def test_a_whole_weight_equals_repetition(weights):
    proba, _, _ = stream([[0.2, 0.3, 0.5]], n=len(weights))
    weighted = OnlineProportions(SOURCE).update(proba, sample_weight=weights)
    repeated = OnlineProportions(SOURCE).update(np.repeat(proba, weights, axis=0))
    np.testing.assert_allclose(weighted.priors, repeated.priors, rtol=1e-9)
    assert weighted.n_seen == sum(weights)


def test_without_a_change_it_comes_to_what_all_rows_say_together():
    proba, _, _ = stream([[0.1, 0.2, 0.7]], n=4_000)
    online = OnlineProportions(SOURCE).update(proba)
    together = _few_steps(proba / SOURCE, steps=2_000)
    assert np.abs(online.priors - together).max() < 0.02
    long = sum(weight for window, weight in online.windows.items() if window >= 1_000)
    assert long > 0.7


def test_after_a_change_short_windows_count_and_then_longer_ones():
    before, after = [0.8, 0.1, 0.1], [0.05, 0.05, 0.9]
    proba, _, _ = stream([before, after], n=8_000)
    online = OnlineProportions(SOURCE).update(proba[:4_000])
    assert np.abs(online.priors - before).max() < 0.03
    online.update(proba[4_000:4_100])
    assert np.abs(online.priors - after).max() < 0.15
    short = sum(weight for window, weight in online.windows.items() if window <= 128)
    assert short > 0.5
    online.update(proba[4_100:])
    assert np.abs(online.priors - after).max() < 0.03
    assert sum(weight for window, weight in online.windows.items() if window <= 64) < 0.1


@pytest.mark.parametrize("n_changes", [1, 4, 40])
def test_no_window_in_hindsight_is_clearly_better(n_changes):
    changes = [[0.85, 0.1, 0.05], [0.05, 0.15, 0.8]] * n_changes
    proba, y, _ = stream(changes[:n_changes], n=4_000)
    errors = np.mean(OnlineProportions(SOURCE).adapt(proba).argmax(axis=1) != y)
    windows = []
    likely = proba / SOURCE
    for window in (30, 100, 300, 1_000, 4_000):
        wrong = np.empty(len(y), dtype=bool)
        for start in range(0, len(y), 50):
            past = likely[max(0, start - window) : start]
            q = _few_steps(past) if len(past) else SOURCE
            now = slice(start, start + 50)
            wrong[now] = (likely[now] * q).argmax(axis=1) != y[now]
        windows.append(wrong.mean())
    assert errors <= min(windows) + 0.003


def _few_steps(likely, steps=40):
    q = np.full(likely.shape[1], 1 / likely.shape[1])
    for _ in range(steps):
        q = q * np.mean(likely / (likely @ q)[:, None], axis=0)
    return q


def test_certain_rows_and_classes_that_are_absent():
    certain = OnlineProportions(SOURCE).update(np.eye(3)[[0] * 500])
    assert certain.priors[0] > 0.98
    back = certain.update(np.eye(3)[[2] * 60]).priors
    assert back[2] > 0.8
    assert np.isfinite(back).all()
    # A class that the source does not have stays away, and rows of it alone say nothing.
    gone = OnlineProportions([0.5, 0.5, 0.0])
    before = gone.priors
    adapted = gone.adapt([[0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(adapted, [[0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(gone.priors, before)
    assert gone.update([[0.9, 0.1, 0.0]]).priors[2] == 0


def test_two_classes_may_come_as_one_column():
    p = np.array([0.9, 0.2, 0.8, 0.7])
    one = OnlineProportions(0.3).update(p)
    both = OnlineProportions([0.7, 0.3]).update(np.column_stack([1 - p, p]))
    np.testing.assert_array_equal(one.priors, both.priors)


@pytest.mark.parametrize("nothing", [np.empty((0, 3)), np.empty(0), []])
def test_no_rows_change_nothing(nothing):
    online = OnlineProportions(SOURCE).update(np.eye(3))
    before = online.priors
    assert online.adapt(nothing).shape == (0, 3)
    np.testing.assert_array_equal(online.priors, before)
    assert online.n_seen == 3


def test_it_goes_on_from_json_as_if_it_had_not_stopped():
    proba, _, _ = stream([[0.1, 0.2, 0.7], [0.7, 0.2, 0.1]], n=200)
    whole = OnlineProportions(SOURCE).update(proba)
    state = json.loads(json.dumps(OnlineProportions(SOURCE).update(proba[:120]).to_dict()))
    again = OnlineProportions.from_dict(state).update(proba[120:])
    np.testing.assert_allclose(again.priors, whole.priors, rtol=1e-12)
    assert again.n_seen == whole.n_seen


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"weights": [1.0]}, "`state.weights` must have 13"),
        ({"counts": [[1.0, 2.0, -1.0]] * 13}, "`state.counts` must be of at least 0; got -1"),
        ({"weights": [0.5] * 13}, "`state.weights` must sum to 1"),
        ({"n_seen": -1}, "`state.n_seen` must be a number"),
        ({"more": 1}, "more"),
    ],
)
def test_a_state_that_is_none_is_refused(change, said):
    state = OnlineProportions(SOURCE).to_dict() | change
    with pytest.raises(ValueError, match=said):
        OnlineProportions.from_dict(state)


def test_what_cannot_be_read_is_refused_and_changes_nothing():
    online = OnlineProportions(SOURCE)
    before = online.priors
    with pytest.raises(ValueError, match=r"`proba` must have one column for each of the 3"):
        online.update([[0.5, 0.5]])
    with pytest.raises(ValueError, match=r"`sample_weight` must not be negative"):
        online.update(np.eye(3), sample_weight=[1, -1, 1])
    with pytest.raises(ValueError, match=r"`source_priors` must be at least 0 and sum to 1"):
        OnlineProportions([0.5, 0.6])
    np.testing.assert_array_equal(online.priors, before)
