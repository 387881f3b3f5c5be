"""What runs on a GPU, run with NumPy's arrays: the same numbers as the library's own."""

import numpy as np
import pytest

from abstain import Abstainer
from abstain.cuda import apply
from abstain.cuda._arrays import calibrated, made_of, unfit
from abstain.cuda._kernels import logistic_of
from abstain.cuda._rows import sampled
from abstain.summaries import Summary

CALIBRATORS = ["bcts", "dirichlet", "identity", "isotonic", "nbvs", "temperature", "vector"]
OF_TWO = [*CALIBRATORS, "beta", "platt"]
RNG = np.random.default_rng(0)
Y = (RNG.random(800) < 0.4).astype(int)
LOGITS = 2 * Y + RNG.normal(size=800) - 1
Y_OF_FOUR = RNG.integers(4, size=1000)
OF_FOUR = RNG.normal(size=(1000, 4)) + 2 * np.eye(4)[Y_OF_FOUR]
NEW_OF_FOUR = RNG.normal(size=(600, 4)) + 2 * np.eye(4)[RNG.integers(2, size=600)]


def probabilities(logits):
    if logits.ndim == 1:
        return 1 / (1 + np.exp(-logits))
    shares = np.exp(logits)
    return shares / shares.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("calibration", OF_TWO)
@pytest.mark.parametrize(("scale", "columns"), [("logits", 1), ("probabilities", 2)])
def test_two_classes_are_calibrated_as_by_the_library(calibration, scale, columns):
    scores = LOGITS if columns == 1 else np.column_stack([-LOGITS, LOGITS]) / 2
    scores = scores if scale == "logits" else probabilities(scores)
    how = {"calibration": calibration, "scale": scale, "positive": 1}
    fitted = Abstainer("auroc", budget=0.1, **how).fit(scores, Y).calibrator_.picked
    for given in (scores, scores.astype(np.float32)):
        assert calibrated(np, fitted, given) == pytest.approx(fitted.compact(given), abs=1e-12)


@pytest.mark.parametrize("calibration", CALIBRATORS)
def test_four_classes_are_calibrated_as_by_the_library(calibration):
    scores = OF_FOUR
    how = {"calibration": calibration, "scale": "logits"}
    fitted = Abstainer("accuracy", budget=0.1, **how).fit(scores, Y_OF_FOUR)
    fitted = fitted.calibrator_.picked
    assert calibrated(np, fitted, scores) == pytest.approx(fitted.compact(scores), abs=1e-12)


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        ("accuracy", None),
        ("f1:macro", None),
        ("kappa:quadratic", "entropy"),
        ("top-k=2", None),
        ("accuracy", "margin"),
        ("accuracy", "max-probability"),
        ("accuracy", "js-divergence"),
    ],
)
def test_rows_are_withheld_and_predicted_as_by_a_policy(metric, score):
    scores, y = OF_FOUR, Y_OF_FOUR
    how = {"calibration": "bcts", "scale": "logits", "score": score, "random_state": 0}
    decisions = Abstainer(metric, budget=0.2, **how).fit(scores, y).decide(NEW_OF_FOUR)
    policy = decisions.policy
    column = made_of(np, policy, NEW_OF_FOUR, "prediction")
    assert (made_of(np, policy, NEW_OF_FOUR, "abstain") == decisions.abstain).all()
    assert made_of(np, policy, NEW_OF_FOUR, "proba") == pytest.approx(decisions.proba, abs=1e-12)
    assert (policy.classes[column] == decisions.prediction).all()


@pytest.mark.parametrize(
    ("metric", "score"),
    [("auroc", None), ("mcc", None), ("auroc", "distance-from-half"), ("mcc", "class-thresholds")],
)
def test_two_classes_are_withheld_as_by_a_policy(metric, score):
    how = {"calibration": "platt", "scale": "logits", "score": score, "random_state": 0}
    decisions = Abstainer(metric, budget=0.2, **how).fit(LOGITS, Y).decide(LOGITS + 0.3)
    policy = decisions.policy
    column = made_of(np, policy, LOGITS + 0.3, "prediction")
    assert (made_of(np, policy, LOGITS + 0.3, "abstain") == decisions.abstain).all()
    assert (policy.classes[column] == decisions.prediction).all()


def test_the_sample_of_rows_is_that_of_the_library():
    abstainer = Abstainer("accuracy", budget=0.1, calibration="bcts", scale="logits")
    abstainer.fit(OF_FOUR, Y_OF_FOUR)
    proba = abstainer.calibrator_.picked.compact(NEW_OF_FOUR)
    there = abstainer.summariser().of_part(sampled(np, proba), len(proba), 0)
    assert there.to_bytes() == abstainer.summarise(NEW_OF_FOUR).to_bytes()


def test_some_rows_are_picked_as_by_the_library(monkeypatch):
    proba = probabilities(RNG.normal(size=(900, 4)))
    monkeypatch.setattr("abstain.summaries._sample._MOST_ROWS", 100)
    found = Summary.of_part(sampled(np, proba), "a", 900, 0)
    assert found.to_bytes() == Summary.of(proba, None, "a").to_bytes()


def test_what_no_score_can_be_is_told_apart():
    one = Abstainer("auroc", budget=0.1, calibration="platt").fit(probabilities(LOGITS), Y)
    scores = np.array([0.5, np.nan, np.inf, -0.1, 1.2])
    gaps, wrong = unfit(np, one.calibrator_.picked, scores)
    assert gaps.tolist() == [False, True, False, False, False]
    assert wrong.tolist() == [False, False, True, True, True]
    rows = np.array([[0.5, 0.5], [np.nan, 0.5], [0.9, 0.4]])
    gaps, wrong = unfit(np, one.calibrator_.picked, rows)
    assert gaps.tolist() == [False, True, False]
    assert wrong.tolist() == [False, False, True]


def test_one_score_is_calibrated_by_the_kernels_where_they_can():
    for calibration, scale in (("platt", "logits"), ("platt", "probabilities")):
        scores = LOGITS if scale == "logits" else probabilities(LOGITS)
        fitted = Abstainer("auroc", budget=0.1, calibration=calibration, scale=scale)
        picked = fitted.fit(scores, Y).calibrator_.picked
        kind, a, b, c = logistic_of(picked)
        assert kind == (1 if scale == "logits" else 2)
        logs = (np.zeros_like(LOGITS), LOGITS) if kind == 1 else np.log([1 - scores, scores])
        assert 1 / (1 + np.exp(a * logs[0] + b * logs[1] + c)) == pytest.approx(
            picked.compact(scores), abs=1e-12
        )
    fitted = Abstainer("auroc", budget=0.1, calibration="beta", scale="logits").fit(LOGITS, Y)
    assert logistic_of(fitted.calibrator_.picked) is None


def test_without_cupy_the_message_says_what_to_install():
    try:
        import cupy  # noqa: F401
    except ModuleNotFoundError:
        pass
    else:
        pytest.skip("CuPy is here")
    policy = Abstainer("auroc", budget=0.1, scale="logits").fit(LOGITS, Y).decide(LOGITS).policy
    with pytest.raises(ImportError, match=r"pip install 'abstain\[gpu\]'"):
        apply(policy, LOGITS)
