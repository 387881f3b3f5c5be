"""Strategies for what comes in as arrays: scores, labels, weights, and tables of them."""

import numpy as np
from hypothesis import strategies as st

#: Finite, and at every edge of the floating-point numbers.
EDGES = (0.0, -0.0, 1.0, -1.0, 5e-324, 2.3e-308, 1e-300, 1e-17, 1e200, 1.7e308, -1.7e308, 709.8)
#: What is no number, or more than one.
NOT_NUMBERS = (None, "", "high", "0.5", b"1", 1j, np.datetime64("2020-01-01"), [], {}, object())


def seeds():
    return st.integers(0, 2**32 - 1)


@st.composite
def problems(draw, *, classes=(2, 6), rows=(2, 60)):
    """Scores and labels of a classifier that may be good, bad, saturated, tied or constant."""
    k, n = draw(st.integers(*classes)), draw(st.integers(*rows))
    rng = np.random.default_rng(draw(seeds()))
    y = rng.integers(k, size=n)
    if draw(st.booleans()):
        y[:k] = np.arange(k)[: len(y)]
    logits = rng.normal(size=(n, k)) + draw(st.sampled_from([0, 1, 3])) * np.eye(k)[y]
    logits *= draw(st.sampled_from([1e-300, 1e-8, 1, 1, 1, 40, 800, 1e200, 1e307]))
    # What is rounded is multiplied first, and must not overflow.
    if draw(st.booleans()) and np.abs(logits).max() < 1e300:
        logits = np.round(logits, draw(st.integers(0, 2)))
    for _ in range(draw(st.integers(0, 3))):
        logits[rng.integers(n), rng.integers(k)] = draw(st.sampled_from(EDGES))
    return logits, y


def weights(n):
    """Weights of n rows: even, uneven, zero, extreme, or wrong."""
    each = st.sampled_from([0.0, 1.0, 2.0, 0.3, 1e-300, 1e300, 5e-324, 1.7e308])
    wrong = st.sampled_from([-1.0, np.nan, np.inf])
    return st.one_of(
        st.none(),
        st.lists(each, min_size=n, max_size=n).map(np.array),
        st.lists(each | wrong, min_size=n, max_size=n).map(np.array),
        st.lists(each, max_size=n + 2).map(np.array),
    )


def anything(n=8):
    """Values that were never meant for the argument they are given to."""
    scalars = st.one_of(
        st.sampled_from(EDGES),
        st.sampled_from([np.nan, np.inf, -np.inf, 10**400, 2**63, True]),
        st.sampled_from(NOT_NUMBERS),
        st.text(max_size=6),
    )
    lists = st.lists(scalars, max_size=n)
    return st.one_of(
        scalars,
        lists,
        lists.map(tuple),
        st.lists(lists, max_size=n),
        st.lists(st.floats(allow_nan=True), max_size=n).map(np.array),
        st.sampled_from([(0,), (1,), (n, 0), (0, n), (n, 1), (1, n), (n, 2, 2)]).map(np.zeros),
        st.just(np.ma.masked_array([0.1, 0.9, 0.5], mask=[0, 1, 0])),
    )
