"""Finite numbers beyond all use are brought into reach; others come out as they went in."""

from fractions import Fraction

import numpy as np
import pytest

from abstain import Abstainer
from abstain._inputs import (
    CheckedScores,
    check_budget,
    check_sample_weight,
    check_scores,
    two_logits,
    whole_rows,
)


def test_ordinary_weights_are_left_alone():
    given = np.array([0.1, 3.0, 0.0, 1e-12, 1e12])
    assert check_sample_weight(given, n_rows=5) is given


@pytest.mark.parametrize("scale", [1e-300, 1e300, 5e-324])
def test_ratios_of_extreme_weights_stay(scale):
    weight = check_sample_weight(np.array([1.0, 3.0, 0.0]) * scale, n_rows=3)
    np.testing.assert_array_equal(weight / weight[0], [1, 3, 0])
    assert 2.0**-53 < weight.max() < 2.0**53


def test_a_weight_that_no_sum_shows_is_none():
    assert check_sample_weight([1.0, 1e-300, 1e-20], n_rows=3).tolist() == [1.0, 0.0, 1e-20]


def test_extreme_logits_keep_their_order():
    given = [[2.0, 1.0, -1.7e308], [1e200, 2e200, -1.7e308], [-1e200, -2e200, -1.7e308]]
    rows = check_scores(given, scale="logits")
    assert rows[0, :2].tolist() == [2.0, 1.0]
    assert rows.argmax(axis=1).tolist() == [0, 1, 0]
    assert np.abs(rows).max() == 1e100


def test_an_extreme_logit_of_one_dimension_stays_on_its_side():
    rows = check_scores([1.7e308, -1e200, 3.0], scale="logits")
    assert rows.tolist() == [[0.0, 1e100], [0.0, -1e100], [0.0, 3.0]]


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("shape", [(3,), (3, 2)])
def test_infinity_is_no_extreme(wrong, shape):
    scores = np.zeros(shape)
    scores[1] = wrong
    with pytest.raises(
        ValueError, match="must be finite; NaN or infinity in 1 of 3 rows, first is"
    ):
        check_scores(scores, scale="logits")
    with pytest.raises(
        ValueError, match="must be finite; NaN or infinity in 1 of 3 rows, first is"
    ):
        two_logits(scores, scale="logits")


@pytest.mark.parametrize("calibration", ["bcts", "vector", "temperature", "isotonic", "platt"])
@pytest.mark.parametrize("weight", [1e-300, 1.0, 1e300])
def test_extreme_scores_and_weights_are_decided_about(calibration, weight):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    logits = rng.normal(size=40) + 2 * y
    logits[[3, 8]] = 1.7e308, -1e200
    abstainer = Abstainer("auroc", budget=0.29, scale="logits", calibration=calibration)
    found = abstainer.fit(logits, y, np.full(40, weight)).decide(logits)
    assert np.isfinite(found.proba).all()
    assert found.abstain.sum() <= 11


@pytest.mark.parametrize(
    "metric", ["auroc", "accuracy", "kappa:linear", "f1", "average-precision"]
)
@pytest.mark.parametrize("score", [None, "entropy"])
@pytest.mark.parametrize("weighted", [False, True])
def test_029_of_100_rows_are_29(metric, score, weighted):
    rng = np.random.default_rng(1)
    y = np.arange(100) % 2
    p = np.clip(0.3 * y + 0.6 * rng.random(100), 0, 1)
    abstainer = Abstainer(metric, budget=0.29, score=score, calibration="identity", shift="none")
    weight = np.ones(100) if weighted else None
    assert abstainer.fit(p, y).decide(p, weight).abstain.sum() == 29


def test_a_share_is_as_many_rows_as_by_fractions():
    for n in (1, 7, 100, 10**7 + 1, 10**12):
        for percent in range(100):
            assert whole_rows(percent / 100 * n) == Fraction(percent, 100) * n // 1


def test_a_budget_of_single_precision_is_the_decimal_it_says():
    assert check_budget(np.float32(0.29)) == 0.29


@pytest.mark.parametrize("budget", [10**400, 10**5000, 2**64], ids=["400", "5000", "20"])
def test_a_count_of_no_batch_is_refused(budget):
    with pytest.raises(ValueError, match=r"got a whole number of|more rows than any batch"):
        check_budget(budget)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_two_logits_of_one_probability_are_those_of_the_matrix(precision):
    given = np.random.default_rng(0).beta(0.02, 0.02, 5_001).astype(precision)
    given[:4] = 0.0, 1.0, 0.5, 1e-30
    for scores in (given, given[::3]):
        both = CheckedScores.of(scores, scale="probabilities", n_classes=2).logits
        rest, own = two_logits(scores, scale="probabilities")
        np.testing.assert_array_equal(rest, both[:, 0])
        np.testing.assert_array_equal(own, both[:, 1])
    with pytest.raises(ValueError, match="must be probabilities"):
        two_logits(np.array([0.5, 1.5]), scale="probabilities")
    with pytest.raises(ValueError, match="finite"):
        two_logits(np.array([0.5, np.nan]), scale="probabilities")
