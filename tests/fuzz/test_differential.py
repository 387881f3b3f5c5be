"""However a rule is asked, it answers the same, to the last bit.

In memory, as plain data, saved and loaded, in parts, in another order, on more threads.
"""

import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from abstain import Policy

from .arrays import seeds
from .cases import Case, as_given, cases
from .machine import fuzzed, outcome
from .rules import frozen

AREA = "differential"

# What once came out otherwise from a file: log-odds of no end; and probabilities taken through
# logarithms by one and not by the other, or divided by their sums.
_SATURATED = np.array([[0, 0, 1e200], [1.3, 0.9, -0.7], [-1.2, -0.6, 0], [-2.3, -0.2, -1.2]] * 2)
_PRINTED = np.array([0.0, 1.0, 0.25, 0.7, 0.1, 0.3, 1.0, 0.0])
_TO_FOUR = np.array([[0.3333, 0.3333, 0.3333], [0.1, 0.2, 0.7], [1, 0, 0], [0.05, 0.9, 0.05]] * 2)
KEPT = [
    {
        "case": Case(
            "accuracy",
            _SATURATED,
            np.array([2, 1, 0, 0] * 2),
            _SATURATED[1:],
            how={"budget": 0.2, "scale": "logits", "calibration": "isotonic"},
        )
    },
    *(
        {
            "case": Case(
                "accuracy",
                scores,
                y,
                scores[2:],
                how={"budget": 0.3, "calibration": calibration, "score": score},
            )
        }
        for scores, y in (
            (_PRINTED, np.array([0, 1, 0, 1, 0, 0, 1, 0])),
            (_TO_FOUR, np.array([0, 2, 0, 1, 1, 2, 0, 1])),
        )
        for calibration in ("auto", "identity")
        for score in (None, "entropy")
    ),
]


def bits(decisions):
    """What a decision about each row is, in bytes."""
    return {
        "compact": decisions.compact.tobytes(),
        "proba": decisions.proba.tobytes(),
        "abstain": decisions.abstain.tobytes(),
        "columns": decisions.columns.tobytes(),
        "prediction": decisions.prediction.tolist(),
        "gain": decisions.gain.tobytes(),
        "priority": decisions.priority.tobytes(),
    }


def by_row(decisions):
    """What is decided about each row by itself, one tuple of bytes for each."""
    score = decisions.choice.region.score(decisions.compact, decisions.columns)
    parts = [decisions.compact, decisions.abstain, decisions.columns, decisions.priority]
    parts += [] if score is None else [score]
    return list(zip(*([row.tobytes() for row in part] for part in parts), strict=True))


def made(case):
    """The decisions of a case; None where it is refused."""
    decided = outcome(case.decide, looked_at=lambda _: None)
    return None if isinstance(decided, Exception) else decided


def by_all_ways(policy):
    """The same rule by every way that it can be kept; as SQL it is in ``test_sql.py``."""
    yield "itself", policy
    yield "plain data", Policy.from_dict(policy.to_dict())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.json"
        policy.save(path)
        loaded = Policy.load(path)
        yield "a file", loaded
        loaded.save(path)
        yield "a file of a file", Policy.load(path)


