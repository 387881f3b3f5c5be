"""Marks of significance: the paper's procedure to its letter, and the sound one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from abstain.evaluation import best_methods, signed_rank_test
from abstain.evaluation._significance import _critical_value


@pytest.mark.parametrize(("n", "critical"), [(5, 0), (6, 2), (10, 10), (20, 60), (30, 151)])
def test_critical_values_are_those_of_the_tables(n, critical):
    """Wilcoxon's table for one-sided 0.05; the paper quotes 151 for its 30 repeats."""
    assert _critical_value(n, 0.05) == critical


def test_the_paper_counts_its_critical_value_as_a_tie():
    n = 30
    # Differences 1 .. 30, with signs such that the ranks lost add up to 151, then 150.
    lost = [30, 29, 28, 27, 26, 11]
    difference = np.arange(1.0, n + 1)
    difference[np.array(lost) - 1] *= -1
    zeros = np.zeros(n)
    assert best_methods([difference, zeros], procedure="paper").tolist() == [True, True]
    lost[-1] = 10
    difference = np.arange(1.0, n + 1)
    difference[np.array(lost) - 1] *= -1
    assert best_methods([difference, zeros], procedure="paper").tolist() == [True, False]


def test_a_method_that_always_wins_is_best():
    rounds = np.random.default_rng(0).uniform(size=30)
    for procedure in ("paper", "signed-rank"):
        marks = best_methods([rounds, rounds + 1, rounds - 1], procedure=procedure)
        assert marks.tolist() == [False, True, False]


def test_equal_methods_are_best_together_and_less_can_be_better():
    rounds = np.arange(8.0)
    for procedure in ("paper", "signed-rank"):
        assert best_methods([rounds, rounds], procedure=procedure).all()
        marks = best_methods([rounds, rounds + 1], greater_is_better=False, procedure=procedure)
        assert marks.tolist() == [True, False]


@given(st.integers(0, 500))
def test_the_sound_test_is_scipys(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(0.3, 1, 20), rng.normal(0, 1, 20)
    wanted = wilcoxon(first, second, alternative="greater").pvalue
    assert signed_rank_test(first, second) == pytest.approx(wanted)


@given(st.integers(0, 500), st.sampled_from(["paper", "signed-rank"]))
def test_the_order_of_methods_does_not_matter(seed, procedure):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(4, 12)) + rng.normal(size=(4, 1))
    order = rng.permutation(4)
    marks = best_methods(values, procedure=procedure)
    assert marks.any()
    if len({tuple(row) for row in values}) == 4 and marks.sum() == 1:
        again = best_methods(values[order], procedure=procedure)
        assert again.sum() >= 1


def test_the_sound_test_keeps_its_level():
    rng = np.random.default_rng(0)
    rejected = np.mean([signed_rank_test(*rng.normal(size=(2, 30))) < 0.05 for _ in range(400)])
    assert rejected < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_a_value_that_is_not_defined_loses():
    marks = best_methods([[0.5] * 8, [np.nan] * 8])
    assert marks.tolist() == [True, False]


def test_errors():
    with pytest.raises(ValueError, match="a row per method and a column per repeat"):
        best_methods([1.0, 2.0])
    with pytest.raises(ValueError, match='`procedure` must be "signed-rank" or "paper"'):
        best_methods([[1.0]], procedure="t-test")


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([], [], "not empty"),
        ([1, 2], [1], "paired"),
        ([1, np.nan], [1, 2], "must not be NaN"),
        (["a"], [1], "must be numbers"),
    ],
)
def test_what_is_not_paired_is_refused(first, second, message):
    with pytest.raises((TypeError, ValueError), match=message):
        signed_rank_test(first, second)


def test_the_best_and_the_worst_there_is_differ():
    assert signed_rank_test([np.inf] * 6, [-np.inf] * 6) < 0.05
    assert signed_rank_test([np.inf] * 6, [np.inf] * 6) == 1.0


def test_the_exact_procedure_has_an_end():
    with pytest.raises(ValueError, match="for at most 1,000 repeats; got 1,001"):
        best_methods(np.zeros((2, 1_001)), procedure="paper")
