"""Arms with promises: p-values by hand, how often promises are broken, what cannot be promised."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from abstain import Abstainer, Policy
from abstain.certificates._arms import chance_of_less
from abstain.datasets import screening_clinic
from abstain.exceptions import ArgumentError, AssumptionWarning

SETTINGS = {"calibration": "platt", "scale": "logits", "random_state": 0}


def decided(clinic, arms, prior_range=None, groups=None, **changes):
    abstainer = Abstainer("auroc", arms=arms, prior_range=prior_range, **SETTINGS | changes)
    return abstainer.fit(clinic.scores_val, clinic.y_val, groups=groups).decide(
        clinic.scores_target
    )


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(6_000, 3_000, random_state=0)


def test_a_rate_that_is_next_to_known_leaves_a_binomial_test():
    # Of ten million right ones three quarters were taken: the wrong ones may be 0.0075.
    n_right = 10_000_000
    found = chance_of_less(np.array([2]), 1_000, np.array([7_500_000]), n_right, 0.01)
    assert found == pytest.approx(binom.cdf(2, 1_000, 0.0075), rel=0.05)


@pytest.mark.parametrize(("rate", "limit"), [(0.6, 0.02), (0.3, 0.1), (0.9, 0.5)])
def test_chances_are_as_rare_as_they_say_where_the_promise_just_fails(rate, limit):
    rng = np.random.default_rng(0)
    wrong, right = rng.binomial(400, limit * rate, 3_000), rng.binomial(150, rate, 3_000)
    found = chance_of_less(wrong, 400, right, 150, limit)
    for level in (0.01, 0.05, 0.2):
        assert (found <= level).mean() <= level + 3 * np.sqrt(level / 3_000)
    assert (found <= 0.2).mean() > 0.1


def test_sensitivity_and_specificity_of_all_by_hand(clinic):
    found = decided(clinic, {"sensitivity": 0.95, "specificity": 0.9}, confidence=0.9)
    certificate = found.certificate
    assert certificate.confidence == 0.9
    n = np.bincount(clinic.y_val)
    counts = certificate.evidence.counts
    # Each of two arms may be wrong with half of the error.
    assert binom.cdf(counts[1, 0], n[1], 0.05) <= 0.05 < binom.cdf(counts[1, 0] + 9, n[1], 0.05)
    assert binom.cdf(counts[0, 1], n[0], 0.1) <= 0.05 < binom.cdf(counts[0, 1] + 99, n[0], 0.1)
    assert certificate.bounds["sensitivity"].observed == 1 - counts[1, 0] / n[1]
    released = ~found.abstain & (found.prediction == 0)
    assert (released & (clinic.y_target == 1)).sum() <= 0.06 * clinic.y_target.sum()


def test_arms_say_whom_they_take_and_survive_a_file(clinic, tmp_path):
    found = decided(clinic, {"npv": 0.98}, (0.05, 0.4))
    release, person, act = found.arms
    assert (release.name, person.name, act.name) == ("release", "person", "act")
    assert release.rows + person.rows == len(found) == 3_000
    assert act.rows == 0
    released = ~found.abstain
    assert release.positives == pytest.approx(found.proba[released, 1].sum())
    assert release.promises["npv"].value == 0.98
    found.policy.save(tmp_path / "arms.json")
    policy = Policy.load(tmp_path / "arms.json")
    assert policy == found.policy
    assert policy.apply(clinic.scores_target).arms == found.arms
    with pytest.raises(ArgumentError, match="needs no adapting"):
        policy.adapt(clinic.scores_target)
    page = found.report().to_html()
    assert "What is promised" in page
    assert "go unseen" in page


def test_what_cannot_be_promised_goes_to_a_person(clinic):
    with pytest.warns(AssumptionWarning, match=r"No npv 0.9999 can be promised.*labelled rows"):
        found = decided(clinic, {"npv": 0.9999, "ppv": 0.99}, (0.01, 0.4))
    assert found.abstain.all()
    assert not found.certificate.bounds
    assert [arm.rows for arm in found.arms] == [0, 3_000, 0]


def test_arms_that_meet_leave_nobody(clinic):
    found = decided(clinic, {"sensitivity": 0.5, "specificity": 0.5})
    assert not found.abstain.any()


def test_a_promise_to_every_group_is_the_weakest_group_s(clinic):
    arms, groups = {"sensitivity": 0.9}, np.arange(6_000) % 3
    alone, each = decided(clinic, arms), decided(clinic, arms, groups=groups)
    assert each.arms[0].rows < alone.arms[0].rows
    thresholds = each.policy.region.lower
    p = each.policy.predict_proba(clinic.scores_val)[:, 1]
    for group in range(3):
        ill = (groups == group) & (clinic.y_val == 1)
        assert binom.cdf((p[ill] < thresholds).sum(), ill.sum(), 0.1) <= 0.05


def test_a_group_without_labels_of_a_class_gets_no_promise(clinic):
    groups = np.where(clinic.y_val == 1, "A", np.where(np.arange(6_000) % 2, "A", "B"))
    with pytest.warns(AssumptionWarning, match="there are 0 in a group"):
        found = decided(clinic, {"sensitivity": 0.9}, groups=groups)
    assert found.abstain.all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"arms": {}}, "must promise one or more of"),
        ({"arms": {"recall": 0.9}}, "must promise one or more of"),
        ({"arms": {"npv": 1.0}, "prior_range": (0.1, 0.2)}, "Promise a little less"),
        ({"arms": {"npv": 0.99}}, "between which proportions"),
        ({"arms": {"npv": 0.7}, "prior_range": (0.1, 0.2)}, "with everybody released"),
        ({"arms": {"ppv": 0.05}, "prior_range": (0.1, 0.2)}, "with everybody acted on"),
        ({"arms": {"ppv": 0.9}, "prior_range": (0, 0.2)}, "none can be had at a prevalence of 0"),
        ({"arms": {"npv": 0.9}, "prior_range": (0.3, 0.2)}, "low before high"),
        ({"arms": {"npv": 0.9}, "budget": 0.1}, "exactly one of"),
        ({"arms": {"sensitivity": 0.9}, "score": "entropy"}, "no part in a decision by `arms`"),
    ],
)
def test_promises_that_are_none(clinic, parameters, message):
    with pytest.raises(ValueError, match=message):
        Abstainer("auroc", **SETTINGS | parameters).fit(clinic.scores_val, clinic.y_val)


def test_arms_are_for_two_classes_and_groups_for_arms(clinic):
    proba = np.random.default_rng(0).dirichlet(np.ones(3), 300)
    with pytest.raises(ArgumentError, match="for two classes"):
        Abstainer("accuracy", arms={"sensitivity": 0.9}).fit(proba, np.arange(300) % 3)
    with pytest.raises(ArgumentError, match="`groups` of labelled rows"):
        Abstainer("auroc", budget=0.1, **SETTINGS).fit(
            clinic.scores_val, clinic.y_val, groups=clinic.y_val
        )


@pytest.mark.parametrize(
    ("prevalence", "repeats"),
    [(0.1, 12), *(pytest.param(q, 1_000, marks=pytest.mark.slow) for q in (0.1, 0.2, 0.3))],
)
@pytest.mark.filterwarnings("ignore::abstain.exceptions.AssumptionWarning")
def test_promises_are_broken_no_more_often_than_they_may(prevalence, repeats):
    rng, broken, released = np.random.default_rng(5), 0, 0.0
    for _ in range(repeats):
        y = (rng.uniform(size=1_500) < 0.3).astype(int)
        batch = rng.normal(size=1_000) + 2 * (rng.uniform(size=1_000) < prevalence)
        policy = (
            Abstainer("auroc", arms={"npv": 0.95, "ppv": 0.6}, prior_range=(0.1, 0.3), **SETTINGS)
            .fit(rng.normal(size=1_500) + 2 * y, y)
            .decide(batch)
            .policy
        )
        grid = np.linspace(-6, 9, 6_001)
        found = policy.apply(grid)
        density = norm.pdf(grid[:, None] - np.array([0.0, 2.0]))
        low, high = (
            ~found.abstain & (found.prediction == 0),
            ~found.abstain & (found.prediction == 1),
        )
        well, ill = (density[low].sum(axis=0) / density.sum(axis=0)).tolist()
        released += well
        bad = low.any() and 0.7 * well < 0.95 * (0.7 * well + 0.3 * ill)
        well, ill = (density[high].sum(axis=0) / density.sum(axis=0)).tolist()
        broken += bad or (high.any() and 0.1 * ill < 0.6 * (0.1 * ill + 0.9 * well))
    assert broken <= 0.05 * repeats + 3 * np.sqrt(0.05 * 0.95 * repeats)
    assert released / repeats > 0.5