@fuzzed(AREA, quick=1, rule=frozen(classes=(2, 3, 50, 300), dtypes=("f4", "f8")), seed=seeds())
def test_threads_and_long_batches_change_nothing(rule, seed):
    policy, scores = rule
    few = by_row(policy.apply(scores))
    rows = np.random.default_rng(seed).integers(len(scores), size=400_000 // len(policy.classes))
    found = {}
    for threads in ("1", "3"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ABSTAIN_NUM_THREADS", threads)
            decisions = policy.rows(scores[rows])
            many, prediction, abstain = decisions.compact, decisions.columns, decisions.abstain
        found[threads] = many.tobytes(), prediction.tobytes(), abstain.tobytes()
    assert found["1"] == found["3"]
    for at in range(0, len(rows), max(1, len(rows) // 50)):
        alone = few[rows[at]]
        assert (many[at].tobytes(), abstain[at].tobytes(), prediction[at].tobytes()) == alone[:3]
    return "alike"


@fuzzed(AREA, quick=10, share=2.0, rule=frozen(dtypes=("f4", "f8")))
def test_any_rule_is_the_same_from_a_file(rule):
    policy, scores = rule
    expected = bits(policy.apply(scores))
    for way, again in by_all_ways(policy):
        assert bits(again.apply(scores)) == expected, way
    return "alike"


@fuzzed(AREA, quick=5, examples=KEPT, case=cases())
def test_memory_and_files_decide_alike(case):
    decisions = made(case)
    if decisions is None:
        return "refused"
    expected = bits(decisions)
    for way, policy in by_all_ways(decisions.policy):
        found = bits(policy.apply(case.scores, case.weight))
        for part in expected:
            assert found[part] == expected[part], (way, part)
    return "alike"


@fuzzed(AREA, quick=4, case=cases(), seed=seeds())
def test_a_row_is_decided_the_same_in_any_company(case, seed):
    decisions = made(case)
    if decisions is None:
        return "refused"
    policy, scores = decisions.policy, case.scores
    rng = np.random.default_rng(seed)
    expected = by_row(policy.apply(scores))
    order = rng.permutation(len(scores))
    assert by_row(policy.apply(scores[order])) == [expected[i] for i in order]
    cut = int(rng.integers(1, len(scores) + 1))
    parts = [scores[:cut], scores[cut:]] if cut < len(scores) else [scores]
    assert [one for part in parts for one in by_row(policy.apply(part))] == expected
    rows = rng.integers(len(scores), size=3)
    for row in rows:
        assert by_row(policy.apply(scores[row : row + 1])) == [expected[row]]
    assert by_row(policy.apply(np.repeat(scores, 5, axis=0))) == [
        one for one in expected for _ in range(5)
    ]
    return "alike"


@pytest.mark.parametrize(
    ("calibration", "dtype"),
    [("identity", "f4"), pytest.param("temperature", "f8", marks=pytest.mark.slow)],
)
def test_three_hundred_classes(calibration, dtype):
    rng = np.random.default_rng(0)
    k = 300
    y = np.append(np.arange(k), rng.integers(k, size=100))
    logits = rng.normal(size=(400, k)) + 4 * np.eye(k)[y]
    proba = as_given(logits, scale="probabilities", columns=k, dtype=dtype)
    how = {"budget": 0.2, "calibration": calibration, "shift": "none", "score": "entropy"}
    case = Case("accuracy", proba, y, proba[::4], how=how)
    decisions = made(case)
    expected = bits(decisions)
    # Without the summary for adapting, which takes most of the time and decides nothing.
    for way, policy in by_all_ways(replace(decisions.policy, source=None)):
        assert bits(policy.apply(case.scores)) == expected, way
    assert by_row(decisions.policy.apply(case.scores[:1])) == by_row(decisions)[:1]


def test_as_a_model_of_mlflow_too(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("mlflow.pyfunc", reason="MLflow is not installed (extra: mlflow)")
    from abstain.mlflow import _load_pyfunc

    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    logits = 40 * (rng.normal(size=(60, 3)) + np.eye(3)[y])
    how = {"budget": 0.3, "scale": "logits", "calibration": "auto"}
    decisions = made(Case("accuracy", logits, y, logits, how=how))
    decisions.policy.save(tmp_path / "policy.json")
    frame = _load_pyfunc(str(tmp_path / "policy.json")).predict(logits)
    assert frame["abstain"].tolist() == decisions.abstain.tolist()
    assert frame["prediction"].tolist() == decisions.prediction.tolist()
    assert frame["gain"].to_numpy().tobytes() == decisions.gain.tobytes()
    proba = frame[["p_0", "p_1", "p_2"]].to_numpy()
    assert np.ascontiguousarray(proba).tobytes() == decisions.proba.tobytes()
