"""Queues with waiting times that formulas know, and the laws that every queue keeps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abstain.team import simulate_queue


def erlang(reviewers, per_minute, minutes):
    """The mean wait of M/M/c (Erlang 1917)."""
    load = per_minute * minutes
    below = sum(load**k / math.factorial(k) for k in range(reviewers))
    all_busy = load**reviewers / math.factorial(reviewers) * reviewers / (reviewers - load)
    return all_busy / (below + all_busy) / (reviewers / minutes - per_minute)


@pytest.mark.parametrize(("per_hour", "reviewers"), [(3, 1), (8, 2), (20, 4)])
def test_the_mean_wait_is_erlangs(per_hour, reviewers):
    found = simulate_queue(per_hour, [10] * reviewers, n_cases=150_000)

    assert found.mean == pytest.approx(erlang(reviewers, per_hour / 60, 10), rel=0.06)
    assert found.busy == pytest.approx(per_hour / 6 / reviewers)


def test_the_mean_wait_for_equal_times_is_that_of_pollaczek_and_khinchine():
    found = simulate_queue(4.5, 10, variation=0, n_cases=150_000)

    busy = 0.75
    assert found.mean == pytest.approx(busy * 10 / (2 * (1 - busy)), rel=0.06)


def test_the_most_pressing_wait_as_cobham_says():
    found = simulate_queue(4.5, 10, pressing=[0, 0, 0, 1], n_cases=150_000)

    busy = 0.75
    # Cobham 1954: what the case in hand still takes, over the time that no such case has.
    assert found.most_pressing(0.25).mean == pytest.approx(busy * 10 / (1 - busy / 4), rel=0.06)
    assert found.mean == pytest.approx(erlang(1, 0.075, 10), rel=0.06)


@given(st.integers(0, 2**20), st.floats(1, 12), st.floats(0, 2))
def test_the_order_changes_who_waits_and_not_how_long_all_do(seed, per_hour, variation):
    settings = {"pressing": [1, 2, 3], "n_cases": 300, "random_state": seed}
    settings |= {"variation": variation}
    by_urgency = simulate_queue(per_hour, [8, 12], order="pressing", **settings)
    by_time = simulate_queue(per_hour, [8, 12], order="first", **settings)

    assert (by_urgency.wait >= 0).all()
    assert (by_time.wait >= 0).all()
    assert len(by_time.wait) == 270
    # Nobody is idle while a case waits, whatever the order.
    np.testing.assert_array_equal(by_urgency.pressing, by_time.pressing)


def test_first_come_first_served_begins_in_order():
    found = simulate_queue(20, [5, 9], order="first", pressing=[1, 2], n_cases=500)
    again = simulate_queue(20, [5, 9], n_cases=500)

    # The same generator, which then draws no urgencies.
    assert found.wait.shape == again.wait.shape
    np.testing.assert_array_equal(found.wait, again.wait)


def test_no_hurry_no_wait():
    found = simulate_queue(0.001, [1, 1], n_cases=500)

    assert found.quantile(0.9) == 0
    assert found.busy < 0.001


def test_too_few_people_wait_without_end():
    found = simulate_queue(12, 10, n_cases=2_000)

    assert found.busy == pytest.approx(2)
    assert found.wait[-200:].mean() > 10 * found.wait[:200].mean() / 3
    assert "busy 100%" in repr(found)


def test_a_seed_is_an_answer():
    first, again, other = (simulate_queue(10, [10, 10], random_state=seed) for seed in (1, 1, 2))

    np.testing.assert_array_equal(first.wait, again.wait)
    assert first.mean != other.mean


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"per_hour": 0}, r"`per_hour` must be above 0; got \[0.0\]"),
        ({"minutes": [10, -1]}, r"`minutes` must be above 0; got \[10.0, -1.0\]"),
        ({"minutes": []}, "`minutes` must be above 0"),
        ({"order": "last"}, "`order` must be one of pressing, first; got 'last'"),
        ({"variation": -1}, "`variation` must be at least 0"),
        ({"pressing": []}, "`pressing` is empty; give how pressing referred cases are"),
        ({"n_cases": 5}, "`n_cases` must be a whole number of at least 100"),
    ],
)
def test_what_cannot_be_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        simulate_queue(**{"per_hour": 6, "minutes": 8, **changes})
