"""An edge lies where no row is, so that rounding decides about none."""

import numpy as np
import pytest

from abstain.regions import (
    Box,
    GainThreshold,
    Interval,
    ProbabilityBoxes,
    ScoreThreshold,
    TopShare,
)
from abstain.rules import BestGain, Threshold

# Rounding tells nothing apart within this.
ROUNDING = 1e-12

P = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
PAIRS = np.column_stack([1 - P, P])
COLUMNS = np.array([0, 0, 0, 1, 1])


@pytest.mark.parametrize(
    "region",
    [
        Interval(0.3, 0.7),
        Interval.empty(),
        TopShare(1, 0.7),
        TopShare(1, -np.inf),
        GainThreshold(np.array([[0.0, 1.0], [1.0, 0.0]]), 0.3),
        GainThreshold(np.array([[0.0, 1.0], [1.0, 0.0]]), np.inf),
        ScoreThreshold("entropy", float(-(0.3 * np.log(0.3) + 0.7 * np.log(0.7)))),
        ScoreThreshold("random", 0.5, {"seed": 1}),
        ProbabilityBoxes(Box.whole(0, 2).halved(1, 0.3)[:1]),
    ],
    ids=lambda region: region.kind,
)
@pytest.mark.parametrize("outwards", [True, False])
def test_rows_that_differ_are_decided_as_before(region, outwards):
    cleared, withheld = region.cleared(PAIRS, COLUMNS, outwards=outwards)
    expected = region.contains(PAIRS, COLUMNS)
    assert withheld.tolist() == expected.tolist()
    assert cleared.contains(PAIRS, COLUMNS).tolist() == expected.tolist()
    if region.kind != "score-threshold":
        # Nor does a rounding of the probabilities change any.
        for near in (1 - 1e-14, 1 + 1e-14):
            assert cleared.contains(PAIRS * near, COLUMNS).tolist() == expected.tolist()


def test_rows_that_differ_by_rounding_are_treated_alike():
    p = np.array([0.2, 0.5, 0.5 + 1e-16, 0.5 + 2e-16, 0.9])
    inwards, fewer = Interval(0.5 + 1e-16, 0.9).cleared(p, COLUMNS, outwards=False)
    assert fewer.tolist() == [False, False, False, False, True]
    _, more = Interval(0.5 + 2e-16, 0.9).cleared(p, COLUMNS, outwards=True)
    assert more.tolist() == [False, True, True, True, True]
    assert inwards.contains(p, COLUMNS).tolist() == fewer.tolist()


def test_a_threshold_of_a_rule_is_cleared_too():
    cleared = Threshold(0.5).cleared(P)
    assert cleared.predict(P).tolist() == [0, 0, 1, 1, 1]
    assert cleared.predict(P * (1 - ROUNDING / 2)).tolist() == [0, 0, 1, 1, 1]
    never = Threshold(float(np.nextafter(1.0, 2.0)))
    assert never.cleared(P) is never


def test_of_gains_that_are_equal_but_for_rounding_the_first_is_best():
    thirds = np.full((1, 3), 1 / 3)
    gains = np.array([[0.1, 0.3, 0.2], [0.2, 0.1, 0.3], [0.3, 0.2, 0.1]])
    for order in ([0, 1, 2], [1, 2, 0], [2, 0, 1]):
        assert BestGain(gains[order]).predict(thirds).tolist() == [0]
