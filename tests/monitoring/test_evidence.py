"""Bets: fair or worse while all is quiet, whatever the values, and as written out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abstain.monitoring._evidence import DAY, Seen, first_crossing, stakes

UNIT = np.array([[0.0, 1.0]])


def seen(values, low, high, bounds=UNIT):
    """Return what is seen of chunks of values."""
    rows = [[len(v), np.sum(v), np.sum(np.square(v)), low, high] for v in values]
    return Seen(np.array(rows, dtype=float)[:, None], bounds)


@settings(max_examples=60)
@given(st.floats(0.01, 0.99), st.floats(0, 1), st.floats(0, 1))
def test_every_bet_is_worth_at_most_its_stake_on_average(chance, low, high):
    low, high = sorted((low, high))
    mean = (1 - chance) * low + chance * high
    # One row that is low or high: the two outcomes there are.
    ends = seen([[low], [high]], mean, mean).log_factors()
    worth = (1 - chance) * np.exp(ends[0]) + chance * np.exp(ends[1])
    assert (worth <= 1 + 1e-9).all()


def test_sums_of_many_rows_are_worth_what_the_rows_are_one_by_one():
    rng = np.random.default_rng(0)
    values = rng.uniform(size=50)
    whole = seen([values], 0.3, 0.6).log_factors()[0]
    each = seen([[v] for v in values], 0.3, 0.6).log_factors().sum(axis=0)
    np.testing.assert_allclose(whole, each, atol=1e-9)


def test_normal_values_count_three_deviations_at_most():
    wide = np.array([[-np.inf, np.inf]])
    (three,), (nine,) = (seen([[z]], 0, 0, wide).log_factors() for z in (3.0, 9.0))
    np.testing.assert_array_equal(three, nine)
    np.testing.assert_allclose(three[2], 1 * 3 - 1 / 2)


def test_the_crossing_is_that_of_bets_that_begin_at_every_chunk():
    rng = np.random.default_rng(1)
    chunks = [rng.uniform(size=40) ** (1 if k < 12 else 0.4) for k in range(30)]
    found = seen(chunks, 0.45, 0.55)
    paid = np.full(30, DAY)
    factors = found.log_factors()
    for at in range(30):
        begun = [DAY * np.exp(factors[j : at + 1].sum(axis=0)) for j in range(at + 1)]
        if np.mean(np.sum(begun, axis=0)) >= 100:
            break
    crossing = first_crossing(found, paid, np.log(100), 0)
    assert crossing.at == at
    assert 12 <= crossing.began <= 14
    assert crossing.first <= crossing.began <= crossing.last
    assert np.exp(crossing.log_evidence) >= 100
    assert first_crossing(found, paid, np.log(100), 30) is None
    assert first_crossing(seen(chunks[:12], 0.45, 0.55), paid[:12], np.log(100), 0) is None


def test_false_alarms_are_as_seldom_as_they_are_paid_for():
    rng = np.random.default_rng(2)
    crossed = 0
    for _ in range(300):
        counts = rng.binomial(200, 0.1, size=200)
        rows, none, most = np.full(200, 200.0), np.zeros(200), np.full(200, 0.1)
        found = Seen(np.column_stack([rows, counts, counts, none, most])[:, None], UNIT)
        crossed += first_crossing(found, np.full(200, 0.001), 0.0, 0) is not None
    # In each stream 0.2 is paid in, and an alarm costs 1.
    assert crossed <= 0.2 * 300


def test_stakes_are_the_time_that_passed_however_often_one_looks():
    days = np.arange(4) * 86_400.0
    daily = stakes((days + 86_400).tolist(), days.tolist())
    hours = np.arange(96) * 3_600.0
    hourly = stakes((hours + 3_600).tolist(), hours.tolist())
    assert daily.sum() == pytest.approx(4 * DAY)
    assert hourly.sum() == pytest.approx(4 * DAY)
    # A gap is paid for, what comes late is not, and without a time a chunk is a day.
    np.testing.assert_allclose(
        stakes([1e5, 9e5, 2e5, None], [0.0, 8e5, 1e5, None]) / DAY,
        [1e5 / 86_400, 8e5 / 86_400, 0.0, 1.0],
    )
