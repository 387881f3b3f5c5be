"""What version 0.1 did wrong where two features met: one test each, stating what is right."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from abstain import Abstainer, AbstainingClassifier, Cost, metrics
from abstain.datasets import screening_clinic
from abstain.metrics import ExpectedCost, WeightedKappa
from abstain.report import Report

from .cells import CALLABLE, DROPOUT, Cell, batch, decided


def width(interval):
    return interval[1] - interval[0]


def blobs(n, positive_rate, seed):
    """Two overlapping clouds of points, and the class of each."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < positive_rate).astype(int)
    return rng.normal(size=(n, 2)) + 1.5 * y[:, None], y


def test_dropout_variance_has_gains_and_a_frame():
    decisions = decided(Cell("two", "accuracy", DROPOUT))
    gain, abstain = decisions.gain, decisions.abstain
    assert gain.shape == abstain.shape
    assert gain[abstain].min() >= gain[~abstain].max() >= 0
    frame = decisions.to_frame()
    assert frame["abstain"].tolist() == abstain.tolist()
    assert frame["gain"].tolist() == gain.tolist()


def test_a_score_of_the_users_own_has_a_report():
    decisions, data = decided(Cell("two", "accuracy", CALLABLE)), batch("two")
    report = Report(decisions, scores_val=data.scores_val, y_val=data.y_val)
    facts = json.loads(report.to_json())
    assert facts["steps"][facts["chosen"]]["withheld"] == decisions.abstain.sum()
    assert facts["trust"]["back_test"]["points"]


def test_the_policy_of_a_fitted_classifier_adapts():
    X, y = blobs(600, 0.5, seed=0)
    classifier = AbstainingClassifier(
        LogisticRegression(), "accuracy", budget=0.1, calibration="platt", random_state=0
    ).fit(X, y)
    assert classifier.policy_.priors[1] == pytest.approx(y.mean(), abs=0.01)
    recent, y_recent = blobs(600, 0.15, seed=1)
    adapted = classifier.policy_.adapt(classifier.estimator_.predict_proba(recent))
    assert adapted.priors[1] == pytest.approx(y_recent.mean(), abs=0.06)


def facts_of_few_labels(metric, *, shift, n_target, n_val=300):
    """Return a report's facts where few validation rows leave much open about calibration."""
    clinic = screening_clinic(n_val, n_target, random_state=0)
    abstainer = Abstainer(
        metric,
        budget=0.15,
        calibration="platt",
        shift=shift,
        scale="logits",
        random_state=0,
    )
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    return Report(decisions, scores_val=clinic.scores_val, y_val=clinic.y_val).facts


def test_all_steps_of_a_report_have_intervals_of_one_kind():
    facts = facts_of_few_labels("f1", shift="em", n_target=1_000)
    chosen = facts["steps"][facts["chosen"]]
    near = [step for step in facts["steps"] if abs(step["rate"] - chosen["rate"]) < 0.03]
    assert len(near) >= 5
    for step in near:
        assert width(step["interval"]) == pytest.approx(width(chosen["interval"]), rel=0.25)


def test_the_back_test_has_the_intervals_it_tests():
    # No shift is estimated, so all that can widen an interval is what labelled rows leave open.
    facts = facts_of_few_labels("accuracy", shift="none", n_target=500)
    for point in facts["trust"]["back_test"]["points"]:
        by_labels_alone = 2 * 1.645 * np.sqrt(0.25 * 0.75 / point["rows"])
        assert width(point["interval"]) > 0.3 * by_labels_alone


@pytest.mark.parametrize("mode", [{"target": 0.9}, {"cost": Cost(0.1)}], ids=["target", "cost"])
def test_a_classifier_takes_one_of_budget_target_and_cost(mode):
    X, y = blobs(300, 0.5, seed=0)
    classifier = AbstainingClassifier(LogisticRegression(), "accuracy", budget=0.2, **mode)
    if "target" in mode:  # which a budget may cap
        assert classifier.fit(X, y).predict(X).shape == (300,)
    else:
        with pytest.raises(ValueError, match="exactly one of `budget`, `target`, `cost`"):
            classifier.fit(X, y)
    # Without a budget of the user's the default gives way.
    alone = AbstainingClassifier(LogisticRegression(), "accuracy", calibration="platt", **mode)
    assert alone.fit(X, y).policy_.classes.tolist() == [0, 1]
    assert alone.budget is None


