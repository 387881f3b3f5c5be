"""Labels that are known of a batch: proportions, the check against probabilities, the picking."""

import warnings

import numpy as np
import pytest
from scipy.integrate import trapezoid

from abstain import Abstainer
from abstain.exceptions import AssumptionWarning
from abstain.shift import BBSESoft, KnownPriors, MaximumLikelihoodShift, NoShift
from abstain.shift._label_chance import log_chance
from abstain.summaries import LabelledSummary, RowSummary


def batch(n, positive, seed, moved=0.0):
    """Scores on the scale of log-odds; ``moved`` is what is no label shift."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < positive).astype(int)
    return 2 * (rng.normal(size=n) + y + moved * y - 0.5), y


def decided(seed, n_labels=100, pick=None, moved=0.0, **options):
    scores_val, y_val = batch(800, 0.5, seed)
    scores, y = batch(1_000, 0.2, seed + 1_000, moved)
    rows = np.random.default_rng(seed).permutation(1_000) if pick is None else pick(scores)
    labels = np.full(1_000, np.nan)
    labels[rows[:n_labels]] = y[rows[:n_labels]]
    options = {"budget": 0.1, "calibration": "platt", "shift": "em", **options}
    fitted = Abstainer("accuracy", scale="logits", random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        return fitted.fit(scores_val, y_val).decide(scores, y_target=labels), y


def summaries(seed=0):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(3), 300)
    codes = np.array([rng.choice(3, p=p) for p in proba])
    return LabelledSummary(proba, codes), RowSummary(rng.dirichlet([2, 1, 1], 200))


@pytest.mark.parametrize("prior_rows", [0.0, 10.0])
@pytest.mark.parametrize("algorithm", ["newton", "em"])
def test_the_likelihood_has_the_labelled_rows_in_it(prior_rows, algorithm):
    source, target = summaries()
    counts = np.array([3.0, 30.0, 0.0])
    found = MaximumLikelihoodShift(prior_rows=prior_rows, algorithm=algorithm).fit_summaries(
        source, target, counts
    )
    # A certain row of each label says the same.
    certain = target.merged(RowSummary(np.repeat(np.eye(3), counts.astype(int), axis=0)))
    again = MaximumLikelihoodShift(prior_rows=prior_rows).fit_summaries(source, certain)
    np.testing.assert_allclose(found.priors_, again.priors_, atol=1e-7)
    spread = [one.prior_draws(2_000).std(axis=0) for one in (found, again)]
    np.testing.assert_allclose(*spread, rtol=0.15)


def test_other_estimators_take_the_mean_of_both_and_known_ones_stay():
    source, target = summaries()
    counts = np.array([3.0, 30.0, 7.0])
    plain = BBSESoft().fit_summaries(source, target).priors_
    found = BBSESoft().fit_summaries(source, target, counts)
    np.testing.assert_allclose(found.priors_, (200 * plain + counts) / 240)
    np.testing.assert_allclose(found.weights_, found.priors_ / found.source_priors_)
    assert found.prior_draws(20).shape == (20, 3)
    for fixed in (NoShift(), KnownPriors([0.2, 0.3, 0.5])):
        same = fixed.fit_summaries(source, target).priors_.copy()
        np.testing.assert_array_equal(fixed.fit_summaries(source, target, counts).priors_, same)


def test_random_labels_bring_the_proportions_closer_and_raise_no_doubt():
    with_labels, without, doubted = [], [], 0
    for seed in range(6):
        found, y = decided(seed)
        plain, _ = decided(seed, n_labels=0)
        with_labels.append(found.priors[1] - y.mean())
        without.append(plain.priors[1] - y.mean())
        assert found.assumption.n_labels == 100
        assert plain.known is None
        doubted += any("known label" in one for one in found.assumption.doubts)
    assert np.mean(np.square(with_labels)) < np.mean(np.square(without))
    assert doubted == 0


def test_labels_that_contradict_the_probabilities_are_a_doubt():
    found, _ = decided(1, n_labels=200, moved=-0.9, shift="none")
    assert any("200 known labels contradict" in one for one in found.assumption.doubts)
    assert "known labels of the batch were used" in found.assumption.summary()
    found, _ = decided(0, n_labels=300, moved=1.0)
    assert any("contradict the adapted probabilities" in one for one in found.assumption.doubts)


def test_labels_of_the_uncertain_rows_are_a_doubt():
    found, _ = decided(0, n_labels=50, pick=lambda scores: np.argsort(np.abs(scores)))
    assert any(
        "50 rows with a known label do not look like" in one for one in found.assumption.doubts
    )


def test_few_labels_are_used_and_not_tested():
    found, _ = decided(0, n_labels=5, pick=lambda scores: np.argsort(scores))
    assert found.assumption.n_labels == 5
    assert not any("known label" in one for one in found.assumption.doubts)


def test_the_assumption_keeps_the_number_of_labels(tmp_path):
    found, _ = decided(0)
    found.policy.save(tmp_path / "rule.json")
    assert type(found.policy).load(tmp_path / "rule.json").assumption.n_labels == 100
    plain, _ = decided(0, n_labels=0)
    assert "n_labels" not in plain.assumption.to_dict()


def test_weights_count_as_repetition():
    scores_val, y_val = batch(300, 0.5, 0)
    scores, y = batch(200, 0.3, 1)
    labels = np.full(200, np.nan)
    labels[:40] = y[:40]
    weight = np.ones(200)
    weight[:40] = 2
    fitted = Abstainer(
        "accuracy", budget=0.1, calibration="platt", shift="em", scale="logits", random_state=0
    ).fit(scores_val, y_val)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        one = fitted.decide(scores, weight, y_target=labels)
        two = fitted.decide(np.r_[scores[:40], scores], y_target=np.r_[labels[:40], labels])
    np.testing.assert_allclose(one.priors, two.priors, atol=1e-6)


def test_the_chance_of_labels_is_the_integral_over_the_tilt():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.95, 40)
    rows = LabelledSummary(np.column_stack([1 - p, p]), (rng.random(40) < p).astype(int))
    spread = 0.6
    found = log_chance(rows, np.array([0.0, 0.3]), np.diag([0.0, spread**2]))
    z = np.linspace(-8, 8, 4_001)
    odds = (p / (1 - p))[:, None] * np.exp(0.3 + spread * z)
    right = np.where(rows.labels[:, None] == 1, odds, 1.0) / (1 + odds)
    density = np.exp(np.log(right).sum(axis=0) - z**2 / 2) / np.sqrt(2 * np.pi)
    assert found == pytest.approx(np.log(trapezoid(density, z)), abs=0.02)
    # Tilts that are not open leave what the rows say; a weight of two is a row twice.
    still = log_chance(rows, np.zeros(2), np.zeros((2, 2)))
    assert still == pytest.approx(np.log(np.where(rows.labels == 1, p, 1 - p)).sum())
    twice = LabelledSummary(rows.proba, rows.labels, np.full(40, 2.0))
    assert log_chance(twice, np.zeros(2), np.zeros((2, 2))) == pytest.approx(2 * still)


def worlds_of(by_class, n_labels, seed):
    """Weights where ill rows came because they are ill, or because of their score: alike."""
    rng = np.random.default_rng([seed, by_class])
    scores_val, y_val = batch(2_000, 0.1, seed)
    scores, y = batch(40_000, 0.1, seed + 100)
    # As probable as the label has it, or as the probability of the label has it.
    p = 1 / (1 + 9 * np.exp(-scores / 2))
    chance = np.where(y == 1, 1.0, 0.2) if by_class else 0.2 + 0.8 * p
    rows = rng.permutation(np.flatnonzero(rng.random(40_000) < chance))[:2_000]
    labels = np.full(2_000, np.nan)
    labels[:n_labels] = y[rows[:n_labels]]
    fitted = Abstainer("accuracy", budget=0.1, scale="logits", calibration="platt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        given = None if n_labels == 0 else labels
        return fitted.fit(scores_val, y_val).decide(scores[rows], y_target=given).assumption.worlds


def test_labels_tell_apart_what_scores_cannot():
    alike = [worlds_of(by_class, 0, 0) for by_class in (True, False)]
    assert all(one["label"] > 0.6 for one in alike)
    told = [[worlds_of(by_class, 200, seed) for seed in range(3)] for by_class in (True, False)]
    assert all(one["label"] + one["both"] > 0.8 for one in told[0])
    assert np.mean([one["scores"] + one["nothing"] for one in told[1]]) > 0.7
