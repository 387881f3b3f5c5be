"""A graph says what it was made of, to whoever opens it in onnxruntime."""

import json

import numpy as np
import pytest

import abstain
from abstain import Abstainer, Policy
from abstain.datasets import screening_clinic

onnx = pytest.importorskip("onnx", reason="ONNX export needs the extra 'onnx'")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime to run the graph")

from abstain.onnx import merge_with_model, to_onnx  # noqa: E402


@pytest.fixture(scope="module")
def policy():
    clinic = screening_clinic(400, 400, random_state=0)
    names = np.array(["healthy", "ill"])
    abstainer = Abstainer("auroc", budget=0.1, calibration="platt", scale="logits", random_state=0)
    abstainer.fit(clinic.scores_val, names[clinic.y_val], classes=names)
    return abstainer.decide(clinic.scores_target).policy


def opened(model):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session, session.get_modelmeta()


def facts_of(meta):
    return {
        key.removeprefix("abstain."): json.loads(value)
        for key, value in meta.custom_metadata_map.items()
        if key.startswith("abstain.")
    }


def test_the_facts_of_the_policy(policy, tmp_path):
    session, meta = opened(to_onnx(policy, columns=1))
    facts = facts_of(meta)
    assert facts["classes"] == ["healthy", "ill"]
    assert facts["positive"] == "ill"
    assert facts["columns"] == ["ill"]
    assert facts["version"] == abstain.__version__
    assert facts["metric"] == "auroc"
    assert facts["created"] == policy.created
    assert facts["scale"] == "logits"
    assert facts["calibration"] == "platt"
    assert facts["priors"] == pytest.approx(policy.priors)
    assert list(facts["inputs"]) == [value.name for value in session.get_inputs()]
    assert list(facts["outputs"]) == [value.name for value in session.get_outputs()]
    if hasattr(Policy, "sha256"):
        policy.save(tmp_path / "policy.json")
        stored = json.loads((tmp_path / "policy.json").read_text(encoding="utf-8"))
        assert facts["sha256"] == stored["sha256"]
    assert meta.producer_name == "abstain"
    assert "chosen for auroc: withholds probability from" in meta.description


def test_two_columns_are_in_the_order_of_the_classes(policy):
    assert facts_of(opened(to_onnx(policy))[1])["columns"] == ["healthy", "ill"]


def test_a_classifier_keeps_its_own(policy):
    helper, types = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["logits"])],
        "classifier",
        [helper.make_tensor_value_info("x", types.FLOAT, ["n", 2])],
        [helper.make_tensor_value_info("logits", types.FLOAT, ["n", 2])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    helper.set_model_props(model, {"author": "somebody"})
    session, meta = opened(merge_with_model(model, policy))
    assert meta.custom_metadata_map["author"] == "somebody"
    facts = facts_of(meta)
    assert facts["scores"] == "logits"
    assert list(facts["inputs"]) == ["x"]
    assert list(facts["outputs"]) == [value.name for value in session.get_outputs()]
    assert facts["classes"] == ["healthy", "ill"]
