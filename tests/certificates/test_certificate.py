"""Certificates: exact bounds by hand, worst cases by brute force, and the search."""

import itertools

import numpy as np
import pytest
from scipy import stats

from abstain import Abstainer, Certificate, Policy
from abstain.certificates import Evidence, certify
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.exceptions import TargetUnreachable
from abstain.metrics import F1, Accuracy, BalancedAccuracy, ExpectedCost, MatthewsCorrelation

COUNTS = np.array([[180.0, 10.0, 10.0], [2.0, 88.0, 10.0]])


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(6_000, 3_000, random_state=0)


def test_a_certificate_of_a_fixed_rule_by_hand():
    certificate = certify(Evidence(COUNTS), confidence=0.9, classes=[0, 1])
    # Two bounds at once: each is allowed half of the error.
    sensitivity = stats.beta.ppf(0.05, 88, 3)
    specificity = stats.beta.ppf(0.05, 180, 11)
    assert certificate.bounds["sensitivity"].lower == pytest.approx(sensitivity)
    assert certificate.bounds["specificity"].lower == pytest.approx(specificity)
    assert certificate.bounds["sensitivity"].observed == pytest.approx(88 / 90)
    assert certificate.bounds["sensitivity"].n == 90
    assert certificate.bounds["balanced-accuracy"].lower == pytest.approx(
        (sensitivity + specificity) / 2
    )
    assert certificate.worst_case(BalancedAccuracy()) == pytest.approx(
        (sensitivity + specificity) / 2
    )


@pytest.mark.parametrize(
    "metric",
    [Accuracy(), F1(), ExpectedCost([[0, 1], [20, 0]]), MatthewsCorrelation()],
    ids=lambda metric: metric.name,
)
@pytest.mark.parametrize("prior_range", [None, (0.05, 0.3), (0.5, 0.5)])
def test_no_corner_is_worse_than_the_worst_case(metric, prior_range):
    certificate = certify(Evidence(COUNTS), confidence=0.9, classes=[0, 1])
    found = certificate.worst_case(metric, prior_range)
    hits = COUNTS[:, :-1]
    missed = COUNTS.sum(axis=1, keepdims=True) - hits
    low = stats.beta.ppf(0.1 / 8, hits, missed + 1)
    high = stats.beta.isf(0.1 / 8, hits + 1, missed)
    sign = 1 if metric.greater_is_better else -1
    least, most = prior_range or (0.0, 1.0)
    values = []
    for positive in np.linspace(least, most, 21):
        for ends in itertools.product([0, 1], repeat=4):
            rates = np.where(np.reshape(ends, (2, 2)), high, low)
            value = metric.value(np.array([[1 - positive], [positive]]) * rates)
            values.append(sign * value)
    assert sign * found <= np.nanmin(values) + 1e-9
    if metric.head in {"accuracy", "cost"}:
        assert sign * found == pytest.approx(np.nanmin(values), abs=1e-6)


def test_a_certificate_round_trips():
    certificate = certify(Evidence(COUNTS), confidence=0.9, classes=[0, 1])
    again = Certificate.from_dict(certificate.to_dict())
    assert again.to_dict() == certificate.to_dict()
    assert again.worst_case("accuracy") == certificate.worst_case("accuracy")
    assert "sensitivity" in str(certificate)


def test_a_certified_target(clinic, tmp_path):
    abstainer = Abstainer(
        "sensitivity@specificity=0.9",
        target={"sensitivity": 0.9, "specificity": 0.9},
        confidence=0.9,
        calibration="platt",
        scale="logits",
        random_state=0,
    ).fit(clinic.scores_val, clinic.y_val)
    decisions = abstainer.decide(clinic.scores_target)
    certificate = decisions.certificate
    assert certificate.confidence == 0.9
    assert certificate.searched
    assert {name: bound.lower for name, bound in certificate.bounds.items()} == {
        "sensitivity": 0.9,
        "specificity": 0.9,
    }
    kept = ~decisions.abstain
    ill = clinic.y_target == 1
    assert (decisions.prediction[kept & ill] == 1).mean() > 0.87
    assert (decisions.prediction[kept & ~ill] == 0).mean() > 0.87
    # Its own counts pass the exact test, both rates at the level by itself.
    hits, n = certificate.evidence.hits, certificate.evidence.kept
    assert (stats.beta.ppf(0.1, hits, n - hits + 1) >= 0.9).all()
    # And no label is held out.
    assert certificate.evidence.counts.sum() == 6_000
    decisions.policy.save(tmp_path / "policy.json")
    loaded = Policy.load(tmp_path / "policy.json")
    assert loaded.certificate.to_dict() == certificate.to_dict()
    with pytest.raises(ValueError, match="proves its targets and nothing else"):
        certificate.worst_case("accuracy")
    with pytest.raises(ValueError, match="needs no adapting"):
        loaded.adapt(clinic.scores_target)
    assert loaded.adapt(clinic.scores_target, drop_certificate=True).certificate is None


