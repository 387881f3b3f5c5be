"""What a rule does at its own threshold: estimated without labels, and held to them."""

import numpy as np
import pytest

from abstain import Abstainer
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.evaluation import evaluate, operating_point

SHARES = ("sensitivity", "specificity", "ppv", "npv")


def decided(clinic, metric="specificity@sensitivity=0.95", **settings):
    how = {"budget": 0.1, "calibration": "platt", "scale": "logits", "random_state": 0}
    abstainer = Abstainer(metric, **(how | settings))
    return abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)


def realised(decisions, y):
    """The shares and the missed, counted."""
    kept = ~decisions.abstain
    true, called = y[kept] == 1, decisions.prediction[kept] == 1
    hits, cleared = (true & called).sum(), (~true & ~called).sum()
    among = true.sum(), (~true).sum(), called.sum(), (~called).sum()
    shares = [part / n for part, n in zip((hits, cleared, hits, cleared), among, strict=True)]
    return [*shares, (true & ~called).sum()]


@pytest.fixture(scope="module")
def clinic():
    return screening_clinic(1_500, 1_500, random_state=3)


def test_evaluate_counts_the_predictions_as_they_were_made(clinic):
    decisions = decided(clinic)
    found = evaluate(decisions, clinic.y_target)
    wanted = dict(zip((*SHARES, "missed"), realised(decisions, clinic.y_target), strict=True))
    for name, value in wanted.items():
        one = found.at_threshold[name]
        assert one.kept == pytest.approx(value)
        assert one.kept_interval[0] <= value <= one.kept_interval[1]
    text = found.to_text()
    assert "At the rule's own threshold" in text
    assert "specificity@sensitivity=0.95 above is at the best threshold of these rows" in text
    facts = found.to_dict()
    assert facts["at_threshold"]["missed"]["kept"] == wanted["missed"]
    assert facts["estimated_at_threshold"]["asked"]["share"] == "sensitivity"


def test_the_same_value_is_promised_and_deployed(clinic):
    """At the rule's own threshold the estimate is of the predictions that the rule makes."""
    decisions = decided(clinic)
    point, value = operating_point(decisions), realised(decisions, clinic.y_target)
    for name, true in zip(SHARES, value, strict=False):
        assert point.shares[name].after.value == pytest.approx(true, abs=0.1)
    assert point.missed.after.holds(value[-1])
    assert point.threshold == decisions.choice.rule.threshold


@pytest.mark.parametrize(
    ("metric", "asked"),
    [
        ("sensitivity@specificity=0.9", ("specificity", 0.9)),
        ("precision@recall=0.8", ("sensitivity", 0.8)),
        ("recall@precision=0.7", ("ppv", 0.7)),
        ("auroc", None),
        ("f1", None),
    ],
)
def test_it_says_how_sure_the_level_is_that_the_metric_is_had_at(clinic, metric, asked):
    point = operating_point(decided(clinic, metric))
    assert point.asked == asked
    assert (point.reached is None) == (asked is None)
    if asked is not None:
        assert 0.02 < point.reached < 0.98


def test_it_is_said_where_all_kept_rows_get_one_class(clinic):
    point = operating_point(decided(clinic, "recall", budget=None, target=0.999))
    if point.one_class is not None:
        assert point.to_dict()["all_kept_are"] == str(point.one_class)
    everybody = decided(clinic, "accuracy", budget=0.0)
    assert operating_point(everybody).one_class is None
    one = everybody.judged(abstain=everybody.prediction == 0)
    assert operating_point(one).one_class == 1
    assert np.isnan(operating_point(one).shares["npv"].after.value)


def test_of_many_classes_or_without_a_positive_one_there_is_none():
    known, new = (simulate_four_class_normal(500, random_state=k) for k in (0, 1))
    abstainer = Abstainer("accuracy", budget=0.1, calibration="temperature", random_state=0)
    many = abstainer.fit(known.proba, known.y).decide(new.proba)
    assert operating_point(many) is None
    assert evaluate(many, new.y).at_threshold == {}


@pytest.mark.slow
def test_its_intervals_hold_as_often_as_they_say():
    """Of 90% intervals over simulated clinics, at least 84% held (three standard errors)."""
    held = []
    for seed in range(200):
        clinic = screening_clinic(1_000, 1_000, random_state=seed)
        decisions = decided(clinic)
        point, value = operating_point(decisions), realised(decisions, clinic.y_target)
        found = [*(point.shares[name].after for name in SHARES), point.missed.after]
        held.append([one.holds(true) for one, true in zip(found, value, strict=True)])
    assert (np.mean(held, axis=0) > 0.84).all()
