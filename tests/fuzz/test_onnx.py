"""The graph decides as the library does: saturated, tied, alone; and it decides no nonsense."""

import warnings

import numpy as np
import pytest
from hypothesis import strategies as st

from .arrays import seeds
from .cases import cases
from .machine import fuzzed
from .rules import frozen
from .test_differential import made

pytest.importorskip("onnx", reason="ONNX export needs the extra 'onnx'")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime to run the graph")

AREA = "ONNX"
SCORES = (None, None, "max-probability", "entropy", "margin", "js-divergence")


def session_of(policy, scores):
    """A graph at work, for scores of this many columns."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    columns = 1 if scores.ndim == 1 else scores.shape[1]
    model = policy.to_onnx(columns=columns).SerializeToString()
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run(session, scores):
    columns = scores[:, None] if scores.ndim == 1 else scores
    return session.run(["probabilities", "prediction", "abstain"], {"scores": columns})


def applied(policy, scores):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return policy.apply(scores)


def assert_decides_alike(session, policy, scores, at):
    """Compare a graph with its policy on rows at once, in two parts, and one alone."""
    expected = applied(policy, scores)
    parts = [run(session, part) for part in (scores[:at], scores[at:])]
    joined = [np.concatenate(one) for one in zip(*parts, strict=True)]
    for proba, prediction, abstain in (run(session, scores), joined):
        np.testing.assert_allclose(proba, expected.proba, atol=1e-6)
        assert prediction.tolist() == expected.prediction.tolist()
        assert abstain.tolist() == expected.abstain.tolist()
    _, prediction, abstain = run(session, scores[at : at + 1])
    assert prediction.tolist() == [expected.prediction[at]]
    assert abstain.tolist() == [expected.abstain[at]]


@fuzzed(AREA, quick=5, case=cases(dtypes=("f4",), scores=SCORES), seed=seeds())
def test_the_graph_decides_as_the_decisions_did(case, seed):
    decisions = made(case)
    if decisions is None:
        return "refused"
    session = session_of(decisions.policy, case.scores)
    for scores in (case.scores, case.scores_val):
        assert_decides_alike(session, decisions.policy, scores, seed % len(scores))
    withheld = run(session, case.scores)[2]
    assert withheld.tolist() == decisions.abstain.tolist()
    return "alike"


@fuzzed(AREA, quick=24, share=2.0, rule=frozen(), seed=seeds())
def test_any_rule_decides_alike_as_a_graph(rule, seed):
    policy, scores = rule
    session = session_of(policy, scores)
    assert_decides_alike(session, policy, scores, seed % len(scores))
    return "alike"


@fuzzed(
    AREA,
    quick=8,
    rule=frozen(),
    seed=seeds(),
    nonsense=st.lists(
        st.sampled_from([np.nan, np.inf, -np.inf, -1.0, 1.5, 3e38, -0.0, -1e-30]), min_size=1
    ),
)
def test_what_is_no_score_goes_to_a_person(rule, seed, nonsense):
    policy, scores = rule
    session = session_of(policy, scores)
    rng = np.random.default_rng(seed)
    scores = scores.copy()
    for value in nonsense:
        scores.reshape(len(scores), -1)[
            rng.integers(len(scores)), rng.integers(scores[0].size)
        ] = value
    proba, prediction, abstain = run(session, scores)
    assert set(prediction.tolist()) <= set(policy.classes.tolist())
    refused = 0
    for row in range(len(scores)):
        try:
            expected = applied(policy, scores[row : row + 1])
        except ValueError:
            refused += 1
            assert abstain[row]
            assert np.isnan(proba[row]).all()
        else:
            assert abstain[row] == expected.abstain[0]
            assert prediction[row] == expected.prediction[0]
    return "withheld" if refused else "alike"


@fuzzed(AREA, quick=2, rule=frozen(), wrong=st.sampled_from(["f8", "i8", "bool", "U3"]))
def test_the_runtime_refuses_what_is_not_of_the_shape_or_kind(rule, wrong):
    policy, scores = rule
    session = session_of(policy, scores)
    columns = scores[:, None] if scores.ndim == 1 else scores
    empty = run(session, columns[:0])
    assert [len(one) for one in empty] == [0, 0, 0]
    refusals = (
        onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument,
        onnxruntime.capi.onnxruntime_pybind11_state.Fail,
        RuntimeError,
    )
    other = [
        np.zeros(columns.shape, wrong),
        columns[:, :, None],
        np.hstack([columns, columns]),
        columns[0],
    ]
    for given in other:
        with pytest.raises(refusals):
            session.run(None, {"scores": given})
    return "refused"
