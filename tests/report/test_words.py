"""Words of the page agree with the figures that stand beside them."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abstain._words import share
from abstain.report._report import _in_words, shares_in_words, verdict_on_shift
from abstain.report._trust import verdict_on_intervals
from abstain.shift import Assumption, LabelShiftCheck

priors = st.lists(st.floats(0.001, 1), min_size=2, max_size=6)


@given(priors, st.integers(0, 2**32 - 1))
def test_what_moved_most_is_the_difference_of_what_is_shown(weights, seed):
    before = np.array(weights) / np.sum(weights)
    after = np.random.default_rng(seed).dirichlet(np.ones(len(before)))
    said = _in_words([f"c{k}" for k in range(len(before))], before, after)
    if said.endswith("what they were at validation."):
        return
    then, now, points = (float(number) for number in re.findall(r"(\d+\.\d+)(?:%| perc)", said))
    assert points == pytest.approx(abs(now - then), abs=1e-9)
    assert said.endswith("less." if now < then else "more.")


def test_shares_are_subtracted_as_shown():
    assert share(0.2494) == "24.9%"
    assert shares_in_words(0.2494, 0.1835) == "6.5 percentage points less"


def checked(p_value, freedom=5):
    nothing = np.empty(0)
    return LabelShiftCheck(1.0, freedom, p_value, 0.01, nothing, [], nothing, nothing)


@pytest.mark.parametrize(
    ("check", "p_value", "state"),
    [
        (checked(0.5), 0.5, "plausible"),
        (checked(0.0), 0.0, "doubtful"),
        (checked(1.0, freedom=0), None, "not checked"),
        (None, None, "not checked"),
    ],
)
def test_a_verdict_has_three_states(check, p_value, state):
    assumption = Assumption("label-shift", evidence=check)
    assert assumption.p_value == p_value
    assert verdict_on_shift(assumption, None, True)["state"] == state
    made = None
    if check is not None:
        made = {**check.to_dict(), "fits": check.fits, "summary": check.summary()}
    verdict = verdict_on_shift(None, made, True)
    assert verdict["state"] == state
    assert (state == "not checked") == ("cannot be checked" in verdict["summary"] or made is None)


def test_intervals_that_were_not_tested_are_not_checked():
    trust = {"back_test": None, "reason": "No rows."}
    assert verdict_on_intervals(trust) == {"state": "not checked", "summary": "No rows."}
    test = {"points": [], "inside": 0, "level": 0.9, "too_few": False}
    assert verdict_on_intervals({"back_test": test, "reason": None})["state"] == "not checked"
