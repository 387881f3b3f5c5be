"""Brier score and log loss by name: exact expectations, and whom they withhold."""

import numpy as np
import pytest
import sklearn.metrics as skm

from abstain import Abstainer, Policy, metrics
from abstain.scores import get as score_of

NAMES = ["brier", "log-loss"]


def rows(n_classes, n=60):
    rng = np.random.default_rng(n_classes)
    proba = rng.dirichlet(np.full(n_classes, 0.7), n)
    y = np.append(rng.integers(n_classes, size=n - n_classes), np.arange(n_classes))
    return proba, y, rng.random(n)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_observed_is_scikit_learns(n_classes):
    proba, y, weight = rows(n_classes)
    theirs = skm.log_loss(y, proba, sample_weight=weight)
    assert metrics.get("log-loss").observed(y, proba, sample_weight=weight) == pytest.approx(
        theirs
    )
    brier = metrics.get("brier").observed(y, proba, sample_weight=weight)
    if n_classes == 2:
        theirs = skm.brier_score_loss(y, proba[:, 1], sample_weight=weight)
    else:
        theirs = np.average(((proba - np.eye(4)[y]) ** 2).sum(axis=1), weights=weight)
    assert brier == pytest.approx(theirs)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_expected_is_the_mean_over_all_labels(name, n_classes):
    proba, _, weight = rows(n_classes, 12)
    metric = metrics.get(name)
    each = sum(
        proba[:, k] * [metric.observed([k], row[None]) for row in proba] for k in range(n_classes)
    )
    expected = metric.expected(proba, sample_weight=weight)
    assert expected == pytest.approx(np.average(each, weights=weight))
    draws = metric.draws(proba, sample_weight=weight, n_draws=4000, seed=0)
    assert draws.mean() == pytest.approx(expected, abs=5 * draws.std() / np.sqrt(4000))
    rng = np.random.default_rng(0)
    labels = (rng.random((4000, len(proba), 1)) > proba.cumsum(axis=1)).sum(axis=2)
    drawn = [metric.observed(one, proba, sample_weight=weight) for one in labels]
    assert draws.std() == pytest.approx(np.std(drawn), rel=0.1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_other_rows_are_better_to_withhold(name, n_classes):
    proba, _, _ = rows(n_classes, 20)
    metric = metrics.get(name)
    choice = metric.choose(proba, 5)
    withheld = choice.withheld(proba)
    assert withheld.sum() == 5
    each = np.array([metric.expected(row[None]) for row in proba])
    np.testing.assert_array_equal(np.sort(np.argsort(-each)[:5]), np.flatnonzero(withheld))
    np.testing.assert_allclose(
        score_of(metric.score)(proba), each * (1 + (n_classes == 2)) if (name == "brier") else each
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_degenerate_rows(name, n_classes):
    metric = metrics.get(name)
    for proba in (
        np.eye(n_classes),
        np.full((6, n_classes), 1 / n_classes),
        np.eye(n_classes)[:1],
    ):
        assert np.isfinite(metric.expected(proba))
        assert np.isfinite(metric.draws(proba, n_draws=3, seed=0)).all()
        assert metric.choose(proba, 0).withheld(proba).sum() == 0
    sure = metrics.get("log-loss").observed([1], [[1.0, 0.0]])
    assert sure == pytest.approx(-np.log(np.finfo(float).eps))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_intervals_hold_as_often_as_they_say(name, n_classes):
    held = []
    for seed in range(30):
        rng = np.random.default_rng(seed)

        def drawn(n, priors, rng=rng):
            y = rng.choice(n_classes, size=n, p=priors)
            z = rng.normal(size=(n, n_classes))
            z[np.arange(n), y] += 1.7
            z = np.exp(1.5 * z)
            return z / z.sum(axis=1, keepdims=True), y

        val, y = drawn(400, np.full(n_classes, 1 / n_classes))
        new, truth = drawn(300, rng.dirichlet(np.full(n_classes, 4.0)))
        found = Abstainer(name, budget=0.2, calibration="bcts", random_state=0).fit(val, y)
        decisions = found.decide(new)
        kept, estimate = ~decisions.abstain, decisions.estimate
        metric = decisions.metric
        held.append(estimate.before.holds(metric.observed(truth, decisions.proba)))
        held.append(estimate.after.holds(metric.observed(truth[kept], decisions.proba[kept])))
        assert estimate.after.value < estimate.before.value
    assert 0.8 <= np.mean(held) <= 1.0


def test_a_policy_carries_it(tmp_path):
    proba, y, _ = rows(4, 300)
    policy = Abstainer("brier", budget=0.2, random_state=0).fit(proba, y).decide(proba).policy
    policy.save(tmp_path / "p.json")
    again = Policy.load(tmp_path / "p.json")
    assert again.metric.name == "brier"
    np.testing.assert_array_equal(again.apply(proba).abstain, policy.apply(proba).abstain)
    assert "gini" in again.region.describe()


@pytest.mark.parametrize(("name", "ours"), [("brier-score", "brier"), ("nll", "log-loss")])
def test_other_names_are_understood(name, ours):
    with pytest.raises(ValueError, match=ours):
        metrics.get(name)
