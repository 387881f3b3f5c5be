"""Intervals of realised values: how often they hold, and what they are of few rows."""

import numpy as np
import pytest

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.evaluation import evaluate
from abstain.evaluation._intervals import JudgedRows, realised_interval
from abstain.metrics import F1, Accuracy, SampledMetric, get
from abstain.rules import Argmax


def rows(n, rng, slope=2.0):
    """Rows of a classifier that is not calibrated; accuracy and auROC are those of many."""
    y = (rng.random(n) < 0.3).astype(np.intp)
    p = 1 / (1 + np.exp(-(slope * (y - 0.5) + rng.standard_normal(n))))
    return y, np.column_stack([1 - p, p])


def interval(metric, y, proba, **settings):
    prediction = Argmax().predict(proba)
    judged = JudgedRows(y, proba, prediction, settings.pop("weight", None))
    how = {"level": 0.9, "seed": 0, **settings}
    return realised_interval(metric, judged.value(metric), judged, **how)


@pytest.mark.parametrize("n", [40, 300])
@pytest.mark.parametrize("name", ["accuracy", "auroc", "f1", "sensitivity@specificity=0.8"])
def test_they_hold_about_as_often_as_they_say(name, n):
    metric = get(name)
    rng = np.random.default_rng(1)
    many, proba = rows(200_000, rng)
    truth = metric.observed(many, proba, prediction=Argmax().predict(proba))
    held = 0
    for seed in range(150):
        low, high = interval(metric, *rows(n, rng), seed=seed)
        held += low <= truth <= high
    assert held / 150 >= 0.82


def test_few_rows_without_an_error_are_not_certain():
    y = np.array([0] * 6 + [1] * 6)
    proba = np.column_stack([1 - (p := np.where(y == 1, 0.9, 0.1)), p])
    for name in ("accuracy", "auroc", "f1", "kappa"):
        low, high = interval(get(name), y, proba)
        assert 0.2 < low < 0.97
        assert high == 1.0


def test_a_weight_is_a_repetition():
    y, proba = rows(60, np.random.default_rng(0))
    weight = np.where(np.arange(60) < 30, 2.0, 1.0)
    again = np.r_[np.arange(60), np.arange(30)]
    for metric in (Accuracy(), F1()):
        once = interval(metric, y, proba, weight=weight)
        twice = interval(metric, y[again], proba[again])
        assert once == pytest.approx(twice, abs=0.02)


def test_any_function_of_labels_has_one():
    metric = SampledMetric(lambda y, p: float(np.mean((p > 0.5) == y)), name="own")
    y, proba = rows(120, np.random.default_rng(0))
    assert interval(metric, y, proba) == pytest.approx(interval(Accuracy(), y, proba), abs=0.03)


def test_a_value_that_is_not_defined_has_none():
    y, proba = np.zeros(8, dtype=np.intp), np.full((8, 2), 0.5)
    assert np.isnan(interval(get("auroc"), y, proba)).all()


def test_they_are_on_every_part_and_hold_its_value():
    clinic = screening_clinic(1_000, 1_000, random_state=0)
    abstainer = Abstainer("auroc", budget=0.2, calibration="platt", scale="logits", random_state=0)
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    found = evaluate(decisions, clinic.y_target, metrics=("accuracy",))
    for one in found.realised.values():
        assert one.level == 0.9
        for part in ("all", "kept", "withheld"):
            low, high = getattr(one, f"{part}_interval")
            assert low < getattr(one, part) < high
    wider = evaluate(decisions, clinic.y_target, level=0.99).realised["auroc"]
    assert wider.kept_interval[0] < found.realised["auroc"].kept_interval[0]
    assert found.to_dict()["realised"]["auroc"]["kept_interval"] == list(
        found.realised["auroc"].kept_interval
    )
    again = evaluate(decisions, clinic.y_target).realised["auroc"]
    assert again == found.realised["auroc"]
    with pytest.raises(ValueError, match="level"):
        evaluate(decisions, clinic.y_target, level=2)
