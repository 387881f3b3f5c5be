"""Budgets as fractions and as counts."""

import numpy as np
import pytest

from abstain import Abstainer
from abstain._inputs import check_budget
from abstain.datasets import screening_clinic
from abstain.summaries import RowSummary, summarise


def test_fractions_and_counts():
    p = np.linspace(0, 1, 101)
    for rows in (RowSummary(np.column_stack([1 - p, p])), summarise(p), summarise(p, bins=16)):
        assert rows.capacity(0.25) == 25
        assert rows.capacity(2) == 2
        assert rows.capacity(0) == 0
        assert rows.capacity(200) == 100
        assert rows.capacity(check_budget(np.int64(7))) == 7
    assert summarise(p[1:]).capacity(0.29) == 29
    weight = np.array([1.0, 2.0, 0.0, 3.0])
    for rows in (RowSummary(np.full((4, 2), 0.5), weight), summarise(p[:4], weight)):
        assert rows.capacity(0.5) == 3
        assert rows.capacity(4) == 4
        assert rows.capacity(100) == 5


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
        check_budget(budget)


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
