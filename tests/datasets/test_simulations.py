import numpy as np
import pytest
from scipy import stats

from abstain.datasets import (
    screening_clinic,
    simulate_binary_normal,
    simulate_four_class_normal,
)


def test_the_binary_simulation_has_the_published_parameters():
    simulation = simulate_binary_normal(100_000, random_state=0)
    positive = simulation.y == 1
    assert positive.mean() == pytest.approx(0.1, abs=0.004)
    assert simulation.scores[positive].mean() == pytest.approx(2, abs=0.05)
    assert simulation.scores[~positive].mean() == pytest.approx(-1, abs=0.05)
    assert simulation.scores[positive].std() == pytest.approx(1, abs=0.05)
    assert simulation.scores[~positive].std() == pytest.approx(2, abs=0.05)


def test_the_four_class_simulation_has_the_published_parameters():
    simulation = simulate_four_class_normal(100_000, random_state=0)
    assert np.bincount(simulation.y) / 100_000 == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=0.01)
    means = [simulation.scores[simulation.y == k].mean() for k in range(4)]
    sds = [simulation.scores[simulation.y == k].std() for k in range(4)]
    assert means == pytest.approx([-8, -3, 3, 4], abs=0.1)
    assert sds == pytest.approx([4, 3, 3, 2], abs=0.1)


def test_the_posterior_is_bayes_rule():
    simulation = simulate_binary_normal(50, positive_rate=0.3, random_state=1)
    joint_positive = 0.3 * stats.norm(2, 1).pdf(simulation.scores)
    joint_negative = 0.7 * stats.norm(-1, 2).pdf(simulation.scores)
    assert simulation.proba[:, 1] == pytest.approx(
        joint_positive / (joint_positive + joint_negative)
    )


def test_the_posterior_is_calibrated():
    simulation = simulate_four_class_normal(200_000, random_state=2)
    for k in range(4):
        near = np.abs(simulation.proba[:, k] - 0.3) < 0.05
        assert (simulation.y[near] == k).mean() == pytest.approx(0.3, abs=0.02)


def test_a_class_may_be_absent_and_a_seed_repeats():
    simulation = simulate_binary_normal(100, positive_rate=0.0, random_state=0)
    assert not simulation.y.any()
    assert not simulation.proba[:, 1].any()
    again = simulate_binary_normal(100, positive_rate=0.0, random_state=0)
    assert (simulation.scores == again.scores).all()


def test_the_clinic_moves_from_one_in_ten_to_one_in_three():
    clinic = screening_clinic(50_000, 50_000, random_state=0)
    assert clinic.y_val.mean() == pytest.approx(1 / 10, abs=0.005)
    assert clinic.y_target.mean() == pytest.approx(1 / 3, abs=0.01)
    assert clinic.proba_target[:, 1].mean() == pytest.approx(1 / 3, abs=0.01)
