"""A warning names the line of the user's that called, however deep it arose."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

import abstain
from abstain import Abstainer, AbstainingClassifier, Policy, metrics
from abstain.calibration import VectorScaling
from abstain.datasets import screening_clinic
from abstain.exceptions import AssumptionWarning, RepairWarning, deprecated, warn_user
from abstain.shift import MaximumLikelihoodShift, check_label_shift

PACKAGE = Path(abstain.__file__).parent
CLINIC = screening_clinic(1_000, 1_000, random_state=0)
# Nothing that other class proportions would explain.
SQUEEZED = 0.3 * CLINIC.scores_target - 2
NAMES = ["healthy", "ill", "never seen"]


def fitted(metric="auroc"):
    abstainer = Abstainer(
        metric, budget=0.1, calibration="platt", shift="em", scale="logits", random_state=0
    )
    return abstainer.fit(CLINIC.scores_val, CLINIC.y_val)


def three_columns(n=300):
    rng = np.random.default_rng(0)
    return rng.dirichlet([2, 2, 2], n), rng.choice(NAMES[:2], n)


def own_policy(tmp_path):
    brier = metrics.SampledMetric(
        lambda y, p: float(((y - p) ** 2).mean()), name="brier", greater_is_better=False
    )
    brier.n_samples = 5
    return fitted(brier).decide(CLINIC.scores_target).policy


def decide(tmp_path):
    fitted().decide(SQUEEZED)


def apply(tmp_path):
    fitted().decide(CLINIC.scores_target).policy.apply(SQUEEZED)


def adapt(tmp_path):
    fitted().decide(CLINIC.scores_target).policy.adapt(SQUEEZED)


def estimate(tmp_path):
    abstain.estimate(
        CLINIC.scores_val, CLINIC.y_val, SQUEEZED, "auroc", scale="logits", calibration="platt"
    )


def check(tmp_path):
    p, q = (1 / (1 + np.exp(-scores)) for scores in (CLINIC.scores_val, SQUEEZED))
    check_label_shift(p, q, CLINIC.y_val)


def fit_without_a_class(tmp_path):
    scores, y = three_columns()
    Abstainer("accuracy", budget=0.1, calibration="temperature").fit(scores, y, classes=NAMES)


def calibrate_without_a_class(tmp_path):
    scores, y = three_columns()
    VectorScaling().fit(scores, y, classes=NAMES)


def stop_early(tmp_path):
    p = 1 / (1 + np.exp(-CLINIC.scores_val))
    MaximumLikelihoodShift(max_iter=1, algorithm="em").fit(p, p**3, CLINIC.y_val)


def classify(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    classifier = AbstainingClassifier(LogisticRegression(), "accuracy", budget=0.1, cv=2)
    classifier.fit(X, y).decide(0.2 * X[:300] - 1)


def save(tmp_path):
    own_policy(tmp_path).save(tmp_path / "own.json")


def frame(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own_policy(tmp_path).save(tmp_path / "own.json")
    Policy.load(tmp_path / "own.json").apply(CLINIC.scores_target).to_frame()


@pytest.mark.parametrize(
    "call",
    [
        decide,
        apply,
        adapt,
        estimate,
        check,
        fit_without_a_class,
        calibrate_without_a_class,
        stop_early,
        classify,
        save,
        frame,
    ],
    ids=lambda call: call.__name__,
)
def test_a_warning_points_at_the_callers_line(call, tmp_path):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        call(tmp_path)
    assert heard
    first, lines = call.__code__.co_firstlineno, [*call.__code__.co_lines()]
    last = max(line for *_, line in lines if line is not None)
    for warning in heard:
        assert warning.filename == __file__
        assert first < warning.lineno <= last


def test_nor_does_scikit_learn_stand_in_between():
    inside = compile("lambda X: warn_user('said', kind) or X", f"{PACKAGE}/deep.py", "eval")
    deep = eval(inside, {"warn_user": warn_user, "kind": RepairWarning})
    with pytest.warns(RepairWarning) as heard:
        FunctionTransformer(deep).fit_transform(np.ones((2, 1)))
    assert [warning.filename for warning in heard] == [__file__]


def test_what_is_deprecated_works_and_says_what_to_use():
    @deprecated("`decide`", since="0.2", goes="0.4")
    def choose(n: int) -> int:
        """Choose."""
        return n + 1

    with pytest.warns(FutureWarning, match=r"`choose` .* goes in 0\.4: use `decide`\.") as heard:
        assert choose(1) == 2
    assert heard[0].filename == __file__
    assert choose.__doc__ == "Choose."


def test_the_same_line_warns_once():
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("default")
        for _ in range(3):
            decided = fitted().decide(SQUEEZED)
    assert decided.assumption.doubts
    assert len([one for one in heard if one.category is AssumptionWarning]) == 1


def test_every_warning_goes_this_way():
    by_themselves = [
        path.name
        for path in PACKAGE.rglob("*.py")
        if "warnings.warn(" in path.read_text(encoding="utf-8")
    ]
    assert not by_themselves
