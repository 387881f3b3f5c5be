import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from abstain import regions, rules
from abstain.regions import (
    Box,
    GainThreshold,
    Interval,
    ProbabilityBoxes,
    ScoreThreshold,
    TopShare,
    score_threshold,
)
from abstain.rules import Argmax, BestGain, Threshold

PROBA = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
COLUMNS = np.array([0, 0, 1])


def test_an_interval_includes_both_ends():
    assert Interval(0.1, 0.5).contains(PROBA, COLUMNS).tolist() == [True, True, False]
    assert not Interval.empty().contains(PROBA, COLUMNS).any()


def test_a_gain_is_linear_in_the_probabilities():
    gains = np.array([[0.0, 1.0], [2.0, 0.0]])
    region = GainThreshold(gains, threshold=1.0)
    assert region.score(PROBA, COLUMNS) == pytest.approx([0.2, 1.0, 0.2])
    assert region.contains(PROBA, COLUMNS).tolist() == [False, True, False]


REGIONS = [
    Interval(0.25, 0.5),
    Interval.empty(),
    GainThreshold(np.eye(2), 0.5),
    GainThreshold(np.eye(2), np.inf),
    TopShare(1, 0.6),
    ScoreThreshold("entropy", 0.6),
    ScoreThreshold("js-divergence", 0.95, {"priors": [0.6, 0.4]}),
    ProbabilityBoxes((Box.whole(0, 2).halved(0, 0.7)[0],)),
]


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.describe())
def test_regions_come_back_from_plain_data(region):
    again = regions.from_dict(region.to_dict())
    assert again.contains(PROBA, COLUMNS).tolist() == region.contains(PROBA, COLUMNS).tolist()


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.describe())
def test_two_columns_are_read_as_the_positive_one_alone(region):
    p = PROBA[:, 1]
    both = np.column_stack([1 - p, p])
    assert region.contains(p, COLUMNS).tolist() == region.contains(both, COLUMNS).tolist()
    assert region.priority(p, COLUMNS).tolist() == region.priority(both, COLUMNS).tolist()
    for rule in (Argmax(), Threshold(0.3), BestGain(np.eye(2))):
        assert rule.predict(p).tolist() == rule.predict(both).tolist()


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.describe())
def test_what_is_withheld_is_more_pressing(region):
    p = np.linspace(0.01, 0.99, 50)
    columns = Argmax().predict(p)
    inside, pressing = region.contains(p, columns), region.priority(p, columns)
    if inside.any() and not inside.all():
        assert pressing[inside].min() >= pressing[~inside].max() - 1e-9
    assert region.describe()
    assert region.in_words("ill").endswith("referred")


def test_an_unknown_region_is_an_error():
    with pytest.raises(ValueError, match="Did you mean 'interval'"):
        regions.from_dict({"kind": "intervall"})


def test_rules():
    assert Argmax().predict(PROBA).tolist() == [0, 0, 1]
    assert Threshold(0.5).predict(PROBA).tolist() == [0, 1, 1]
    # Missing class 1 costs ten times as much as a false alarm: 0.1 is enough to call it.
    cautious = BestGain(np.array([[0.0, -1.0], [-10.0, 0.0]]))
    assert cautious.predict(PROBA).tolist() == [1, 1, 1]


@given(
    st.lists(st.floats(-9, 9), min_size=4, max_size=4).map(lambda g: np.reshape(g, (2, 2))),
    st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array),
)
def test_gains_of_two_classes_are_a_threshold(gains, p):
    whole, simple = BestGain(gains), BestGain(gains).simplified()
    slope = gains[:, 1] - gains[:, 0]
    assert isinstance(simple, Threshold) or slope[0] > slope[1]
    # Nearer to the threshold than the products round, either class has the same gain.
    clear = np.abs((1 - p) * slope[0] + p * slope[1]) > 1e-13
    assert (whole.predict(p) == simple.predict(p))[clear].all()


def test_gains_that_are_no_threshold_stay():
    assert BestGain(np.eye(3)).simplified().predict(np.eye(3)).tolist() == [0, 1, 2]
    upside_down = BestGain(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert upside_down.simplified() is upside_down
    assert BestGain(np.eye(2)).simplified().predict(PROBA).tolist() == [0, 0, 1]
    assert BestGain(np.zeros((2, 2))).simplified().describe() == "nothing positive"
    assert BestGain(np.array([[0.0, 1.0]] * 2)).simplified().describe() == "everything positive"


def test_rules_say_what_they_predict():
    assert Argmax().in_words("ill") == "predicts the most probable class"
    assert Threshold(0.12345).describe() == "positive from p >= 0.1235"
    words = Threshold(0.12345).in_words("ill")
    assert words == "predicts ill where its probability is at least 0.1235"
    assert Threshold(0.0).in_words("ill") == "predicts ill always"
    assert Threshold(1.1).in_words("ill") == "predicts ill never"
    assert BestGain(np.eye(3)).describe() == "the class of highest expected gain"
    assert BestGain(np.eye(3)).in_words("ill").startswith("predicts the class of highest")
    assert [rule.threshold for rule in (Argmax(), BestGain(np.eye(2)))] == [None, None]


@pytest.mark.parametrize("rule", [Argmax(), Threshold(0.3), BestGain(np.eye(2))])
def test_rules_come_back_from_plain_data(rule):
    assert rules.from_dict(rule.to_dict()).predict(PROBA).tolist() == rule.predict(PROBA).tolist()


def test_an_unknown_rule_is_an_error():
    with pytest.raises(ValueError, match="`decision rule` 'oracle' is not known"):
        rules.from_dict({"kind": "oracle"})


def brute_force_threshold(score, capacity, weight):
    fitting = [t for t in np.unique(score) if weight[score >= t].sum() <= capacity]
    return min(fitting, default=np.inf)


@given(
    hnp.arrays(
        np.float64, st.integers(1, 12), elements=st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.9])
    ),
    st.integers(0, 12),
    st.data(),
)
def test_the_threshold_is_the_lowest_that_fits(score, capacity, data):
    ones = np.ones(len(score))
    assert score_threshold(score, capacity) == brute_force_threshold(score, capacity, ones)
    weight = data.draw(
        hnp.arrays(np.float64, len(score), elements=st.sampled_from([0.5, 1.0, 2.0, 3.0]))
    )
    assert score_threshold(score, capacity, weight) == brute_force_threshold(
        score, capacity, weight
    )
