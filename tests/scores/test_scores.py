import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from abstain import scores
from abstain.metrics import Accuracy
from abstain.regions import ScoreThreshold
from abstain.scores import (
    entropy,
    margin,
    max_probability,
    random_order,
)
from abstain.selection import Selection
from abstain.summaries import RowSummary


def choose_by_score(score, proba, capacity, seed=0):
    """The region that withholds the highest scores within a capacity."""
    selection = Selection(budget=0.0, score=score)
    return selection.family(Accuracy(), RowSummary(proba), seed)(capacity).region


PROBA = np.array([[0.9, 0.1, 0.0], [0.4, 0.35, 0.25], [0.0, 0.5, 0.5]])

probabilities = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 20), st.just(3)), elements=st.floats(0.01, 1)
).map(lambda raw: raw / raw.sum(axis=1, keepdims=True))


def test_values_by_hand():
    assert max_probability(PROBA) == pytest.approx([0.1, 0.6, 0.5])
    assert margin(PROBA) == pytest.approx([0.2, 0.95, 1.0])
    assert entropy(PROBA)[2] == pytest.approx(np.log(2))


@given(probabilities, st.permutations(range(3)))
def test_the_names_of_the_classes_do_not_matter(proba, order):
    for score in (max_probability, entropy, margin):
        assert score(proba[:, order]) == pytest.approx(score(proba))


def test_random_is_uniform_and_moves_with_the_seed():
    proba = np.random.default_rng(0).dirichlet([1, 1], size=20_000)
    one, two = random_order(proba, seed=1), random_order(proba, seed=2)
    assert np.quantile(one, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.02)
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.03
    assert abs(np.corrcoef(one, proba[:, 0])[0, 1]) < 0.03


@given(probabilities, st.floats(0, 20))
def test_a_capacity_is_never_exceeded(proba, capacity):
    region = choose_by_score("entropy", proba, capacity)
    assert region.contains(proba, np.zeros(len(proba), dtype=np.intp)).sum() <= capacity


def test_a_score_of_ones_own():
    region = choose_by_score(lambda proba: proba[:, 2], PROBA, 1)
    assert region.contains(PROBA, np.zeros(3, dtype=np.intp)).tolist() == [False, False, True]
    assert region.to_dict()["score"] == {"own": "<lambda>"}


def test_a_function_that_is_registered_goes_by_its_name():
    assert choose_by_score(entropy, PROBA, 1).to_dict()["score"] == "entropy"


def test_a_score_of_ones_own_by_name(forget):
    scores.register(lambda proba: proba[:, 2], "third")
    assert scores.get("third")(PROBA).tolist() == PROBA[:, 2].tolist()
    assert "third" in scores.registered()
    with pytest.raises(ValueError, match="that of a built-in score"):
        scores.register(entropy)
    with pytest.raises(TypeError, match="must be a function"):
        scores.register("third")


@pytest.mark.parametrize("values", [np.zeros(2), np.array([0.0, np.nan, 1.0])])
def test_a_score_must_be_one_number_per_row(values):
    with pytest.raises(ValueError, match="one number per row"):
        choose_by_score(lambda proba: values, PROBA, 1)


def test_scores_by_name():
    assert scores.get("margin") is margin
    with pytest.raises(ValueError, match="Did you mean 'entropy'"):
        scores.get("entropi")


def test_a_region_comes_back_from_plain_data():
    region = choose_by_score("random", PROBA, 2, seed=5)
    again = ScoreThreshold.from_dict(region.to_dict())
    columns = np.zeros(3, dtype=np.intp)
    assert again.contains(PROBA, columns).tolist() == region.contains(PROBA, columns).tolist()