def test_the_registry_has_each_metric_once():
    names = [name for name, _ in metrics.summaries()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (ExpectedCost([[0, 1], [5, 0]]), "cost:[[0,1],[5,0]]"),
        (ExpectedCost([[0, 0.5], [2.25, -1]]), "cost:[[0,0.5],[2.25,-1]]"),
        (WeightedKappa([[0, 1], [2, 0]]), "kappa:[[0,1],[2,0]]"),
    ],
    ids=["cost", "cost-of-fractions", "kappa"],
)
def test_a_matrix_is_part_of_the_name_of_a_metric(metric, name):
    proba = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]])
    assert metrics.get(metric) is metric
    assert json.loads(metric.name.split(":")[1]) == json.loads(name.split(":")[1])
    for again in (metrics.get(metric.name), metrics.get(name)):
        assert type(again) is type(metric)
        assert again.expected(proba) == metric.expected(proba)
        assert again.name == metric.name


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_a_whole_weight_is_repetition_in_intervals_too(metric):
    clinic = screening_clinic(250, 500, random_state=0)
    times = 8
    abstainer = Abstainer(
        metric,
        budget=0.15,
        calibration="platt",
        scale="logits",
        random_state=0,
    )
    abstainer.fit(clinic.scores_val, clinic.y_val, np.full(250, times))
    weighted = abstainer.decide(clinic.scores_target, np.full(500, times)).estimate
    abstainer.fit(np.tile(clinic.scores_val, times), np.tile(clinic.y_val, times))
    repeated = abstainer.decide(np.tile(clinic.scores_target, times)).estimate
    for one, other in ((weighted.before, repeated.before), (weighted.after, repeated.after)):
        assert one.value == pytest.approx(other.value, abs=0.1 * width(other.interval))
        # Few resamples make a width uncertain; taken for single rows it is nearly three times.
        assert width(one.interval) == pytest.approx(width(other.interval), rel=0.4)


@pytest.mark.parametrize("classes", ["two", "four"])
def test_automatic_calibration_is_exported_at_once(classes):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    data = batch(classes)
    how = {"scale": data.scale, "positive": data.positive, "random_state": 0}
    decisions = (
        Abstainer("accuracy", budget=0.15, **how)
        .fit(data.scores_val, data.y_val)
        .decide(data.scores)
    )
    columns = data.scores.reshape(len(data.scores), -1)
    model = decisions.policy.to_onnx(columns=columns.shape[1])
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    prediction, abstain = session.run(["prediction", "abstain"], {"scores": columns})
    assert prediction.tolist() == decisions.prediction.tolist()
    assert abstain.tolist() == decisions.abstain.tolist()


@pytest.mark.parametrize("metric", ["sensitivity@specificity=0.9", "f1", "accuracy"])
def test_one_withheld_row_has_an_estimate_that_is_not_defined(metric):
    decisions = decided(Cell("two", metric, "own"))
    row = np.flatnonzero(decisions.abstain)[:1]
    one = decisions.policy.apply(batch("two").scores[row])
    assert one.abstain.tolist() == [True]
    after = one.estimate.after
    assert np.isnan([after.value, *after.interval]).all()
    assert str(after) == "not defined"


@pytest.mark.parametrize("metric", ["sensitivity@specificity=0.9", "auroc", "kappa:quadratic"])
def test_one_kept_row_has_an_estimate_that_is_whole_or_not_defined(metric):
    decisions = decided(Cell("two", metric, "own"))
    row = np.flatnonzero(~decisions.abstain)[:1]
    estimate = decisions.policy.apply(batch("two").scores[row]).estimate
    for found in (estimate.before, estimate.after):
        undefined = np.isnan([found.value, *found.interval])
        assert undefined.all() or not undefined.any()
        assert str(found)
