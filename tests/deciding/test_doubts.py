"""A rule that is not expected to help withholds nobody, and one that leaves little is doubted."""

import numpy as np
import pytest

from abstain import Abstainer, Cost
from abstain.exceptions import AssumptionWarning


def screened(n, prevalence, rng, apart=1.5, centre=-2.0):
    y = (rng.random(n) < prevalence).astype(int)
    return 1 / (1 + np.exp(-(rng.normal(size=n) + apart * y + centre))), y


def drawn(seed, then=0.08, now=0.15, apart=1.5):
    rng = np.random.default_rng(seed)
    return *screened(1200, then, rng, apart), screened(800, now, rng, apart)[0]


EXTREME = "specificity@sensitivity=0.99"
RARE = "precision@recall=0.8"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("metric", "how"), [(EXTREME, {}), (RARE, {"then": 0.02, "now": 0.02, "apart": 1.8})]
)
def test_no_budget_is_spent_on_a_worse_estimate(metric, how):
    nobody = 0
    for seed in range(20):
        val, y, new = drawn(seed, **how)
        decisions = Abstainer(metric, budget=60, random_state=0).fit(val, y).decide(new)
        estimate, doubts = decisions.estimate, decisions.assumption.doubts
        if np.isnan(estimate.after.value):
            assert "is not defined" in " ".join(doubts)
            continue
        assert estimate.after.value >= estimate.before.value
        if not decisions.abstain.any():
            nobody += 1
            assert "not expected to help, so nobody is withheld" in " ".join(doubts)
    # How often is not promised: of the rare, whose estimates rest on the probabilities, never.
    assert nobody < 15
    assert nobody or metric == RARE


def test_it_is_said_by_a_warning_and_holds_for_a_policy_and_a_summary():
    val, y, new = drawn(7)
    abstainer = Abstainer(EXTREME, budget=60, random_state=0).fit(val, y)
    with pytest.warns(AssumptionWarning, match=r"would take specificity@sensitivity=0.99 from 0"):
        decisions = abstainer.decide(new)
    assert not decisions.policy.apply(new).abstain.any()
    with pytest.warns(AssumptionWarning, match="so nobody is withheld"):
        policy = abstainer.decide_summary(abstainer.summarise(new))
    assert not policy.rows(new).abstain.any()
    # What is chosen by a score was asked for by order, not by figure.
    by_score = Abstainer(EXTREME, budget=60, score="max-probability", random_state=0).fit(val, y)
    assert by_score.decide(new).abstain.sum() == 60


def test_a_score_that_does_not_help_is_doubted():
    val, y, new = drawn(0)
    abstainer = Abstainer("accuracy", budget=0.3, score=lambda p: np.max(p, axis=1)).fit(val, y)
    with pytest.warns(AssumptionWarning, match="not expected to help: it takes accuracy from"):
        assert abstainer.decide(new).abstain.sum() > 200


def test_a_target_that_leaves_little_is_doubted():
    val, y, new = drawn(1)
    with pytest.warns(AssumptionWarning) as said:
        decisions = Abstainer("recall", target=0.99, random_state=0).fit(val, y).decide(new)
    text, kept = str(said[0].message), int((~decisions.abstain).sum())
    assert decisions.abstention_rate > 0.5
    assert f"of the rows are withheld: the figures are of the {kept:,} that are left" in text
    both = {"sensitivity": 0.99, "specificity": 0.8}
    with pytest.warns(AssumptionWarning, match="that are left alone"):
        Abstainer("accuracy", target=both, random_state=0).fit(val, y).decide(new)


def test_kept_rows_of_one_predicted_class_are_doubted():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.3, 2000)
    y = (rng.random(2000) < p).astype(int)
    abstainer = Abstainer("accuracy", budget=0.1, calibration="identity", shift="none")
    with pytest.warns(
        AssumptionWarning, match="kept are predicted to be class 0, and about 1[0-9]"
    ):
        abstainer.fit(p[:1000], y[:1000]).decide(p[1000:])
    # A metric of the order alone asks nobody for predictions.
    ranked = Abstainer("auroc", budget=0.1, calibration="identity", shift="none")
    assert not ranked.fit(p[:1000], y[:1000]).decide(p[1000:]).assumption.doubts


@pytest.mark.parametrize("budget", [0.6, 0.97])
def test_a_budget_of_most_rows_was_asked_for_but_few_rows_say_little(budget):
    val, y, new = drawn(2, apart=3.0)
    decisions = Abstainer("auroc", budget=budget, shift="none").fit(val, y)
    if budget > 0.9:
        with pytest.warns(AssumptionWarning, match="Only 24 rows are left"):
            decisions.decide(new)
    else:
        assert decisions.decide(new).abstain.sum() == 480


def test_why_nobody_is_withheld():
    rng = np.random.default_rng(3)
    y = (rng.random(1000) < 0.4).astype(int)
    constant = np.full(1000, 0.4)
    fixed = {"budget": 0.1, "calibration": "identity", "shift": "none"}
    with pytest.warns(AssumptionWarning, match=r"those that come first 1,000 do.*\(100\)"):
        Abstainer("accuracy", score="entropy", **fixed).fit(constant, y).decide(constant)
    coarse = np.where(rng.random(1000) < 0.5, 0.2, 0.7)
    truth = (rng.random(1000) < coarse).astype(int)
    with pytest.warns(AssumptionWarning, match="rows that tie go to a person together"):
        decisions = Abstainer("accuracy", **fixed).fit(coarse, truth).decide(coarse)
    assert not decisions.abstain.any()
    with pytest.warns(AssumptionWarning, match="rows that tie go to a person together"):
        Abstainer("auroc", **fixed).fit(coarse, truth).decide(coarse)


def test_a_cost_that_refers_most_is_doubted_and_one_that_refers_nobody_is_not():
    val, y, new = drawn(4)
    cheap = Abstainer("accuracy", cost=Cost(0.01, errors=[[0, 1], [10, 0]])).fit(val, y)
    with pytest.warns(AssumptionWarning, match="of the rows are withheld"):
        cheap.decide(new)


@pytest.mark.filterwarnings("ignore")
def test_a_class_that_is_not_in_the_batch_is_missed():
    rng = np.random.default_rng(3)
    val, y = screened(1_500, 0.2, rng)
    new, _ = screened(700, 0.0, rng)
    abstainer = Abstainer("sensitivity@specificity=0.9", budget=50, random_state=0)
    doubts = " ".join(abstainer.fit(val, y).decide(new).assumption.doubts)
    assert "Class 0 seems to fill" in doubts
    # Half as many as before are no reason to doubt.
    fewer, _ = screened(700, 0.1, rng)
    assert "seems to" not in " ".join(abstainer.decide(fewer).assumption.doubts)
