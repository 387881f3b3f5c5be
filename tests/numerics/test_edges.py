"""An edge between values that keeps its distance from all of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from abstain._numerics import clear_edge


def test_by_hand():
    values = np.array([1.0, 2.0, 2.0, 3.0])
    assert clear_edge(values, 2.0, 0.1) == 1.9
    assert clear_edge(values, np.inf, 0.1) == np.inf
    # No room above 2 for an edge that is to be 0.5 away from every value: the next gap is taken.
    crowded = np.array([1.0, 1.9, 2.0, 4.0])
    assert clear_edge(crowded, 2.0, 0.5) == 3.5
    assert clear_edge(crowded, 2.0, 0.5, outwards=True) == 0.5
    assert clear_edge(np.array([1.0, 1.1]), 1.1, 0.5) == np.inf


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=30),
    st.integers(0, 29),
    st.booleans(),
    st.sampled_from([1e-12, 1e-3, 0.1]),
)
def test_every_value_is_away_from_the_edge(values, at, outwards, reach):
    values = np.array(values)
    edge = values[at % len(values)]
    found = clear_edge(values, edge, reach, outwards=outwards)
    assert (np.abs(values - found) >= reach * (1 - 1e-3)).all()
    before, after = values >= edge, values >= found
    assert (before <= after if outwards else after <= before).all()
