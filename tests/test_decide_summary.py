"""Deciding on a summary: within 1e-4 of deciding on the rows, whatever their parts."""

import numpy as np
import pytest

from abstain import Abstainer, Cost
from abstain.exceptions import RepairWarning

RNG = np.random.default_rng(0)
RANKING = ["sensitivity@specificity=0.9", "auroc", "average-precision", "recall@precision=0.6"]
OF_TWO = [*RANKING, "accuracy", "f1", "mcc", "net-benefit=0.2"]
OF_TEN = ["accuracy", "kappa:quadratic"]


def two_classes(n, share, rng=RNG):
    y = (rng.random(n) < share).astype(int)
    return 1.8 * y + rng.normal(size=n) - 1, y


def ten_classes(n, shares=None, separation=2.0, rng=RNG):
    y = rng.choice(10, n, p=shares)
    z = rng.normal(size=(n, 10))
    z[np.arange(n), y] += separation
    return separation * z, y


VAL, Y_VAL = two_classes(3000, 0.35)
NEW, _ = two_classes(30_000, 0.15)
VAL10, Y_VAL10 = ten_classes(3000)
NEW10, _ = ten_classes(12_000, RNG.dirichlet(np.full(10, 3.0)))


def fitted(metric, scores=VAL, y=Y_VAL, **how):
    given = {"calibration": "bcts", "scale": "logits", "random_state": 0}
    if "target" not in how and "cost" not in how:
        given["budget"] = 0.15
    return Abstainer(metric, **(given | how)).fit(scores, y)


def by_parts(abstainer, scores, n_parts=3, weight=None, **how):
    found = None
    for at in np.array_split(np.arange(len(scores)), n_parts):
        one = abstainer.summarise(scores[at], None if weight is None else weight[at], **how)
        found = one if found is None else found.merge(one)
    return abstainer.decide_summary(found)


def expected(abstainer, policy, scores):
    """The expected metric on all rows and on the kept, by a policy."""
    proba = policy.predict_proba(scores)
    column, withheld = policy.choice.apply(proba)
    metric, kept = abstainer.metric_, ~withheld
    return (
        metric.expected(proba, prediction=column),
        metric.expected(proba[kept], prediction=column[kept]),
        withheld.mean(),
    )


def assert_near(abstainer, scores, budget=0.15):
    policy, exact = by_parts(abstainer, scores), abstainer.decide(scores).policy
    assert policy.priors == pytest.approx(exact.priors, abs=2e-6)
    found, wanted = (expected(abstainer, one, scores) for one in (policy, exact))
    assert found == pytest.approx(wanted, abs=1e-4)
    assert found[2] <= budget
    # Both are drawn, and so differ by chance: far less than their intervals are wide.
    for moment in ("before", "after"):
        here, there = (getattr(one.estimate, moment) for one in (policy, exact))
        wide = there.interval[1] - there.interval[0]
        assert here.value == pytest.approx(there.value, abs=0.15 * wide)


@pytest.mark.parametrize("metric", OF_TWO)
def test_two_classes_are_decided_as_from_the_rows(metric):
    assert_near(fitted(metric), NEW)


@pytest.mark.parametrize("score", ["max-probability", "entropy", "js-divergence"])
@pytest.mark.parametrize("metric", ["auroc", "accuracy"])
def test_scores_of_uncertainty_are_decided_as_from_the_rows(metric, score):
    assert_near(fitted(metric, score=score), NEW)


@pytest.mark.parametrize("metric", OF_TEN)
def test_ten_classes_are_decided_as_from_the_rows(metric):
    assert_near(fitted(metric, VAL10, Y_VAL10), NEW10)


@pytest.mark.parametrize("calibration", ["isotonic", "platt", "beta", "identity"])
def test_every_kind_of_calibration_is_summarised(calibration):
    abstainer = fitted("auroc", calibration=calibration)
    policy, exact = by_parts(abstainer, NEW), abstainer.decide(NEW).policy
    found, wanted = (expected(abstainer, one, NEW) for one in (policy, exact))
    # Flat pieces of a curve have rows that are as good as equal, so more or fewer of them go.
    assert found[:2] == pytest.approx(wanted[:2], abs=1e-4)


