"""The frozen rule as an ONNX graph, to run beside the model without Python.

The graph computes in double precision whatever it is given, so that it decides as
``Policy.apply`` does on the same float32 scores. Its metadata say what it was made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

import abstain
from abstain._numerics import Registry, plain
from abstain.policy import Policy
from abstain.shift import ratio_of_priors

__all__ = ["merge_with_model", "to_onnx"]

OPSET = 18
# Rows this close to an edge, relative to it, are on it: the last digit of a logarithm or an
# exponential differs between libraries.
SLACK = 1e-12
# Before each key of the metadata, so that a classifier's own are left alone.
KEY = "abstain."


class _Graph:
    """Nodes and constants of a graph in the making; every method returns a value's name."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, operation: str, *inputs: str, output: str | None = None, **options: Any) -> str:
        name = output or f"value_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operation, list(inputs), [name], **options))
        return name

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        name = f"constant_{len(self.constants)}"
        array = np.asarray(values, dtype=dtype)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def sum_of_columns(self, value: str) -> str:
        return self.node("ReduceSum", value, self.constant([1], np.int64), keepdims=1)

    def column(self, value: str, index: int) -> str:
        return self.node("Gather", value, self.constant(index, np.int64), axis=1)


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
    ``metadata_props`` hold, each as JSON: ``abstain.version`` and ``abstain.created`` of the
    policy, ``abstain.sha256`` (its checksum, as in its file), ``abstain.metric``,
    ``abstain.classes`` (the columns of ``probabilities``), ``abstain.positive`` (the positive
    class or null), ``abstain.columns`` (the label of each column of ``scores``),
    ``abstain.scale``, ``abstain.calibration``, ``abstain.priors``, ``abstain.inputs`` and
    ``abstain.outputs`` (what each is). onnxruntime shows them in
    ``session.get_modelmeta().custom_metadata_map``.
    """
    onnx = _package()
    n_classes = len(policy.classes)
    columns = n_classes if columns is None else columns
    if columns != n_classes and not (columns == 1 and n_classes == 2):
        raise ValueError(
            f"`columns` must be {n_classes}, one per class{', or 1' if n_classes == 2 else ''}; "
            f"got {columns}."
        )
    if columns == 1:
        policy.order.need_positive("`columns` is 1: the score is that of the positive class")
    graph = _Graph(onnx)
    proba = _adapted(graph, policy, _calibrated(graph, policy, columns))
    prediction = _RULES[policy.rule.kind](graph, policy.rule, proba)
    abstain = _REGIONS[policy.region.kind](graph, policy.region, proba, prediction)
    types = onnx.TensorProto
    graph.node("Cast", proba, to=types.FLOAT, output="probabilities")
    labels, label_type = _labels(graph, policy)
    graph.node("Gather", labels, prediction, output="prediction")
    graph.node("Identity", abstain, output="abstain")
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
    model.ir_version = min(model.ir_version, 10)  # what runtimes of the last years read
    _describe(onnx, model, policy, columns=columns, inputs={"scores": _said_of_scores(policy)})
    onnx.checker.check_model(model)
    return model


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


def _said_of_scores(policy: Policy) -> str:
    return f"{policy.calibrator.scale} of the classifier, float32; see columns for their order"


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


def _calibrated(graph: _Graph, policy: Policy, columns: int) -> str:
    """Return the calibrated probabilities; mirrors ``to_logits`` and each calibrator."""
    calibrator = policy.calibrator
    scores = graph.node("Cast", "scores", to=graph.onnx.TensorProto.DOUBLE)
    given_in = policy.columns.tolist()
    places = [given_in.index(label) for label in policy.classes.tolist()]
    if columns > 1 and places != sorted(places):
        scores = graph.node("Gather", scores, graph.constant(places, np.int64), axis=1)
    given = calibrator.scale == "probabilities"
    if columns == 1:
        # The negative class has the rest of the probability, or a logit of zero.
        negative = graph.node("Sub", graph.constant(1.0) if given else scores, scores)
        scores = graph.node("Concat", negative, scores, axis=1)
    if given:
        scores = graph.node("Div", scores, graph.sum_of_columns(scores))
        if calibrator.name == "identity":
            return scores
        smallest = graph.constant(np.finfo(np.float32).eps)
        scores = graph.node("Log", graph.node("Max", scores, smallest))
    return _CALIBRATORS[calibrator.name](graph, calibrator, scores)


def _scaling(graph: _Graph, calibrator: Any, logits: str) -> str:
    slope, bias = graph.constant(calibrator.slope_), graph.constant(calibrator.bias_)
    scaled = graph.node("Add", graph.node("Mul", logits, slope), bias)
    return graph.node("Softmax", scaled, axis=1)


def _beta(graph: _Graph, calibrator: Any, logits: str) -> str:
    return _scaling(graph, calibrator, graph.node("LogSoftmax", logits, axis=1))


def _dirichlet(graph: _Graph, calibrator: Any, logits: str) -> str:
    logs = graph.node("LogSoftmax", logits, axis=1)
    mixed = graph.node("MatMul", logs, graph.constant(calibrator.matrix_))
    return graph.node(
        "Softmax", graph.node("Add", mixed, graph.constant(calibrator.bias_)), axis=1
    )


def _isotonic(graph: _Graph, calibrator: Any, logits: str) -> str:
    n_classes = len(calibrator.classes_)
    logs = graph.node("LogSoftmax", logits, axis=1)
    # The rest of a class is summed over the others, so that no digits cancel.
    others = graph.constant(1.0 - np.eye(n_classes))
    rest = graph.node("Log", graph.node("MatMul", graph.node("Exp", logs), others))
    odds = graph.node("Sub", logs, rest)
    if n_classes == 2:
        positive = _curve(graph, calibrator, 0, graph.column(odds, 1))
        pair = [graph.node("Sub", graph.constant(1.0), positive), positive]
        return graph.node("Concat", *(_as_column(graph, p) for p in pair), axis=1)
    values = graph.node(
        "Concat",
        *(
            _as_column(graph, _curve(graph, calibrator, i, graph.column(odds, i)))
            for i in range(n_classes)
        ),
        axis=1,
    )
    total = graph.sum_of_columns(values)
    empty = graph.node("Equal", total, graph.constant(0.0))
    divisor = graph.node("Where", empty, graph.constant(1.0), total)
    return graph.node(
        "Where", empty, graph.constant(1.0 / n_classes), graph.node("Div", values, divisor)
    )


def _curve(graph: _Graph, calibrator: Any, curve: int, odds: str) -> str:
    """Interpolate between the knots of one isotonic curve, flat beyond its ends."""
    begin, end = calibrator.offsets_[curve : curve + 2].astype(int)
    x, y = calibrator.thresholds_[begin:end], calibrator.values_[begin:end]
    if len(x) == 0:
        return graph.node("Sigmoid", odds)
    if len(x) == 1:
        x, y = np.append(x, x[0] + 1), np.append(y, y[0])
    inside = graph.node("Max", odds, graph.constant(x[0]))
    inside = graph.node("Min", inside, graph.constant(x[-1]))
    passed = graph.node("GreaterOrEqual", _as_column(graph, inside), graph.constant(x[1:-1]))
    counted = graph.node("Cast", passed, to=graph.onnx.TensorProto.INT64)
    index = graph.node("ReduceSum", counted, graph.constant([1], np.int64), keepdims=0)
    slope = np.diff(y) / np.diff(x)
    start, height, rise = (
        graph.node("Gather", graph.constant(values), index) for values in (x[:-1], y[:-1], slope)
    )
    return graph.node("Add", graph.node("Mul", graph.node("Sub", inside, start), rise), height)


def _as_column(graph: _Graph, value: str) -> str:
    """Put an axis behind the rows."""
    return graph.node("Unsqueeze", value, graph.constant([1], np.int64))


_CALIBRATORS: Registry[Callable[[_Graph, Any, str], str]] = Registry(
    "calibration in ONNX",
    [
        ("bcts", _scaling),
        ("beta", _beta),
        ("dirichlet", _dirichlet),
        ("identity", _scaling),
        ("isotonic", _isotonic),
        ("nbvs", _scaling),
        ("platt", _scaling),
        ("temperature", _scaling),
        ("vector", _scaling),
    ],
)


def _adapted(graph: _Graph, policy: Policy, proba: str) -> str:
    weights = ratio_of_priors(policy.priors, policy.source_priors)
    weighted = graph.node("Mul", proba, graph.constant(weights))
    total = graph.sum_of_columns(weighted)
    gone = graph.node("Equal", total, graph.constant(0.0))
    divisor = graph.node("Where", gone, graph.constant(1.0), total)
    return graph.node("Where", gone, proba, graph.node("Div", weighted, divisor))


def _argmax(graph: _Graph, rule: Any, proba: str) -> str:
    return graph.node("ArgMax", proba, axis=1, keepdims=0)


def _best_gain(graph: _Graph, rule: Any, proba: str) -> str:
    gains = graph.node("MatMul", proba, graph.constant(rule.gains))
    return graph.node("ArgMax", gains, axis=1, keepdims=0)


def _threshold(graph: _Graph, rule: Any, proba: str) -> str:
    reached = _at_least(graph, graph.column(proba, 1), rule.threshold)
    return graph.node("Cast", reached, to=graph.onnx.TensorProto.INT64)


def _in_interval(graph: _Graph, region: Any, proba: str, prediction: str) -> str:
    p = graph.column(proba, 1)
    return graph.node("And", _at_least(graph, p, region.lower), _at_most(graph, p, region.upper))


def _gains(graph: _Graph, region: Any, proba: str, prediction: str) -> str:
    gains = graph.node("MatMul", proba, graph.constant(region.gains))
    chosen = graph.node("GatherElements", gains, _as_column(graph, prediction), axis=1)
    score = graph.node("Squeeze", chosen, graph.constant([1], np.int64))
    return _at_least(graph, score, region.threshold)


def _doubts(graph: _Graph, region: Any, proba: str, prediction: str) -> str:
    return _at_most(graph, _top_sum(graph, proba, region.k), region.threshold)


def _in_boxes(graph: _Graph, region: Any, proba: str, prediction: str) -> str:
    """Return whether each row lies in any box: all boxes at once, along a third axis."""
    if not region.boxes:
        return graph.node("Less", prediction, graph.constant(0, np.int64))
    columns, lower, upper = (
        np.array([getattr(box, part) for box in region.boxes])
        for part in ("column", "lower", "upper")
    )
    # An edge belongs to the box below it, so both ends move up by the slack.
    lower, upper = (edge + SLACK * np.abs(edge) for edge in (lower, upper))
    p = _as_column(graph, proba)
    inside = graph.node(
        "And",
        graph.node("Greater", p, graph.constant(lower)),
        graph.node("LessOrEqual", p, graph.constant(upper)),
    )
    counted = graph.node("Cast", inside, to=graph.onnx.TensorProto.INT64)
    within = graph.node("ReduceSum", counted, graph.constant([2], np.int64), keepdims=0)
    every = graph.node("Equal", within, graph.constant(lower.shape[1], np.int64))
    called = graph.node("Equal", _as_column(graph, prediction), graph.constant(columns, np.int64))
    hits = graph.node("Cast", graph.node("And", every, called), to=graph.onnx.TensorProto.INT64)
    total = graph.node("ReduceSum", hits, graph.constant([1], np.int64), keepdims=0)
    return graph.node("Greater", total, graph.constant(0, np.int64))


def _scored(graph: _Graph, region: Any, proba: str, prediction: str) -> str:
    if region.order not in _SCORES:
        raise TypeError(
            f"No ONNX graph is known for the score {region.order!r}; there is one for "
            f"{', '.join(map(repr, _SCORES))}."
        )
    return _at_least(graph, _SCORES[region.order](graph, region, proba), region.threshold)


def _max_probability(graph: _Graph, region: Any, proba: str) -> str:
    return graph.node("Sub", graph.constant(1.0), _top_sum(graph, proba, 1))


def _margin(graph: _Graph, region: Any, proba: str) -> str:
    largest, two = _top_sum(graph, proba, 1), _top_sum(graph, proba, 2)
    gap = graph.node("Sub", graph.node("Add", largest, largest), two)
    return graph.node("Sub", graph.constant(1.0), gap)


def _entropy(graph: _Graph, region: Any, proba: str) -> str:
    return graph.node("Neg", _plogp(graph, proba, proba))


def _distance_from_half(graph: _Graph, region: Any, proba: str) -> str:
    half = graph.constant(0.5)
    away = graph.node("Abs", graph.node("Sub", graph.column(proba, 1), half))
    return graph.node("Sub", half, away)


def _js_divergence(graph: _Graph, region: Any, proba: str) -> str:
    # Half of KL(p, m) and half of KL(q, m), with m = (p + q) / 2.
    q = np.asarray(region.parameters["priors"], dtype=np.float64)
    middle = graph.node("Div", graph.node("Add", proba, graph.constant(q)), graph.constant(2.0))
    apart = graph.node("Sub", _plogp(graph, proba, proba), _plogp(graph, proba, middle))
    fixed = graph.constant(float(np.sum(q * np.log(np.where(q > 0, q, 1.0)))))
    other = graph.node("Sub", fixed, _plogp(graph, graph.constant(q), middle))
    both = graph.node("Div", graph.node("Add", apart, other), graph.constant(2.0))
    return graph.node("Sub", graph.constant(1.0), both)


def _plogp(graph: _Graph, weight: str, proba: str) -> str:
    """Return the sum over columns of ``weight * log(proba)``; 0 log 0 is 0."""
    safe = graph.node("Max", proba, graph.constant(np.finfo(np.float64).tiny))
    terms = graph.node("Mul", weight, graph.node("Log", safe))
    return graph.node("ReduceSum", terms, graph.constant([1], np.int64), keepdims=0)


def _top_sum(graph: _Graph, proba: str, k: int) -> str:
    name = f"top_{len(graph.nodes)}"
    graph.nodes.append(
        graph.onnx.helper.make_node(
            "TopK",
            [proba, graph.constant([k], np.int64)],
            [name, f"{name}_columns"],
            axis=1,
        )
    )
    return graph.node("ReduceSum", name, graph.constant([1], np.int64), keepdims=0)


def _at_least(graph: _Graph, value: str, edge: float) -> str:
    return graph.node("GreaterOrEqual", value, graph.constant(edge - _slack(edge)))


def _at_most(graph: _Graph, value: str, edge: float) -> str:
    return graph.node("LessOrEqual", value, graph.constant(edge + _slack(edge)))


def _slack(edge: float) -> float:
    return SLACK * abs(edge) if np.isfinite(edge) else 0.0


def _labels(graph: _Graph, policy: Policy) -> tuple[str, int]:
    """Return the class labels as a constant, and their ONNX type."""
    types = graph.onnx.TensorProto
    labels = policy.classes
    if labels.dtype.kind in "iub":
        return graph.constant(labels, np.int64), types.INT64
    if labels.dtype.kind == "f":
        return graph.constant(labels), types.DOUBLE
    name = "labels"
    text = [str(label).encode() for label in labels.tolist()]
    graph.constants.append(graph.onnx.helper.make_tensor(name, types.STRING, [len(text)], text))
    return name, types.STRING


_RULES: Registry[Callable[[_Graph, Any, str], str]] = Registry(
    "decision rule in ONNX",
    [("argmax", _argmax), ("best-gain", _best_gain), ("threshold", _threshold)],
)
_REGIONS: Registry[Callable[[_Graph, Any, str, str], str]] = Registry(
    "region in ONNX",
    [
        ("gain-threshold", _gains),
        ("interval", _in_interval),
        ("probability-boxes", _in_boxes),
        ("score-threshold", _scored),
        ("top-share", _doubts),
    ],
)
_SCORES: Registry[Callable[[_Graph, Any, str], str]] = Registry(
    "score in ONNX",
    [
        ("distance-from-half", _distance_from_half),
        ("entropy", _entropy),
        ("js-divergence", _js_divergence),
        ("margin", _margin),
        ("max-probability", _max_probability),
    ],
)


def _package() -> Any:
    try:
        import onnx
        import onnx.compose
        import onnx.version_converter
    except ModuleNotFoundError as error:
        raise ImportError(
            "ONNX export needs onnx, which comes with an extra: pip install 'abstain[onnx]'"
        ) from error
    return onnx
