"""AURC and AUGRC are those of the FD-Shifts authors: a slow reference from the definition."""

from itertools import pairwise

import numpy as np
import pytest
from benchmarks.proof import risk_coverage as section
from hypothesis import given, settings
from hypothesis import strategies as st

from abstain.evaluation import risk_coverage


def reference(loss, score):
    """Both areas from the definition: every distinct threshold, then trapezoids over coverage.

    At each threshold the selective risk is the mean loss of what is kept, the generalised risk its
    sum over the number of all. At no coverage the selective risk stays, the generalised one is 0.
    """
    n = len(loss)
    points = []
    for threshold in np.unique(score):
        kept = [i for i in range(n) if score[i] <= threshold]
        wrong = sum(loss[i] for i in kept)
        points.append((len(kept) / n, wrong / len(kept), wrong / n))
    points = [(0.0, points[0][1], 0.0), *points]
    aurc = augrc = 0.0
    for (c0, s0, g0), (c1, s1, g1) in pairwise(points):
        aurc += (c1 - c0) * (s0 + s1) / 2
        augrc += (c1 - c0) * (g0 + g1) / 2
    return aurc, augrc


def test_by_hand():
    # Kept in this order: right, wrong; selective risks 0, 1/2, generalised 0, 1/2.
    loss, score = np.array([0.0, 1.0]), np.array([0.1, 0.9])
    assert section.areas(loss, score) == pytest.approx((0.125, 0.125))
    assert section.areas(np.ones(4), np.arange(4.0)) == pytest.approx((1.0, 0.5))


rows = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6)), min_size=1, max_size=25)


@settings(deadline=None, max_examples=40)
@given(rows)
def test_the_section_is_the_definition(pairs):
    loss, score = np.array(pairs, dtype=float).T
    assert section.areas(loss, score) == pytest.approx(reference(loss, score))


@settings(deadline=None, max_examples=40)
@given(rows)
def test_ours_is_theirs_and_half_a_row_without_ties(pairs):
    """Means over rows differ from trapezoids by half of the first and the last row's risk."""
    loss = np.array(pairs, dtype=float)[:, 0]
    n, score = len(loss), np.random.default_rng(len(pairs)).permutation(len(loss)).astype(float)
    aurc, augrc = reference(loss, score)
    ours = risk_coverage(loss, score)
    first, last = loss[np.argmin(score)], loss.mean()
    assert ours.augrc == pytest.approx(augrc + last / (2 * n))
    assert ours.aurc == pytest.approx(aurc + (last - first) / (2 * n))


@settings(deadline=None, max_examples=40)
@given(rows)
def test_ties_change_nothing_of_augrc(pairs):
    loss, score = np.array(pairs, dtype=float).T
    augrc = reference(loss, score)[1] + loss.mean() / (2 * len(loss))
    assert risk_coverage(loss, score).augrc == pytest.approx(augrc)


def test_random_and_best_orders_are_what_theory_says():
    rng = np.random.default_rng(0)
    loss = (rng.uniform(size=20_000) < 0.2).astype(float)
    # The joint chance of an error and of being kept, over all coverages: half the error rate; and
    # with all errors last half of its square. AURC: the error rate; e + (1 - e) log(1 - e).
    aurc, augrc = section.areas(loss, rng.uniform(size=20_000))
    assert augrc == pytest.approx(0.1, abs=0.003)
    # The few most certain rows weigh most in AURC, so that it is noisier.
    assert aurc == pytest.approx(0.2, abs=0.02)
    error = loss.mean()
    aurc, augrc = section.areas(loss, loss + 1e-9 * rng.uniform(size=20_000))
    assert augrc == pytest.approx(error**2 / 2, rel=1e-3)
    assert aurc == pytest.approx(error + (1 - error) * np.log(1 - error), rel=1e-3)


def made_up(ours, others):
    noise = np.array([0.0, 0.1, -0.1])
    runs = [
        {section.OURS: (0.1, ours + e, ours / 2 + e, 0.01)}
        | dict.fromkeys(section.PEERS, (0.1, others - e, others / 2 - e, 0.02))
        for e in noise
    ]
    return {"clinic": [section._line(runs, name) for name in runs[0]]}


def test_the_verdict_says_first_where_ours_is_worse():
    said = section.verdict(made_up(30.0, 20.0))
    assert said.startswith("**Where ours is worse**")
    assert "entropy has the lower AURC on clinic (by 10.00 ± 0.12)" in said
    assert "within 0.02 of 1,000" in said


def test_the_verdict_of_wins():
    found = made_up(20.0, 30.0)
    assert section.verdict(found).startswith("**Ours is nowhere worse**")
    assert section.headline(found)[:2] == ("raw max softmax, mean AUGRC 15.0", "10.0")


def test_ours_is_max_probability_on_a_real_split():
    found = {line["score"]: line for line in _quick_lines()}
    assert found["ours"]["AURC"] == pytest.approx(found["max probability"]["AURC"])
    assert found["oracle"]["AUGRC"] < found["ours"]["AUGRC"] < found["random"]["AUGRC"]
    assert all(line["off"] < 5 for line in found.values())


def _quick_lines():
    pool = section.load("breast_cancer")
    runs = [section._areas(section.split(pool, "label", run), 2) for run in range(2)]
    return [section._line(runs, score) for score in runs[0]]
