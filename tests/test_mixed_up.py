"""Scores, probabilities, decisions and functions in each other's place are caught by name."""

import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import abstain
from abstain import Abstainer, AbstainingClassifier, Cost, calibration, metrics, scores, shift
from abstain.datasets import screening_clinic
from abstain.evaluation import Dataset, compare, evaluate, risk_coverage
from abstain.exceptions import AssumptionWarning
from abstain.metrics import AUROC
from abstain.monitoring import RateController

N = 200
CLINIC = screening_clinic(N, N, random_state=1)
Y = CLINIC.y_val
LOGITS = CLINIC.scores_val
P = 1 / (1 + np.exp(-LOGITS))
PROBA = np.column_stack([1 - P, P])
TWO_LOGITS = np.column_stack([np.zeros(N), LOGITS])
HOW = {"budget": 0.1, "calibration": "platt", "shift": "none", "random_state": 0}
FITTED = Abstainer("accuracy", **HOW).fit(P, Y)
DECISIONS = FITTED.decide(P)
POLICY = DECISIONS.policy
EM = shift.get("em").fit(PROBA, PROBA)
PLATT = calibration.PlattScaling().fit(P, Y)
DRAWS = {"n_draws": 2, "seed": 0}


def compared(scores_val, scores_target):
    data = Dataset(scores_val, Y, scores_target, Y)
    return compare(["random"], data, "accuracy", [0.1], repeats=1, progress=False)


def drawn(kind, *data, **options):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    display = getattr(pytest.importorskip("abstain.plots"), kind)
    return display.from_predictions(*data, **options)


NONE = np.zeros(N, dtype=bool)
#: Each takes probabilities, or the scores that an abstainer of probabilities was fitted on.
TAKE_PROBABILITIES = {
    "scores.max_probability": scores.max_probability,
    "scores.distance_from_half": scores.distance_from_half,
    "scores.entropy": scores.entropy,
    "scores.margin": scores.margin,
    "scores.random_order": lambda p: scores.random_order(p, seed=0),
    "scores.js_divergence": lambda p: scores.js_divergence(p, priors=[0.5, 0.5]),
    "scores.dropout_variance": lambda p: scores.dropout_variance([p, p]),
    "scores.dropout_mean": lambda p: scores.dropout_mean([p], scale="probabilities"),
    "shift.adapt_proba": lambda p: shift.adapt_proba(p, np.array([0.5, 1.5])),
    "shift.transform": EM.transform,
    "shift.fit source": lambda p: shift.get("em").fit(p, PROBA),
    "shift.fit target": lambda p: shift.get("em").fit(PROBA, p),
    "shift.detect_shift source": lambda p: shift.detect_shift(p, PROBA),
    "shift.detect_shift target": lambda p: shift.detect_shift(PROBA, p),
    "shift.check_label_shift source": lambda p: shift.check_label_shift(p, PROBA, Y),
    "shift.check_label_shift target": lambda p: shift.check_label_shift(PROBA, p, Y),
    "calibration.log_loss": lambda p: calibration.log_loss(Y, p),
    "calibration.brier_score": lambda p: calibration.brier_score(Y, p),
    "calibration.expected_calibration_error": lambda p: calibration.expected_calibration_error(
        Y, p
    ),
    "Calibrator.fit": lambda p: calibration.PlattScaling().fit(p, Y),
    "Calibrator.predict_proba": PLATT.predict_proba,
    "Identity.predict_proba": calibration.IdentityCalibration().fit(P, Y).predict_proba,
    "Metric.expected": AUROC().expected,
    "Metric.observed": lambda p: AUROC().observed(Y, p),
    "Metric.choose": lambda p: metrics.get("f1").choose(p, 10),
    "Metric.curve": lambda p: AUROC().curve(p, [0.1]),
    "Metric.draws": lambda p: metrics.get("f1").draws(p, **DRAWS),
    "Cost.choose": Cost(0.1).choose,
    "Abstainer.fit": lambda p: Abstainer("accuracy", **HOW).fit(p, Y),
    "Abstainer.decide": FITTED.decide,
    "Policy.apply": POLICY.apply,
    "Policy.predict_proba": POLICY.predict_proba,
    "Policy.adapt": POLICY.adapt,
    "estimate validation": lambda p: abstain.estimate(p, Y, P, "accuracy", calibration="platt"),
    "estimate batch": lambda p: abstain.estimate(P, Y, p, "accuracy", calibration="platt"),
    "Dataset validation": lambda p: compared(p, P),
    "Dataset target": lambda p: compared(P, p),
    "RateController": lambda p: RateController(POLICY, p, rate=0.1),
    "RateController.decide": lambda p: RateController(POLICY, P, rate=0.1).decide(p),
    "RocAbstentionDisplay": lambda p: drawn("RocAbstentionDisplay", Y, p, NONE),
    "RegionDisplay": lambda p: drawn("RegionDisplay", Y, p, NONE),
    "ConfusionAbstentionDisplay": lambda p: drawn("ConfusionAbstentionDisplay", Y, p, NONE),
    "ReliabilityDisplay": lambda p: drawn("ReliabilityDisplay", Y, p),
    "PriorsDisplay": lambda p: drawn("PriorsDisplay", Y, p, PROBA),
    "AbstentionCurveDisplay": lambda p: drawn(
        "AbstentionCurveDisplay", Y, p, metric="accuracy", budgets=[0.1]
    ),
}
#: What the argument may be called in the message.
NAMED = r"`(scores|scores_val|scores_target|proba|proba_source|proba_target|samples)`"
WRONG = {
    "logits": (LOGITS, r"logits"),
    "logits of each class": (TWO_LOGITS, r"logits"),
    "one column": (P[:, None], "one-dimensional"),
    "three dimensions": (PROBA[None], "shape"),
    "one number": (0.3, "(array|dimension|shape)"),
    "decisions": (DECISIONS, "Decisions, whose probabilities are its `proba`"),
    "a policy": (POLICY, r"Policy, whose probabilities its predict_proba\(\) returns"),
    "a function": (scores.entropy, "the function entropy; call it and pass the result"),
    "text": (np.array(["a"] * N), "numbers"),
    "nothing": (None, "got NoneType"),
    "a score of uncertainty": (3 * scores.entropy(PROBA), "probabilities"),
}