def test_a_number_for_sensitivity_at_specificity_claims_both(clinic):
    decisions = (
        Abstainer(
            "sensitivity@specificity=0.9",
            target=0.85,
            confidence=0.9,
            calibration="platt",
            scale="logits",
            random_state=0,
        )
        .fit(clinic.scores_val, clinic.y_val)
        .decide(clinic.scores_target)
    )
    assert decisions.certificate.bounds["sensitivity"].lower == 0.85
    assert decisions.certificate.bounds["specificity"].lower == 0.9


@pytest.mark.parametrize(
    ("metric", "target", "prior_range"),
    [("balanced-accuracy", 0.88, None), ("auroc", 0.93, None), ("accuracy", 0.85, (0.2, 0.5))],
)
def test_other_certified_targets(clinic, metric, target, prior_range):
    decisions = (
        Abstainer(
            metric,
            target=target,
            confidence=0.9,
            prior_range=prior_range,
            decision="optimal",
            calibration="platt",
            scale="logits",
            random_state=0,
        )
        .fit(clinic.scores_val, clinic.y_val)
        .decide(clinic.scores_target)
    )
    assert decisions.certificate.bounds[metric].lower == target
    kept = ~decisions.abstain
    columns = decisions.policy.rule.predict(decisions.proba)
    observed = decisions.policy.metric.observed(
        clinic.y_target[kept], decisions.proba[kept], prediction=columns[kept]
    )
    assert observed > target - 0.02


def test_a_budget_is_certified_as_it_is(clinic):
    parameters = {"calibration": "platt", "scale": "logits", "random_state": 0}
    decisions = (
        Abstainer("auroc", budget=0.2, confidence=0.95, **parameters)
        .fit(clinic.scores_val, clinic.y_val)
        .decide(clinic.scores_target)
    )
    assert decisions.abstain.sum() == 600
    bounds = decisions.certificate.bounds
    assert list(bounds) == ["sensitivity", "specificity", "balanced-accuracy", "auroc"]
    kept = ~decisions.abstain
    ill = clinic.y_target == 1
    assert bounds["sensitivity"].lower < (decisions.prediction[kept & ill] == 1).mean()
    assert bounds["auroc"].lower < bounds["auroc"].observed


def test_many_classes():
    source = simulate_four_class_normal(4_000, random_state=0)
    decisions = (
        Abstainer("accuracy", budget=0.2, confidence=0.9, calibration="bcts", random_state=0)
        .fit(source.proba, np.array(["a", "b", "c", "d"])[source.y])
        .decide(source.proba)
    )
    assert list(decisions.certificate.bounds) == [
        "recall:d",
        "recall:c",
        "recall:b",
        "recall:a",
        "balanced-accuracy",
    ]
    assert 0 < decisions.certificate.worst_case("accuracy", ([0.1] * 4, [0.6] * 4)) < 1


def test_too_few_labels_say_how_many_are_needed(clinic):
    abstainer = Abstainer(
        "auroc",
        target={"sensitivity": 0.95, "specificity": 0.95},
        confidence=0.95,
        calibration="platt",
        scale="logits",
        random_state=0,
    ).fit(clinic.scores_val[:300], clinic.y_val[:300])
    with pytest.raises(
        TargetUnreachable, match=r"about [\d,]+ labelled examples .* there are 300"
    ):
        abstainer.decide(clinic.scores_target)


def test_what_no_number_of_labels_certifies(clinic):
    noise = np.random.default_rng(0).normal(size=2_000)
    abstainer = Abstainer(
        "auroc", target=0.9, confidence=0.9, calibration="platt", shift="none", scale="logits"
    ).fit(noise, np.arange(2_000) % 2)
    with pytest.raises(TargetUnreachable, match="no number of labels"):
        abstainer.decide(noise)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"confidence": 1.0}, ValueError, "`confidence` must be between 0 and 1"),
        ({"confidence": True}, TypeError, "`confidence` must be a number"),
        ({"prior_range": (0.1, 0.2)}, ValueError, "`prior_range` is for a certificate"),
    ],
)
def test_bad_parameters(clinic, parameters, error, message):
    settings = {"budget": 0.1, "calibration": "platt", "scale": "logits"}
    with pytest.raises(error, match=message):
        Abstainer("auroc", **settings, **parameters).fit(clinic.scores_val, clinic.y_val)


def test_a_certificate_needs_labels_and_equal_weights(clinic):
    abstainer = Abstainer("auroc", budget=0.1, confidence=0.9, calibration="platt", scale="logits")
    y = np.zeros(6_000, dtype=int)
    y[0] = 1
    with pytest.raises(ValueError, match="at least two of each class; class 1 has 1"):
        abstainer.fit(clinic.scores_val, y)
    with pytest.raises(ValueError, match="do not go together"):
        abstainer.fit(clinic.scores_val, clinic.y_val, np.arange(6_000))


@pytest.mark.parametrize(
    ("prior_range", "message"),
    [
        (0.3, "must be a pair"),
        (([0.1, 0.2, 0.3], [1, 1, 1]), "each of the 2 classes"),
        ((0.5, 0.2), "low before high"),
        (([0.8, 0.8], [0.9, 0.9]), "sum to 1"),
    ],
)
def test_bad_prior_ranges(prior_range, message):
    with pytest.raises(ValueError, match=message):
        certify(Evidence(COUNTS), confidence=0.9, classes=[0, 1]).worst_case("f1", prior_range)
