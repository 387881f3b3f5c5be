"""Predictions that serve the metric: what ``decision="auto"`` predicts, and when."""

import numpy as np
import pytest

from abstain import Abstainer, Policy
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.metrics import F1, Accuracy, BalancedAccuracy, ConfusionMetric, Precision, Recall, get
from abstain.rules import Argmax, BestGain, Threshold
from abstain.selection import Selection
from abstain.summaries import LabelledSummary, RowSummary


def rare(n=6000, seed=0, prevalence=0.03, separation=0.9):
    """Return labels and logits of a weak classifier of a rare class, calibrated."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < prevalence).astype(int)
    x = rng.normal(separation * y)
    logit = np.log(prevalence / (1 - prevalence)) + separation * x - separation**2 / 2
    return y, logit


def decided(metric, seed=0, **options):
    (y_val, val), (y, logit) = rare(seed=seed), rare(seed=seed + 100)
    abstainer = Abstainer(
        metric, calibration="platt", shift="none", scale="logits", random_state=0,
        **{"budget": 0.2, **options},
    )  # fmt: skip
    return y, abstainer.fit(val, y_val).decide(logit)


def rates(y, decisions):
    """Return sensitivity and specificity of the kept predictions."""
    kept = ~decisions.abstain
    right = decisions.prediction[kept] == y[kept]
    return right[y[kept] == 1].mean(), right[y[kept] == 0].mean()


@pytest.mark.parametrize("score", [None, "max-probability", "class-thresholds"])
def test_kept_predictions_have_the_specificity_asked_for(score):
    rng = np.random.default_rng(0)
    y_val, y = (rng.random((2, 8000)) < 0.5).astype(int)
    val, logit = (rng.normal(2 * labels - 1.0, 1.4) for labels in (y_val, y))
    found = {}
    for decision in ("auto", "argmax"):
        abstainer = Abstainer(
            "sensitivity@specificity=0.98", budget=0.1, score=score, decision=decision,
            calibration="platt", scale="logits", random_state=0,
        )  # fmt: skip
        found[decision] = rates(y, abstainer.fit(val, y_val).decide(logit))[1]
    assert found["auto"] == pytest.approx(0.98, abs=0.008)
    assert found["argmax"] < 0.95


@pytest.mark.parametrize(
    ("name", "least"), [("f1", 0.12), ("fbeta:2", 0.2), ("balanced-accuracy", 0.65)]
)
def test_a_rare_class_is_predicted_by_default(name, least):
    metric = get(name)
    y, auto = decided(name)
    _, argmax = decided(name, decision="argmax")

    def realised(decisions):
        kept = ~decisions.abstain
        return metric.observed(y[kept], decisions.proba[kept], prediction=decisions.columns[kept])

    assert isinstance(auto.choice.rule, Threshold)
    assert realised(auto) > least
    assert realised(argmax) <= (0.51 if name == "balanced-accuracy" else 0.02)
    assert auto.estimate.after.value == pytest.approx(realised(auto), abs=0.1)


def test_what_is_predicted_for_which_metric():
    p = 1 / (1 + np.exp(-rare()[1]))
    served = {
        "sensitivity@specificity=0.9": Threshold,
        "specificity@sensitivity=0.9": Threshold,
        "precision@recall=0.5": Threshold,
        "recall@precision=0.1": Threshold,
        "net-benefit=0.1": Threshold,
        "auroc": Argmax,
        "average-precision": Argmax,
        "accuracy": Argmax,
        "error-rate": Argmax,
        "precision": Argmax,
        "precision:macro": Argmax,
        "recall": Argmax,
        "recall:macro": Threshold,
        "f1": Threshold,
        "f1:macro": Threshold,
        "jaccard": Threshold,
        "mcc": Threshold,
        "kappa": Threshold,
        "cost:[[0,1],[9,0]]": Threshold,
        "top-k=1": Argmax,
    }
    assert {name: type(get(name).choose(p, 100).rule) for name in served} == served


def test_a_cost_is_served_by_the_rule_of_bayes():
    p = rare()[1]
    rule = get("cost:[[0,1],[9,0]]").choose(1 / (1 + np.exp(-p)), 0).rule
    assert rule.threshold == pytest.approx(0.1)


def test_many_classes_get_a_rule_of_gains():
    proba = simulate_four_class_normal(1500, random_state=0).proba
    assert isinstance(get("kappa:quadratic").choose(proba, 100).rule, BestGain)


def test_auto_is_what_it_says_it_chose():
    p = 1 / (1 + np.exp(-rare()[1]))
    for metric in (F1(), BalancedAccuracy(), Accuracy(), Recall(), Precision()):
        columns, out = metric.choose(p, 600).apply(np.column_stack([1 - p, p]))
        either = [
            choice.apply(np.column_stack([1 - p, p]))
            for choice in (metric.choose(p, 600, decision=way) for way in ("argmax", "optimal"))
        ]
        assert any((columns == c).all() and (out == o).all() for c, o in either)


def test_a_little_gain_is_not_worth_a_rule():
    # Of well separated classes the best threshold for F1 is next to one half.
    p = np.concatenate([np.linspace(0.001, 0.02, 500), np.linspace(0.98, 0.999, 500)])
    assert isinstance(F1().choose(p, 50).rule, Argmax)


def test_a_metric_of_one_kind_of_error_is_not_served_by_dropping_a_class():
    def specificity(C):
        return C[0, 0] / C[0].sum()

    p = np.linspace(0.05, 0.95, 400)
    metric = ConfusionMetric(specificity)
    assert isinstance(metric.choose(p, 40).rule, Argmax)
    assert not metric.choose(p, 40, decision="optimal").rule.predict(p).any()


def test_labels_have_the_last_word():
    y, logit = rare()
    p = 1 / (1 + np.exp(-logit))
    proba = np.column_stack([1 - p, p])
    same = np.ones(2)
    selection = Selection(budget=0.1)
    agreeing = LabelledSummary(proba, y)
    rule = selection.choose(F1(), RowSummary(proba), labelled=agreeing, weights=same).rule
    assert isinstance(rule, Threshold)
    # The same scores of labels that only the highest tell: the threshold is far too low there.
    denying = LabelledSummary(proba, (p > 0.5).astype(int))
    for score in (None, "max-probability"):
        selection = Selection(budget=0.1, score=score)
        rule = selection.choose(F1(), RowSummary(proba), labelled=denying, weights=same).rule
        assert isinstance(rule, Argmax)
        rule = selection.choose(F1(), RowSummary(proba)).rule
        assert isinstance(rule, Threshold)


def test_adapting_keeps_argmax_where_that_was_chosen():
    _, decisions = decided("accuracy")
    assert decisions.policy.selection.decision == "argmax"
    _, decisions = decided("f1")
    assert decisions.policy.selection.decision == "auto"
    assert isinstance(decisions.policy.adapt(rare(seed=7)[1]).rule, Threshold)


@pytest.mark.parametrize("score", ["max-probability", "random", "class-thresholds"])
@pytest.mark.parametrize("mode", [{"budget": 0.1}, {"target": 0.12}])
def test_a_score_leaves_rows_that_are_predicted_for_the_metric(score, mode):
    metric = "f1"
    _, decisions = decided(metric, score=score, **({"budget": None} | mode))
    assert isinstance(decisions.choice.rule, Threshold)
    _, plain = decided(metric, score=score, budget=0.1, decision="argmax")
    assert isinstance(plain.choice.rule, Argmax)


def test_the_rule_is_in_the_policy_and_the_frame(tmp_path):
    clinic = screening_clinic(500, 500, random_state=0)
    abstainer = Abstainer(
        "sensitivity@specificity=0.9", budget=0.1, calibration="platt", scale="logits",
        random_state=0,
    )  # fmt: skip
    decisions = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)
    threshold = decisions.choice.rule.threshold
    assert f"predicts positive from p >= {threshold:.4g}" in repr(decisions.policy)
    decisions.policy.save(tmp_path / "policy.json")
    again = Policy.load(tmp_path / "policy.json")
    assert again.rule.threshold == threshold
    assert again.selection.decision == "auto"
    assert (again.apply(clinic.scores_target).prediction == decisions.prediction).all()
    frame = decisions.to_frame()
    assert (np.asarray(frame["threshold"]) == threshold).all()
    by_rank = Abstainer("auroc", budget=0.1, scale="logits").fit(clinic.scores_val, clinic.y_val)
    assert "threshold" not in by_rank.decide(clinic.scores_target).to_frame()


@pytest.mark.parametrize("decision", ["argmax", "optimal"])
def test_a_selection_of_an_older_policy_is_read(decision):
    data = {"budget": 0.1, "target": None, "cost": None, "score": None, "decision": decision}
    assert Selection.from_dict(data).decision == decision