@pytest.mark.parametrize("call", TAKE_PROBABILITIES)
def test_what_is_no_probability_is_refused_by_name(call):
    for wrong, (given, message) in WRONG.items():
        with pytest.raises((ValueError, TypeError)) as caught:
            TAKE_PROBABILITIES[call](given)
        said = f"{wrong}: {caught.value}"
        assert isinstance(caught.value, ValueError | TypeError), said
        assert re.search(NAMED, said), said
        assert re.search(message, said), said


@pytest.mark.parametrize("call", TAKE_PROBABILITIES)
def test_one_dimension_is_the_positive_class_everywhere(call):
    TAKE_PROBABILITIES[call](P)


def test_scores_of_one_dimension_are_those_of_two():
    for score in (scores.max_probability, scores.distance_from_half, scores.entropy):
        np.testing.assert_array_equal(score(P), score(PROBA))
        np.testing.assert_array_equal(score(P.tolist()), score(PROBA))


def test_a_remedy_is_one_that_can_be_followed():
    with pytest.raises(ValueError, match='pass scale="logits"'):
        Abstainer("accuracy", **HOW).fit(LOGITS, Y)
    with pytest.raises(ValueError, match=r'fitted on probabilities.*fit it with scale="logits"'):
        POLICY.apply(LOGITS)
    with pytest.raises(ValueError, match=r"pass probabilities instead"):
        AUROC().expected(LOGITS)


