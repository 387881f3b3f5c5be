"""The rule as an ONNX graph decides as the library does, run in onnxruntime."""

from dataclasses import replace

import numpy as np
import pytest

from abstain import Abstainer, calibration
from abstain.datasets import screening_clinic, simulate_four_class_normal
from abstain.metrics import Accuracy
from abstain.regions import Box, GainThreshold, Interval, ProbabilityBoxes, TopShare
from abstain.rules import Argmax, BestGain, Threshold
from abstain.selection import Selection
from abstain.summaries import RowSummary

onnx = pytest.importorskip("onnx", reason="ONNX export needs the extra 'onnx'")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime to run the graph")

from abstain.onnx import merge_with_model, to_onnx  # noqa: E402

BINARY = ["bcts", "beta", "dirichlet", "identity", "isotonic", "nbvs", "platt", "temperature",
          "vector"]  # fmt: skip
MANY = [name for name in BINARY if name not in ("beta", "platt")]
QUICK = ("bcts", "dirichlet", "isotonic")
EDGES = np.array([0.0, 1.0, 0.5, 1e-30, 1 - 1e-7, 0.1], dtype=np.float32)


def run(model, scores):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {session.get_inputs()[0].name: scores})


def assert_decides_alike(policy, scores, **options):
    proba, prediction, abstain = run(to_onnx(policy, **options), scores)
    given = scores[:, 0] if scores.shape[1] == 1 else scores
    expected = policy.apply(given)
    assert proba == pytest.approx(expected.proba, abs=1e-6)
    assert prediction.tolist() == expected.prediction.tolist()
    assert abstain.tolist() == expected.abstain.tolist()


def regions(policy, proba):
    yield policy.region
    yield Interval.empty()
    yield Interval(float(np.quantile(proba[:, 1], 0.3)), float(np.quantile(proba[:, 1], 0.6)))
    gains = np.random.default_rng(0).normal(size=(proba.shape[1],) * 2)
    yield GainThreshold(gains, threshold=0.1)
    yield GainThreshold(gains, threshold=np.inf)
    yield TopShare(k=1, threshold=0.7)
    yield ProbabilityBoxes(())
    halves = [
        half
        for column in range(proba.shape[1])
        for half in Box.whole(column, proba.shape[1]).halved(0, float(np.median(proba[:, 0])))
    ]
    yield ProbabilityBoxes((halves[0], halves[3]))
    for score in ("entropy", "js-divergence", "margin", "max-probability"):
        yield choose_by_score(score, proba, len(proba) // 3)
    if proba.shape[1] == 2:
        yield choose_by_score("distance-from-half", proba, len(proba) // 3)


def choose_by_score(score, proba, capacity, seed=0):
    """The region that withholds the highest scores within a capacity."""
    selection = Selection(budget=0.0, score=score)
    return selection.family(Accuracy(), RowSummary(proba), seed)(capacity).region


def rules(n_classes):
    yield Argmax()
    yield BestGain(np.random.default_rng(1).normal(size=(n_classes, n_classes)))
    if n_classes == 2:
        yield Threshold(0.25)


def variants(policy, scores):
    """The policy with every region, and with every rule."""
    for region in regions(policy, policy.predict_proba(scores)):
        yield replace(policy, region=region)
    for rule in rules(len(policy.classes)):
        yield replace(policy, rule=rule)


@pytest.mark.parametrize("scale", ["probabilities", "logits"])
@pytest.mark.parametrize("name", BINARY)
def test_two_classes(name, scale):
    clinic = screening_clinic(800, 800, random_state=0)

    def scores_of(logit):
        return logit if scale == "logits" else 1 / (1 + np.exp(-logit))

    target = scores_of(clinic.scores_target).astype(np.float32)
    edges = EDGES if scale == "probabilities" else 200 * (EDGES - 0.5)
    policy = (
        Abstainer("auroc", budget=0.2, calibration=name, scale=scale, random_state=0)
        .fit(scores_of(clinic.scores_val), clinic.y_val)
        .decide(target)
        .policy
    )
    for changed in variants(policy, target):
        assert_decides_alike(changed, np.append(target, edges)[:, None], columns=1)
    pair = np.column_stack(
        [1 - target if scale == "probabilities" else np.zeros_like(target), target]
    )
    assert_decides_alike(policy, pair)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[] if name in ("bcts", "dirichlet", "isotonic") else pytest.mark.slow
        )
        for name in MANY
    ],
)
def test_many_classes(name):
    simulation = simulate_four_class_normal(1_000, random_state=0)
    names = np.array(["a", "b", "c", "d"])
    policy = (
        Abstainer("kappa:quadratic", budget=0.2, calibration=name, random_state=0)
        .fit(simulation.proba, names[simulation.y])
        .decide(simulation.proba)
        .policy
    )
    scores = np.vstack([simulation.proba, np.eye(4), np.full((1, 4), 0.25)]).astype(np.float32)
    for changed in variants(policy, scores):
        assert_decides_alike(changed, scores)


