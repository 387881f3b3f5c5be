"""Windows proved by all labels: exact by enumeration, valid by simulation, whatever the seed."""

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from abstain import Abstainer
from abstain.certificates._windows import misses_allowed
from abstain.datasets import screening_clinic
from abstain.exceptions import TargetUnreachable

GOALS = {"sensitivity": 0.9, "specificity": 0.9}


def test_as_few_misses_as_are_allowed_are_as_rare_as_said_by_enumeration():
    n, goal, error = 12, 0.6, 0.2
    allowed = misses_allowed(n, goal, error)
    chance = 0.0
    for misses in itertools.product([0, 1], repeat=n):
        walk = np.concatenate([[0], np.cumsum(misses)])
        if (walk[1:] <= allowed[1:]).any():
            chance += (1 - goal) ** walk[-1] * goal ** (n - walk[-1])
    assert 0.3 * error < chance <= error


@pytest.mark.parametrize("n", [200, 9_000])
def test_more_labels_allow_a_larger_share_of_misses(n):
    allowed = misses_allowed(n, 0.9, 0.05)
    assert allowed[0] == -1
    assert (np.diff(allowed) >= 0).all()
    assert 0.04 < allowed[-1] / n < 0.1
    assert misses_allowed(n, 0.9, 0.01)[-1] <= allowed[-1]


@pytest.mark.parametrize(("goal", "expected"), [(0.0, "all"), (1.0, "none")])
def test_goals_that_all_and_that_none_reach(goal, expected):
    allowed = misses_allowed(50, goal, 0.1)
    assert (allowed == np.arange(51)).all() if expected == "all" else (allowed == -1).all()


def test_all_windows_at_once_are_wrong_no_more_often_than_said():
    # All that labels of one class certify, at any window, against what is true of it.
    rng, n, goal, error, wrong = np.random.default_rng(0), 150, 0.9, 0.1, 0
    allowed = misses_allowed(n, goal, error)
    edges = np.linspace(-1.5, 4.0, 60)
    low, high = norm.cdf(edges - 2), 1 - norm.cdf(edges - 2)
    is_false = high[None, :] < goal * (low[:, None] + high[None, :])
    is_false &= edges[:, None] <= edges[None, :]
    for _ in range(400):
        scores = np.sort(rng.normal(size=n) + 2)
        below = np.searchsorted(scores, edges)
        missed, hits = below[:, None], n - below[None, :]
        kept = np.minimum(missed + hits, n)
        wrong += (is_false & (missed <= allowed[kept])).any()
    assert wrong <= 400 * error + 3 * np.sqrt(400 * error * (1 - error))


def certified(clinic, seed=0, **changes):
    settings = {"target": GOALS, "confidence": 0.9, "calibration": "platt"} | changes
    abstainer = Abstainer("auroc", scale="logits", random_state=seed, **settings)
    return abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(2_000, 1_000, random_state=3)


def test_seeds_orders_of_rows_and_calibrations_that_keep_the_order_change_nothing(clinic):
    first = certified(clinic)
    order = np.random.default_rng(0).permutation(2_000)
    turned = Abstainer(
        "auroc", target=GOALS, confidence=0.9, calibration="platt", scale="logits"
    ).fit(clinic.scores_val[order], clinic.y_val[order]).decide(clinic.scores_target)  # fmt: skip
    others = [certified(clinic, seed) for seed in range(1, 20)]
    others += [turned, certified(clinic, calibration="temperature")]
    for other in others:
        assert (other.abstain == first.abstain).all()
        assert (other.certificate.evidence.counts == first.certificate.evidence.counts).all()


def test_one_rate_alone_withholds_nobody_who_need_not_be(clinic):
    found = certified(clinic, target={"sensitivity": 0.8})
    assert found.certificate.bounds.keys() == {"sensitivity"}
    assert not found.abstain.any()


def test_what_is_missing_is_said(clinic):
    with pytest.raises(TargetUnreachable, match=r"sensitivity .* observed.*labelled examples"):
        certified(clinic, target={"sensitivity": 0.97, "specificity": 0.97}, confidence=0.99)