@pytest.mark.parametrize(
    "call",
    [
        lambda wrong: evaluate(wrong, Y),
        lambda wrong: abstain.plots.RegionDisplay.from_decisions(wrong),
        lambda wrong: abstain.plots.PriorsDisplay.from_decisions(wrong),
        lambda wrong: abstain.plots.AbstentionCurveDisplay.from_decisions(wrong),
        lambda wrong: abstain.report.Report(wrong),
    ],
)
@pytest.mark.parametrize("wrong", [P, POLICY, None])
def test_decisions_are_asked_for_by_name(call, wrong):
    pytest.importorskip("matplotlib")
    import abstain.plots
    import abstain.report  # noqa: F401

    with pytest.raises(TypeError, match=r"`decisions` must be what Abstainer.decide\(\) or Pol"):
        call(wrong)


def test_risk_and_coverage_name_their_arguments():
    with pytest.raises(TypeError, match="`score` must be numbers; got Decisions"):
        risk_coverage(P, DECISIONS)
    with pytest.raises(TypeError, match="`loss` must be numbers; got the function entropy"):
        risk_coverage(scores.entropy, P)


@pytest.fixture(scope="module")
def of_logits():
    return Abstainer("accuracy", **HOW, scale="logits").fit(LOGITS, Y)


def test_probabilities_for_logits_are_warned_of(of_logits, recwarn):
    policy = of_logits.decide(LOGITS).policy
    recwarn.clear()
    for call in (of_logits.decide, policy.apply, policy.adapt):
        with pytest.warns(AssumptionWarning, match=r'in \[0, 1\], though scale="logits"'):
            call(P)
    columns = Abstainer("accuracy", **HOW, scale="logits").fit(TWO_LOGITS, Y)
    with pytest.warns(AssumptionWarning, match='scale="logits"'):
        columns.decide(PROBA)


def test_logits_that_may_be_are_not_warned_of(of_logits, recwarn):
    policy = of_logits.decide(LOGITS).policy
    recwarn.clear()
    policy.apply(P[:99])  # few may all lie there by chance
    policy.predict_proba(P)
    small = Abstainer("accuracy", **HOW, scale="logits").fit(P, Y)  # as the validation logits did
    small.decide(P)
    assert not [w for w in recwarn if "scale=" in str(w.message)]


def profit(y_true, y_score):
    return float(np.mean(y_true))


def of_counts(C):
    return float(C[1, 1])


class Called:
    def __call__(self, *anything):
        return 0.0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (profit, r"got the function profit. Wrap it: abstain.metrics.SampledMetric\(profit\)"),
        (of_counts, r"Wrap it: abstain.metrics.ConfusionMetric\(of_counts\)"),
        (lambda C: 0.0, r"ConfusionMetric\(function\)"),
        (max, r"SampledMetric\(max\) for .* ConfusionMetric\(max\) for one of the confusion m"),
        (Called(), r"SampledMetric\(Called\) for .* ConfusionMetric\(Called\)"),
        (AUROC, r"got the class AUROC. Pass one of it, AUROC\(...\)"),
        (3, "got 3"),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda metric: Abstainer(metric, budget=0.1).fit(P, Y),
        lambda metric: AbstainingClassifier(LogisticRegression(), metric).fit(PROBA, Y),
        lambda metric: abstain.estimate(P, Y, P, metric),
        lambda metric: abstain.estimate(P, Y, P, ["accuracy", metric]),
        lambda metric: evaluate(DECISIONS, Y, metrics=metric),
        lambda metric: evaluate(DECISIONS, Y, metrics=("auroc", metric)),
        metrics.register,
    ],
)
def test_a_function_in_place_of_a_metric_is_told_how_to_be_one(call, function, message):
    with pytest.raises(TypeError, match=message):
        call(function)


def test_functions_of_scikit_learn_are_told_what_they_read():
    from sklearn.metrics import f1_score, make_scorer, roc_auc_score

    with pytest.raises(TypeError, match=r'SampledMetric\(f1_score, reads="prediction"\)'):
        metrics.get(f1_score)
    with pytest.raises(TypeError, match=r"SampledMetric\(roc_auc_score\), with greater_is_better"):
        metrics.get(roc_auc_score)
    with pytest.raises(TypeError, match="got the scorer"):
        metrics.get(make_scorer(f1_score))


def test_one_more_metric_needs_no_tuple():
    assert list(evaluate(DECISIONS, Y, metrics="auroc").realised) == ["accuracy", "auroc"]