@pytest.mark.parametrize(
    ("labels", "kind"), [([3, 7], np.int64), ([0.5, 1.5], np.float64), (["no", "yes"], object)]
)
def test_labels_keep_their_kind(labels, kind):
    clinic = screening_clinic(300, 300, random_state=0)
    how = {"calibration": "platt", "scale": "logits", "positive": labels[1], "random_state": 0}
    policy = (
        Abstainer("auroc", budget=0.1, **how)
        .fit(clinic.scores_val, np.array(labels)[clinic.y_val])
        .decide(clinic.scores_target)
        .policy
    )
    prediction = run(to_onnx(policy, columns=1), clinic.scores_target[:, None].astype("f"))[1]
    assert prediction.dtype == kind
    assert set(prediction.tolist()) == set(labels)


def linear_model(n_outputs, opset, other=False):
    """A classifier of three features as ONNX: softmax of a linear map."""
    weights = onnx.numpy_helper.from_array(
        np.random.default_rng(0).normal(size=(3, n_outputs)).astype(np.float32), "weights"
    )
    helper, types = onnx.helper, onnx.TensorProto
    nodes = [
        helper.make_node("MatMul", ["x", "weights"], ["linear"]),
        helper.make_node("Softmax", ["linear"], ["p"], axis=1),
    ]
    outputs = [helper.make_tensor_value_info("p", types.FLOAT, ["n", n_outputs])]
    if other:
        nodes.append(helper.make_node("Relu", ["linear"], ["other"]))
        outputs.append(helper.make_tensor_value_info("other", types.FLOAT, ["n", n_outputs]))
    graph = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("x", types.FLOAT, ["n", 3])],
        outputs,
        [weights],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize("opset", [13, 18])
def test_a_policy_is_appended_to_a_model(opset):
    model = linear_model(3, opset)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 3)).astype(np.float32)
    (proba,) = run(model, x)
    y = np.array([rng.choice(3, p=p / p.sum()) for p in proba.astype(float)])
    decisions = (
        Abstainer("accuracy", budget=0.2, calibration="bcts", random_state=0)
        .fit(proba, y)
        .decide(proba)
    )
    *_, prediction, abstain = run(merge_with_model(model, decisions.policy), x)
    assert prediction.tolist() == decisions.prediction.tolist()
    assert abstain.tolist() == decisions.abstain.tolist()


def test_what_cannot_be_exported_is_explained():
    clinic = screening_clinic(300, 300, random_state=0)
    policy = (
        Abstainer("auroc", budget=0.1, calibration="platt", scale="logits", random_state=0)
        .fit(clinic.scores_val, clinic.y_val)
        .decide(clinic.scores_target)
        .policy
    )
    with pytest.raises(ValueError, match="`columns` must be 2, one per class, or 1; got 3"):
        to_onnx(policy, columns=3)
    region = choose_by_score("random", policy.predict_proba(clinic.scores_target), 10)
    with pytest.raises(TypeError, match="No operations are known for 'random'"):
        to_onnx(replace(policy, region=region))
    with pytest.raises(ValueError, match="has no output 'q'; it has p"):
        merge_with_model(linear_model(2, 18), policy, output="q")
    with pytest.raises(ValueError, match="Name the model's output with the scores"):
        merge_with_model(linear_model(2, 18, other=True), policy)


def test_every_parametric_calibrator_is_covered():
    known = set(calibration.registered()) if hasattr(calibration, "registered") else set(BINARY)
    assert known - {"auto"} <= set(BINARY)
