"""A policy with a metric or a score of one's own: saved with a warning, applied without it."""

import json
import warnings

import numpy as np
import pytest

from abstain import Abstainer, Policy, metrics, scores
from abstain.datasets import screening_clinic
from abstain.evaluation import evaluate
from abstain.exceptions import PolicyError
from abstain.metrics import Accuracy, BaseConfusionMetric, ConfusionMetric, SampledMetric

CLINIC = screening_clinic(800, 800, random_state=0)


def profit(C):
    return (5 * C[1, 1] - C[0, 1]) / C.sum()


def squared_error(y, p):
    return float(((y - p) ** 2).mean())


def doubt(proba):
    return 1 - proba.max(axis=1)


class Caution(BaseConfusionMetric):
    head = "caution"
    greater_is_better = False

    def value(self, confusion):
        return float(confusion[1, 0] / confusion.sum())


class Stricter(Accuracy):
    """Its name is that of the built-in metric; it is another one."""

    def value(self, confusion):
        return 2 * super().value(confusion) - 1


OWN = {
    "confusion": lambda: ConfusionMetric(profit),
    "sampled": lambda: SampledMetric(squared_error, greater_is_better=False, n_samples=5),
    "class": Caution,
    "name-of-another": Stricter,
}


pytestmark = pytest.mark.usefixtures("forget")


def decided(metric, **options):
    options = {"budget": 0.1, "shift": "em"} | options
    abstainer = Abstainer(metric, calibration="platt", scale="logits", random_state=0, **options)
    return abstainer.fit(CLINIC.scores_val, CLINIC.y_val).decide(CLINIC.scores_target)


@pytest.fixture(params=OWN)
def saved(request, tmp_path):
    metric = OWN[request.param]()
    decisions = decided(metric)
    with pytest.warns(UserWarning, match=r"adapt\(\) need abstain.metrics.register"):
        decisions.policy.save(tmp_path / "own.json")
    return metric, decisions, tmp_path / "own.json"


def test_it_decides_without_its_metric_to_the_last_bit(saved):
    metric, decisions, path = saved
    policy = Policy.load(path)
    again = policy.apply(CLINIC.scores_target)
    assert (again.abstain == decisions.abstain).all()
    assert (again.prediction == decisions.prediction).all()
    assert (again.proba == decisions.proba).all()
    assert policy.sha256 == decisions.policy.sha256
    assert policy.estimate == decisions.policy.estimate
    assert policy.metric.greater_is_better == metric.greater_is_better
    assert metric.name in repr(policy)
    assert metric.name in repr(again)


def test_what_needs_the_metric_says_what_to_register(saved):
    metric, _, path = saved
    policy = Policy.load(path)
    again = policy.apply(CLINIC.scores_target)
    message = rf"metric '{metric.name}' .* Call abstain.metrics.register\(metric\)"
    with pytest.raises(PolicyError, match=message):
        _ = again.estimate
    with pytest.raises(PolicyError, match=message):
        policy.adapt(CLINIC.scores_target)
    with pytest.raises(PolicyError, match=message):
        evaluate(again, CLINIC.y_target)


def test_the_frame_has_a_gain_or_says_why_not(saved):
    _, decisions, path = saved
    again = Policy.load(path).apply(CLINIC.scores_target)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        frame = again.to_frame()
    if decisions.choice.region.score(decisions.compact, decisions.columns) is None:
        assert np.isnan(frame["gain"]).all()
        assert "`gain` is NaN" in str(heard[0].message)
    else:
        assert (frame["gain"] == decisions.gain).all()
        assert not heard
    assert (frame["abstain"] == decisions.abstain).all()


def test_registered_it_has_everything(saved, tmp_path):
    metric, decisions, path = saved
    if metric.name == "accuracy":
        with pytest.raises(ValueError, match="taken by a built-in metric"):
            metrics.register(metric)
        return
    metrics.register(metric)
    policy = Policy.load(path)
    assert policy.metric is metric
    again = policy.apply(CLINIC.scores_target)
    assert again.estimate.after.value == pytest.approx(decisions.estimate.after.value, abs=0.05)
    assert np.isfinite(again.gain).all()
    assert policy.adapt(CLINIC.scores_target).metric is metric
    # Elsewhere it will not be registered, so the warning stays.
    with pytest.warns(UserWarning, match="is your own"):
        policy.save(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads(path.read_text())


def test_a_policy_of_an_unknown_metric_is_saved_as_it_was(saved, tmp_path):
    _, _, path = saved
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Policy.load(path).save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == path.read_text()


def test_a_built_in_metric_warns_of_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decided("auroc").policy.save(tmp_path / "policy.json")


def test_onnx_needs_no_metric(saved):
    pytest.importorskip("onnx")
    _, decisions, path = saved
    assert Policy.load(path).to_onnx() == decisions.policy.to_onnx()


def test_a_score_of_ones_own_must_be_registered_to_decide(tmp_path):
    decisions = decided("auroc", score=doubt)
    assert len(decisions.policy.sha256) == 64
    with pytest.warns(UserWarning, match=r"call abstain.scores.register\(function, 'doubt'\)"):
        decisions.policy.save(tmp_path / "own.json")
    policy = Policy.load(tmp_path / "own.json")
    assert "a score of your own" in repr(policy)
    for call in (policy.apply, policy.adapt):
        with pytest.raises(PolicyError, match=r"scores.register\(function, 'doubt'\)"):
            call(CLINIC.scores_target)
    scores.register(doubt)
    assert (policy.apply(CLINIC.scores_target).abstain == decisions.abstain).all()
    assert policy.adapt(CLINIC.scores_target).region.threshold == pytest.approx(
        decisions.policy.region.threshold
    )


def test_a_score_of_ones_own_named_like_another_is_not_that_other(tmp_path):
    def entropy(proba):
        return -np.abs(proba[:, 0] - 0.3)

    with pytest.warns(UserWarning, match="your own score"):
        decided("auroc", score=entropy).policy.save(tmp_path / "own.json")
    with pytest.raises(PolicyError, match="cannot decide"):
        Policy.load(tmp_path / "own.json").apply(CLINIC.scores_target)


def test_a_score_registered_by_name_warns_too(tmp_path):
    scores.register(doubt)
    with pytest.warns(UserWarning, match="your own score"):
        decided("auroc", score="doubt").policy.save(tmp_path / "own.json")
