"""Budgets as fractions and as counts."""

import numpy as np
import pytest

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.selection import budget_capacity


def test_fractions_and_counts():
    assert budget_capacity(0.25, 101) == 25
    assert budget_capacity(2, 100) == 2
    assert budget_capacity(0, 100) == 0
    assert budget_capacity(200, 100) == 99
    assert budget_capacity(np.int64(7), 100) == 7
    weight = np.array([1.0, 2.0, 0.0, 3.0])
    assert budget_capacity(0.5, 4, weight) == 3
    assert budget_capacity(4, 4, weight) == 4
    assert budget_capacity(100, 4, weight) == 5


@pytest.mark.parametrize(
    ("budget", "error", "message"),
    [
        (True, TypeError, "must be a number"),
        (-1, ValueError, "as a count must not be negative"),
        (200.0, ValueError, "for 200 examples pass 200"),
        (float("nan"), ValueError, "must be a fraction"),
    ],
)
def test_bad_budgets(budget, error, message):
    with pytest.raises(error, match=message):
        budget_capacity(budget, 100)


@pytest.mark.parametrize("metric", ["auroc", "sensitivity@specificity=0.9", "kappa"])
def test_a_count_is_never_exceeded(metric):
    clinic = screening_clinic(1_000, 1_000, random_state=0)
    for budget in (0, 2, 37, 5_000):
        decisions = (
            Abstainer(metric, budget=budget, calibration="platt", scale="logits", random_state=0)
            .fit(clinic.scores_val, clinic.y_val)
            .decide(clinic.scores_target)
        )
        assert decisions.abstain.sum() <= min(budget, 999)
        if budget == 37:
            assert decisions.abstain.sum() == budget
