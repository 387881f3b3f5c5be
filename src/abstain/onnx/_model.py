"""Policies as ONNX models: alone, and appended to a classifier's model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import abstain
from abstain._numerics import plain
from abstain.exceptions import extra
from abstain.onnx._graph import Graph
from abstain.policy import Policy, score_columns, stated
from abstain.program import carried_out, given

OPSET = 18
# Before each key of the metadata, so that a classifier's own are left alone.
KEY = "abstain."


def to_onnx(policy: Policy, *, columns: int | None = None, opset: int = OPSET) -> Any:
    """Return a policy as an ONNX model from scores to decisions.

    Parameters
    ----------
    policy : Policy
        The rule.
    columns : int, optional
        How many score columns come in: one per class in the order of ``policy.columns``, or 1
        for the score of the positive class of two. One per class when not given.
    opset : int
        The version of the ONNX operators to use, 13 or later.

    Returns
    -------
    onnx.ModelProto
        Input ``scores`` (float32, n x columns); outputs ``probabilities`` (float32, calibrated
        and adapted, in the order of ``policy.classes``), ``prediction`` (class labels) and
        ``abstain`` (bool).

    Notes
    -----
    A row that :meth:`abstain.Policy.apply` would refuse, with NaN or infinity among its scores,
    or probabilities that are negative or do not sum to 1, goes to a person: ``abstain`` is true,
    its ``probabilities`` are NaN, and its ``prediction`` says nothing.

    ``metadata_props`` hold, each as JSON: ``abstain.version`` and ``abstain.created`` of the
    policy, ``abstain.sha256`` (its checksum, as in its file), ``abstain.metric``,
    ``abstain.classes`` (the columns of ``probabilities``), ``abstain.positive`` (the positive
    class or null), ``abstain.columns`` (the label of each column of ``scores``),
    ``abstain.scale``, ``abstain.calibration``, ``abstain.priors``, ``abstain.inputs`` and
    ``abstain.outputs`` (what each is). onnxruntime shows them in
    ``session.get_modelmeta().custom_metadata_map``.
    """
    onnx = _package()
    n_classes, columns = len(policy.classes), score_columns(policy, columns)
    graph = Graph(onnx, n_classes)
    label_type = _decide(graph, policy, columns)
    types = onnx.TensorProto
    tensor = onnx.helper.make_tensor_value_info
    made = onnx.helper.make_graph(
        graph.nodes,
        "abstain",
        [tensor("scores", types.FLOAT, ["n", columns])],
        [
            tensor("probabilities", types.FLOAT, ["n", n_classes]),
            tensor("prediction", label_type, ["n"]),
            tensor("abstain", types.BOOL, ["n"]),
        ],
        graph.constants,
    )
    model = onnx.helper.make_model(made, opset_imports=[onnx.helper.make_opsetid("", opset)])
    model.ir_version = min(model.ir_version, 9)  # what runtimes since onnxruntime 1.17 read
    said = f"{policy.calibrator.scale} of the classifier, float32; see columns for their order"
    _describe(onnx, model, policy, columns=columns, inputs={"scores": said})
    onnx.checker.check_model(model)
    return model


def _decide(graph: Graph, policy: Policy, columns: int) -> int:
    """Add the nodes of a policy, from its input to its outputs; return the type of labels."""
    scores = given(columns)
    # In double precision, whatever comes in.
    known = {scores: graph.cast("scores", np.float64)}
    fit, made = stated(policy, scores, smallest=float(np.finfo(np.float32).eps))
    fit, proba, prediction, withheld = carried_out(graph, [fit, *made], known)
    told = graph.node("Where", fit, proba, np.nan)
    graph.node("Cast", told, to=graph.onnx.TensorProto.FLOAT, output="probabilities")
    labels, label_type = _labels(graph, policy)
    graph.node("Gather", labels, graph.node("Squeeze", prediction, [1]), output="prediction")
    refused = graph.node("Or", withheld, graph.node("Not", fit))
    graph.node("Squeeze", refused, [1], output="abstain")
    return label_type


def merge_with_model(model: Any, policy: Policy, *, output: str | None = None) -> Any:
    """Append a policy to a classifier's ONNX model.

    Parameters
    ----------
    model : onnx.ModelProto
        The classifier.
    policy : Policy
        The rule, made from the scores that the classifier puts out.
    output : str, optional
        The classifier's output with the scores; needed when it has several of their shape.

    Returns
    -------
    onnx.ModelProto
        The classifier's inputs; its outputs other than the scores, then those of
        :func:`to_onnx` with ``abstain_`` before their names. Metadata of the classifier are kept
        beside those of the policy, which has one more: ``abstain.scores``, the output of the
        classifier that the rule reads.
    """
    onnx = _package()
    chosen = _score_output(model, policy, output)
    shape = chosen.type.tensor_type.shape.dim
    columns = shape[1].dim_value if len(shape) == 2 else 0
    opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    rule = to_onnx(policy, columns=columns or None, opset=max(opset, 13))
    if opset < 13:
        model = onnx.version_converter.convert_version(model, 13)
    if chosen.type.tensor_type.elem_type != onnx.TensorProto.FLOAT:
        raise ValueError(f"The output {chosen.name!r} of the model must be float32.")
    rule.ir_version = model.ir_version
    prefix = "abstain_"
    renamed = onnx.compose.add_prefix(rule, prefix)
    # What the rule says of itself it says of both, under the names they have together.
    del renamed.metadata_props[:]
    merged = onnx.compose.merge_models(model, renamed, io_map=[(chosen.name, f"{prefix}scores")])
    _describe(
        onnx,
        merged,
        policy,
        columns=columns or len(policy.classes),
        inputs={value.name: "input of the classifier" for value in merged.graph.input},
        prefix=prefix,
        scores=chosen.name,
    )
    onnx.checker.check_model(merged)
    return merged


def _describe(
    onnx: Any,
    model: Any,
    policy: Policy,
    *,
    columns: int,
    inputs: dict[str, str],
    prefix: str = "",
    **more: Any,
) -> None:
    """Write into a model what it is: for people, and as JSON under keys of its own."""
    facts = {
        "version": policy.version,
        "created": policy.created,
        "sha256": policy.sha256,
        "metric": policy.metric.name,
        "classes": policy.classes,
        "positive": policy.positive,
        "columns": [policy.positive] if columns == 1 else policy.columns,
        "scale": policy.calibrator.scale,
        "calibration": policy.calibrator.name,
        "priors": policy.priors,
        "inputs": inputs,
        "outputs": {
            f"{prefix}probabilities": "calibrated, adapted; a column for each of the classes",
            f"{prefix}prediction": "the predicted class, also where abstaining",
            f"{prefix}abstain": "true where the row goes to a person",
        },
        **more,
    }
    kept = {entry.key: entry.value for entry in model.metadata_props}
    ours = {f"{KEY}{name}": json.dumps(plain(value)) for name, value in facts.items()}
    del model.metadata_props[:]
    onnx.helper.set_model_props(model, {**kept, **ours})
    model.producer_name, model.producer_version = "abstain", abstain.__version__
    model.doc_string = (
        f"Which rows go to a person, chosen for {policy.metric.name}: withholds "
        f"{policy.region.describe()}, predicts {policy.rule.describe()}. Made by abstain "
        f"{policy.version} at {policy.created}; facts are in the metadata under {KEY!r}."
    )


def _score_output(model: Any, policy: Policy, output: str | None) -> Any:
    outputs = {value.name: value for value in model.graph.output}
    if output is not None:
        if output not in outputs:
            raise ValueError(f"The model has no output {output!r}; it has {', '.join(outputs)}.")
        return outputs[output]
    fitting = [
        value
        for value in outputs.values()
        if len(value.type.tensor_type.shape.dim) == 2
        and value.type.tensor_type.shape.dim[1].dim_value in (0, 1, len(policy.classes))
    ]
    if len(fitting) != 1:
        raise ValueError(
            f"Name the model's output with the scores, output=...; it has {', '.join(outputs)}."
        )
    return fitting[0]


def _labels(graph: Graph, policy: Policy) -> tuple[str, int]:
    """Return the class labels as a constant, and their ONNX type."""
    types = graph.onnx.TensorProto
    labels = policy.classes
    whole = labels.dtype.kind in "iub"
    if whole and int(labels.max()) <= np.iinfo(np.int64).max:
        return graph.constant(labels), types.INT64
    if labels.dtype.kind == "f":
        return graph.constant(labels), types.DOUBLE
    name = "labels"
    # What no text may hold, half a character, is spelled out.
    text = [str(label).encode(errors="backslashreplace") for label in labels.tolist()]
    graph.constants.append(graph.onnx.helper.make_tensor(name, types.STRING, [len(text)], text))
    return name, types.STRING


def _package() -> Any:
    with extra("onnx", "ONNX export needs onnx"):
        import onnx
        import onnx.compose
        import onnx.version_converter
    return onnx
