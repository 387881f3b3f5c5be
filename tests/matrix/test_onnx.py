"""Every rule that reads probabilities alone runs as ONNX; the others say that they do not."""

import numpy as np
import pytest

from .cells import CALLABLE, CELLS, DROPOUT, batch, decided, pairwise

pytest.importorskip("onnx", reason="ONNX export needs the extra 'onnx'")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime to run the graph")

WITHOUT_GRAPH = ("random", CALLABLE, DROPOUT)


def run(model, scores):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(["probabilities", "prediction", "abstain"], {"scores": scores})


@pytest.mark.parametrize(
    "cell", pairwise([cell for cell in CELLS if cell.score not in WITHOUT_GRAPH])
)
def test_the_graph_decides_as_the_policy_does(cell):
    decisions, data = decided(cell), batch(cell.classes)
    columns = data.scores.reshape(len(data.scores), -1)
    model = decisions.policy.to_onnx(columns=columns.shape[1])
    proba, prediction, abstain = run(model, columns)
    assert proba == pytest.approx(decisions.proba, abs=1e-6)
    assert prediction.tolist() == decisions.prediction.tolist()
    assert abstain.tolist() == decisions.abstain.tolist()
    # Other rows than those the rule was chosen on, one of them alone.
    recent = data.recent.reshape(len(data.recent), -1)
    expected = decisions.policy.apply(data.recent)
    np.testing.assert_array_equal(run(model, recent)[2], expected.abstain)
    np.testing.assert_array_equal(run(model, recent[:1])[2], expected.abstain[:1])


@pytest.mark.parametrize("cell", pairwise([cell for cell in CELLS if cell.score in WITHOUT_GRAPH]))
def test_what_has_no_graph_says_so(cell):
    named = "function|callable|your own" if cell.score == CALLABLE else cell.score
    with pytest.raises((TypeError, ValueError), match=f"score.*({named})"):
        decided(cell).policy.to_onnx()
