"""JS divergence and dropout variance: against SciPy, by hand, and through the whole flow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.special import softmax

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.metrics import Accuracy
from abstain.scores import (
    distance_from_half,
    dropout_mean,
    dropout_variance,
    js_divergence,
    max_probability,
)
from abstain.selection import Selection
from abstain.summaries import RowSummary


def choose_by_score(score, proba, capacity, seed=0):
    """The region that withholds the highest scores within a capacity."""
    selection = Selection(budget=0.0, score=score)
    return selection.family(Accuracy(), RowSummary(proba), seed)(capacity).region


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(1_000, 1_000, random_state=0)


@given(st.integers(0, 1_000), st.integers(2, 6))
def test_js_divergence_is_scipys(seed, n_classes):
    rng = np.random.default_rng(seed)
    proba, priors = rng.dirichlet(np.ones(n_classes), 20), rng.dirichlet(np.ones(n_classes))
    wanted = [1 - jensenshannon(row, priors) ** 2 for row in proba]
    assert js_divergence(proba, priors=priors) == pytest.approx(np.array(wanted))
    order = rng.permutation(n_classes)
    assert js_divergence(proba[:, order], priors=priors[order]) == pytest.approx(np.array(wanted))


def test_js_divergence_of_certain_rows_is_finite_and_a_row_is_the_same_alone():
    proba = np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.7]])
    score = js_divergence(proba, priors=[1.0, 0.0])
    assert score == pytest.approx([1.0, 1 - np.log(2), score[2]])
    assert js_divergence(proba[2:], priors=[1.0, 0.0])[0] == score[2]


def test_the_priors_of_js_divergence_are_the_adapted_ones(clinic):
    decisions = (
        Abstainer(
            "auroc",
            budget=0.1,
            score="js-divergence",
            calibration="platt",
            scale="logits",
            random_state=0,
        )
        .fit(clinic.scores_val, clinic.y_val)
        .decide(clinic.scores_target)
    )
    stored = decisions.policy.region.to_dict()["parameters"]["priors"]
    assert stored == pytest.approx(decisions.current_priors.values.tolist(), abs=0.005)
    assert (decisions.policy.apply(clinic.scores_target).abstain == decisions.abstain).all()


def test_distance_from_half_is_max_probability_for_two_classes():
    p = np.random.default_rng(0).uniform(size=50)
    proba = np.column_stack([1 - p, p])
    assert distance_from_half(proba) == pytest.approx(max_probability(proba))
    with pytest.raises(ValueError, match="'max-probability' is the same for many"):
        distance_from_half(np.ones((1, 3)) / 3)


@given(st.integers(0, 1_000), st.integers(1, 8), st.integers(2, 4))
def test_dropout_variance_is_numpys(seed, n_samples, n_classes):
    samples = np.random.default_rng(seed).dirichlet(np.ones(n_classes), (n_samples, 15))
    best = samples.mean(axis=0).argmax(axis=1)
    wanted = samples.var(axis=0)[np.arange(15), best]
    assert dropout_variance(samples) == pytest.approx(wanted)
    assert dropout_variance(iter(samples)) == pytest.approx(wanted)
    if n_classes == 2:
        assert dropout_variance(samples[:, :, 1]) == pytest.approx(wanted)


def test_the_mean_over_draws_is_of_probabilities():
    logits = np.random.default_rng(0).normal(size=(6, 9, 3))
    proba = softmax(logits, axis=2)
    wanted = proba.mean(axis=0)
    assert dropout_mean(logits, scale="logits") == pytest.approx(wanted)
    assert dropout_mean(iter(proba), scale="probabilities") == pytest.approx(wanted)
    one = dropout_mean(logits[:, :, 0], scale="logits")
    assert one[:, 1] == pytest.approx((1 / (1 + np.exp(-logits[:, :, 0]))).mean(axis=0))
    with pytest.raises(ValueError, match="holds no draw"):
        dropout_mean([], scale="logits")
    with pytest.raises(ValueError, match="draw 1 has shape"):
        dropout_mean([[0.5, 0.5], [0.5]], scale="probabilities")


def test_dropout_variance_says_what_is_wrong():
    with pytest.raises(ValueError, match="holds no draw"):
        dropout_variance([])
    with pytest.raises(ValueError, match="draw 1 has shape"):
        dropout_variance([[0.5, 0.5], [0.5, 0.5, 0.5]])


def test_dropout_variance_through_the_whole_flow(clinic):
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(20, 1_000)) * rng.uniform(0, 2, size=1_000)
    samples = clinic.scores_target + noise
    abstainer = Abstainer(
        "auroc",
        budget=0.2,
        score="dropout-variance",
        calibration="platt",
        scale="logits",
        random_state=0,
    ).fit(clinic.scores_val, clinic.y_val)
    decisions = abstainer.decide(clinic.scores_target, score_samples=samples)
    prepared = [decisions.policy.predict_proba(sample) for sample in samples]
    variance = dropout_variance(prepared)
    assert decisions.abstain.sum() == 200
    assert variance[decisions.abstain].min() > variance[~decisions.abstain].max()
    with pytest.raises(ValueError, match="cannot be told from one prediction per row"):
        decisions.policy.apply(clinic.scores_target)
    with pytest.raises(ValueError, match="go together"):
        abstainer.decide(clinic.scores_target)
    with pytest.raises(ValueError, match="score_samples"):
        abstainer.decide(clinic.scores_target, score_samples=samples[:, :-1])


def test_class_thresholds_are_not_a_score():
    with pytest.raises(ValueError, match="needs the labelled validation data"):
        choose_by_score("class-thresholds", np.ones((2, 2)) / 2, 1)


def test_draws_that_are_none_are_named():
    with pytest.raises(TypeError, match="`samples` must be draws"):
        dropout_variance(None)
