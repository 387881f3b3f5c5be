"""onnxruntime: model and rule in one ONNX file, which runs where there is no Python library.

Run it with: python examples/onnx_runtime.py
"""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from abstain import Abstainer
from abstain.onnx import merge_with_model


def as_onnx(model):
    """Write a linear classifier as a graph from features to logits.

    Any exporter will do for this step; by hand it needs no further package.
    """
    weights = numpy_helper.from_array(model.coef_.T.astype(np.float32), "weights")
    biases = numpy_helper.from_array(model.intercept_.astype(np.float32), "biases")
    nodes = [helper.make_node("Gemm", ["features", "weights", "biases"], ["logits"])]
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", len(model.coef_.T)])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", len(model.coef_)])],
        [weights, biases],
    )
    exported = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    exported.ir_version = 10
    onnx.checker.check_model(exported)
    return exported


def run(model, features):
    """Run a graph and return its outputs by name."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    values = session.run(names, {"features": features.astype(np.float32)})
    return dict(zip(names, values, strict=True))


def main():
    iris = load_iris()
    X_train, X_rest, y_train, y_rest = train_test_split(
        iris.data, iris.target_names[iris.target], test_size=0.6, random_state=0
    )
    model = LogisticRegression(max_iter=1_000).fit(X_train, y_train)
    classifier = as_onnx(model)

    # Make the rule on the scores of the graph itself: they are float32, and a row on the edge of
    # the rule could fall on the other side with the last digits of scikit-learn's float64.
    scores = run(classifier, X_rest)["logits"]
    abstainer = Abstainer(
        "accuracy", budget=0.1, calibration="temperature", scale="logits", random_state=0
    )
    decisions = abstainer.fit(scores, y_rest, classes=model.classes_).decide(scores)

    # One graph: features in; probabilities, prediction and abstain out.
    whole = merge_with_model(classifier, decisions.policy)
    found = run(whole, X_rest)
    print("outputs:", *found)
    abstain, prediction = found["abstain_abstain"], found["abstain_prediction"]
    print("to a person:", int(abstain.sum()), "of", len(abstain))
    print("same decisions as in Python:", bool((abstain == decisions.abstain).all()))
    print("same predictions as in Python:", bool((prediction == decisions.prediction).all()))


if __name__ == "__main__":
    main()
