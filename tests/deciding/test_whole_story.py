"""Figures that rise for a reason nobody wants, and choices that need one."""

import numpy as np

from abstain import Abstainer, Cost

PROBA = np.linspace(0.01, 0.99, 600)
Y = (np.random.default_rng(1).random(600) < PROBA).astype(int)
BATCH = np.linspace(0.02, 0.98, 500)


def doubts(metric, **options):
    abstainer = Abstainer(metric, calibration="platt", shift="none", random_state=0, **options)
    decisions = abstainer.fit(PROBA, Y).decide(BATCH)
    return decisions, " ".join(decisions.assumption.doubts)


def test_net_benefit_is_told_over_all_rows():
    """A mean over fewer rows is larger; over all of them it stands still or falls."""
    decisions, said = doubts("net-benefit=0.2", budget=0.2)
    assert decisions.estimate.after.value > decisions.estimate.before.value + 0.05
    of_all = decisions.estimate.after.value * 0.8
    assert f"it goes from {decisions.estimate.before.value:.4f} to {of_all:.4f}" in said
    assert of_all <= decisions.estimate.before.value + 0.01


def test_a_person_dearer_than_every_mistake():
    decisions, said = doubts("accuracy", cost=Cost(abstain=40))
    assert not decisions.abstain.any()
    assert "every mistake costs 1 where `errors` of the cost are not given" in said


def test_a_person_dearer_than_what_may_be_lost():
    _, said = doubts("accuracy", cost=Cost(abstain=40, errors=[[0, 10], [10, 0]]))
    assert "of no row is the mistake to be expected as dear as a person." in said


def test_a_cost_that_withholds_needs_no_reason():
    decisions, said = doubts("accuracy", cost=Cost(abstain=1, errors=[[0, 10], [10, 0]]))
    assert decisions.abstain.any()
    assert "Nobody" not in said