def test_a_rare_class_is_told_apart_in_the_bins():
    rng = np.random.default_rng(5)
    val, y = two_classes(20_000, 0.02, rng)
    new, _ = two_classes(200_000, 0.001, rng)
    abstainer = fitted("sensitivity@specificity=0.99", 3 * val - 6, y, budget=0.01)
    assert_near(abstainer, 3 * new - 6, 0.01)


def test_the_answer_does_not_depend_on_the_parts():
    abstainer = fitted("auroc")
    rules = {repr(by_parts(abstainer, NEW, n).region) for n in (1, 7)}
    rules |= {repr(by_parts(abstainer, NEW[::-1], 5).region)}
    assert len(rules) == 1
    abstainer = fitted("accuracy", VAL10, Y_VAL10)
    priors = {by_parts(abstainer, NEW10, n).priors.tobytes() for n in (1, 4)}
    assert len(priors) == 1


def test_weights_count_as_in_memory():
    weight = np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(NEW))
    for metric in ("auroc", "accuracy"):
        abstainer = fitted(metric)
        policy = by_parts(abstainer, NEW, weight=weight)
        exact = abstainer.decide(NEW, weight)
        assert policy.priors == pytest.approx(exact.priors, abs=1e-6)
        withheld = policy.apply(NEW).abstain
        assert weight[withheld].sum() <= 0.15 * weight.sum()
        assert (withheld != exact.abstain).mean() < 1e-3


def test_a_target_and_a_cost_are_met_from_a_summary():
    abstainer = fitted("accuracy", target=0.9)
    policy, exact = by_parts(abstainer, NEW), abstainer.decide(NEW)
    assert policy.apply(NEW).abstention_rate == pytest.approx(exact.abstention_rate, abs=0.01)
    abstainer = fitted("accuracy", cost=Cost(0.3, [[0, 1], [5, 0]]))
    policy, exact = by_parts(abstainer, NEW), abstainer.decide(NEW)
    assert (policy.apply(NEW).abstain == exact.abstain).all()


def test_a_certificate_comes_with_the_policy():
    abstainer = fitted("accuracy", target={"sensitivity": 0.5, "specificity": 0.6}, confidence=0.9)
    policy, exact = by_parts(abstainer, NEW), abstainer.decide(NEW)
    assert policy.certificate is not None
    assert str(policy.certificate) == str(exact.certificate)


def test_rows_without_a_score_use_up_the_budget():
    new = NEW.copy()
    new[::20] = np.nan
    abstainer = fitted("auroc")
    policy = by_parts(abstainer, new, missing="refer")
    exact = abstainer.decide(new, missing="refer")
    assert policy.apply(new, missing="refer").abstention_rate <= 0.15
    assert (policy.apply(new, missing="refer").abstain != exact.abstain).mean() < 1e-4
    dropped = by_parts(abstainer, new, missing="drop")
    assert dropped.region != policy.region
    with pytest.raises(ValueError, match="1500 of 30000 rows have no score"):
        abstainer.summarise(new)
    new[: len(new) // 2] = np.nan
    with pytest.warns(RepairWarning, match="more than the budget"):
        by_parts(abstainer, new, missing="refer")


def test_more_rows_than_are_kept_are_decided_nearly_as_well(monkeypatch):
    monkeypatch.setattr("abstain.summaries._sample._MOST_ROWS", 6_000)
    abstainer = fitted("accuracy", VAL10, Y_VAL10)
    policy, exact = by_parts(abstainer, NEW10), abstainer.decide(NEW10).policy
    assert policy.priors == pytest.approx(exact.priors, abs=1e-3)
    found, wanted = (expected(abstainer, one, NEW10) for one in (policy, exact))
    assert found[:2] == pytest.approx(wanted[:2], abs=2e-3)
    assert found[2] == pytest.approx(0.15, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("separation", [1.3, 2.0, 3.0])
def test_a_million_rows_of_ten_classes_are_within_their_bound(separation):
    rng = np.random.default_rng(int(10 * separation))
    val, y = ten_classes(5000, separation=separation, rng=rng)
    shares = rng.dirichlet(np.full(10, 3.0))
    new, _ = ten_classes(1_200_000, shares, separation, rng)
    for metric in ("accuracy", "kappa:quadratic"):
        abstainer = fitted(metric, val, y)
        policy, exact = by_parts(abstainer, new, 12), abstainer.decide(new).policy
        assert policy.priors == pytest.approx(exact.priors, abs=1e-4)
        found, wanted = (expected(abstainer, one, new) for one in (policy, exact))
        assert found[0] == pytest.approx(wanted[0], abs=1e-4)
        # How many are withheld is a share of the rows kept, and moves the metric along.
        assert found[2] == pytest.approx(0.15, abs=1e-3)
        assert found[1] == pytest.approx(wanted[1], abs=3e-4)


def test_a_policy_of_a_summary_is_a_policy(tmp_path):
    from abstain import Policy

    policy = by_parts(fitted("auroc"), NEW)
    policy.save(tmp_path / "triage.json")
    again = Policy.load(tmp_path / "triage.json")
    assert (again.apply(NEW).abstain == policy.apply(NEW).abstain).all()
    assert again.adapt(NEW[:2000]).estimate is not None


def test_a_part_without_rows_or_weight_is_none():
    for abstainer, new in (
        (fitted("auroc"), NEW[:500]),
        (fitted("accuracy", VAL10, Y_VAL10), NEW10[:500]),
    ):
        nothing = abstainer.summarise(new[:0])
        assert nothing.n_rows == 0
        whole = abstainer.summarise(new)
        assert nothing.merge(whole).to_bytes() == whole.to_bytes()
        weightless = abstainer.summarise(new, np.zeros(500))
        assert weightless.n_rows == 0
        weight = np.full(500, 2.0)
        heavy = abstainer.summarise(new, weight)
        assert weightless.merge(heavy).to_bytes() == heavy.to_bytes()


def test_weights_are_weighed_on_the_same_scales_everywhere():
    abstainer = fitted("auroc")
    for weight in (1e300, 1e-300, -1.0, np.nan):
        with pytest.raises(ValueError, match="`sample_weight`"):
            abstainer.summarise(NEW[:3], np.array([1.0, 1.0, weight]))
    with pytest.raises(ValueError, match="one weight per row"):
        abstainer.summarise(NEW[:3], np.zeros(2))


def test_summaries_of_others_are_refused():
    abstainer, other = fitted("auroc"), fitted("auroc", VAL + 1)
    summary = other.summarise(NEW)
    with pytest.raises(ValueError, match="another calibration"):
        abstainer.decide_summary(summary)
    with pytest.raises(ValueError, match="one fitted abstainer"):
        summary.merge(abstainer.summarise(NEW))
    with pytest.raises(TypeError, match=r"For scores use decide\(\)"):
        abstainer.decide_summary(NEW)
    # The metric is no part of it: one summary serves many.
    assert fitted("accuracy").decide_summary(abstainer.summarise(NEW)).estimate is not None


def test_what_a_summary_cannot_serve_is_refused():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        Abstainer("auroc", budget=0.1).summarise(NEW)
    abstainer = fitted("auroc", score="dropout-variance")
    with pytest.raises(ValueError, match="draws for each row"):
        abstainer.decide_summary(abstainer.summarise(NEW))
    nothing = np.full(3, np.nan)
    with pytest.raises(ValueError, match="none with a score and 3 without"):
        by_parts(fitted("auroc"), nothing, 1, missing="refer")
    with pytest.raises(ValueError, match="smaller count"):
        by_parts(fitted("auroc", budget=30_000), NEW)


def test_a_random_order_of_rows_is_not_one_of_bins():
    abstainer = fitted("accuracy", score="random")
    with pytest.raises(ValueError, match="holds bins of rows"):
        abstainer.decide_summary(abstainer.summarise(NEW))
    of_ten = fitted("accuracy", VAL10, Y_VAL10, score="random")
    policy = of_ten.decide_summary(of_ten.summarise(NEW10))
    assert policy.rows(NEW10).abstain.sum() == 0.15 * len(NEW10)
