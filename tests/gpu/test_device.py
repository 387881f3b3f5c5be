"""Scores on a GPU: the same answers as in memory, on the same device, within float32."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from abstain import Abstainer, Summary
from abstain.cuda import DeviceDecisions

cp = pytest.importorskip("cupy", reason="No CuPy here: what runs on a GPU is not tested")
try:
    HAS_DEVICE = cp.cuda.runtime.getDeviceCount() > 0
except cp.cuda.runtime.CUDARuntimeError:
    HAS_DEVICE = False
if not HAS_DEVICE:
    pytest.skip("No CUDA device here: what runs on a GPU is not tested", allow_module_level=True)
torch = pytest.importorskip("torch")

CALIBRATORS = [
    "platt",
    "temperature",
    "bcts",
    "vector",
    "nbvs",
    "isotonic",
    "beta",
    "dirichlet",
    "identity",
]
OF_MANY = [name for name in CALIBRATORS if name not in ("beta", "platt")]
RANKING = ["sensitivity@specificity=0.9", "auroc", "average-precision"]
OF_CONFUSION = ["accuracy", "f1:macro", "kappa:quadratic", "balanced-accuracy"]
SCORES = ["max-probability", "entropy", "margin", "js-divergence"]


def two_classes(n=40_000, seed=0):
    rng = np.random.default_rng(seed)
    y_val = (rng.random(3000) < 0.4).astype(int)
    y = (rng.random(n) < 0.2).astype(int)
    val = 2 * y_val + rng.normal(size=3000) - 1
    new = 2 * y + rng.normal(size=n) - 1
    return val.astype(np.float32), y_val, new.astype(np.float32)


def many_classes(k, n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    y_val, y = rng.integers(k, size=3000), rng.integers(k, size=n)
    val, new = rng.normal(size=(3000, k)), rng.normal(size=(n, k))
    val[np.arange(3000), y_val] += 2
    new[np.arange(n), y] += 2
    return val.astype(np.float32), y_val, new.astype(np.float32)


def probabilities(logits):
    if logits.ndim == 1:
        return (1 / (1 + np.exp(-logits.astype(float)))).astype(np.float32)
    shares = np.exp(logits.astype(float))
    return (shares / shares.sum(axis=1, keepdims=True)).astype(np.float64)


def assert_alike(there, here, most=1e-4):
    assert isinstance(there, DeviceDecisions)
    n = len(here)
    assert (there.abstain.cpu().numpy() != here.abstain).sum() <= max(1, most * n)
    np.testing.assert_allclose(there.proba.cpu().numpy(), here.proba, atol=2e-6)
    np.testing.assert_allclose(there.priors, here.priors, atol=1e-5)
    assert (there.prediction.cpu().numpy() != here.prediction).sum() <= max(1, most * n)


@pytest.mark.parametrize("calibration", CALIBRATORS)
@pytest.mark.parametrize("scale", ["logits", "probabilities"])
def test_two_classes_are_calibrated_and_decided_alike(calibration, scale):
    val, y, new = two_classes()
    if scale == "probabilities":
        val, new = probabilities(val), probabilities(new)
    abstainer = Abstainer(
        "auroc", budget=0.15, calibration=calibration, scale=scale, random_state=0
    ).fit(val, y)
    there, here = abstainer.decide(torch.from_numpy(new).cuda()), abstainer.decide(new)
    # Where the curve is flat many rows lie in one bin, and as good a window is found beside.
    assert_alike(there, here, 0.02 if calibration == "isotonic" else 1e-4)


@pytest.mark.parametrize("metric", [*RANKING, "accuracy", "f1", "mcc"])
@pytest.mark.parametrize("score", [None, "max-probability", "entropy", "distance-from-half"])
def test_every_metric_and_score_of_two_classes(metric, score):
    val, y, new = two_classes(seed=1)
    abstainer = Abstainer(metric, budget=0.1, scale="logits", score=score, random_state=0)
    abstainer.fit(val, y)
    assert_alike(abstainer.decide(torch.from_numpy(new).cuda()), abstainer.decide(new), 1e-3)


@pytest.mark.parametrize(
    "calibration", [one for one in CALIBRATORS if one not in ("beta", "platt")]
)
def test_ten_classes_are_calibrated_and_decided_alike(calibration):
    val, y, new = many_classes(10)
    kind = {"calibration": calibration, "scale": "logits", "random_state": 0}
    abstainer = Abstainer("accuracy", budget=0.15, **kind).fit(val, y)
    assert_alike(abstainer.decide(torch.from_numpy(new).cuda()), abstainer.decide(new))


@pytest.mark.parametrize("metric", OF_CONFUSION)
@pytest.mark.parametrize("score", [None, *SCORES])
def test_every_metric_and_score_of_more_classes(metric, score):
    val, y, new = many_classes(4)
    abstainer = Abstainer(metric, budget=0.1, scale="logits", score=score, random_state=0)
    abstainer.fit(val, y)
    assert_alike(abstainer.decide(torch.from_numpy(new).cuda()), abstainer.decide(new), 1e-3)


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cupy_arrays_stay_cupy_arrays(columns, dtype):
    val, y, new = two_classes()
    new = new.astype(dtype)
    if columns == 2:
        val, new = np.column_stack([-val, val]) / 2, np.column_stack([-new, new]) / 2
    abstainer = Abstainer("auroc", budget=0.15, calibration="platt", scale="logits").fit(val, y)
    there, here = abstainer.decide(cp.asarray(new)), abstainer.decide(new)
    assert isinstance(there.abstain, cp.ndarray)
    assert there.proba.dtype == dtype
    np.testing.assert_allclose(cp.asnumpy(there.proba), here.proba, atol=2e-6)
    assert (cp.asnumpy(there.abstain) != here.abstain).sum() <= 4


def test_a_policy_applies_to_tensors_as_to_arrays():
    val, y, new = two_classes()
    abstainer = Abstainer("auroc", budget=0.15, calibration="platt", scale="logits").fit(val, y)
    policy = abstainer.decide(new).policy
    tensor = torch.from_numpy(new).cuda()
    there, here = policy.apply(tensor), policy.apply(new)
    assert there.abstain.device == tensor.device
    assert there.abstain.dtype == torch.bool
    assert (there.abstain.cpu().numpy() == here.abstain).all()
    assert there.abstention_rate == pytest.approx(here.abstention_rate)
    assert "rows withheld" in repr(there)


def test_a_summary_made_on_the_device_is_that_of_memory():
    val, y, new = two_classes()
    abstainer = Abstainer("auroc", budget=0.15, calibration="platt", scale="logits").fit(val, y)
    there = abstainer.summarise(torch.from_numpy(new).cuda())
    here = abstainer.summarise(new)
    assert there.n_rows == here.n_rows
    both = there.merge(here)
    assert both.n_rows == 2 * len(new)
    assert Summary.from_bytes(both.to_bytes()).n_rows == both.n_rows
    moved = np.abs(np.cumsum(there.part.cells[:, 0] - here.part.cells[:, 0])).max()
    assert moved <= 2


def test_more_rows_than_are_summed_at_a_time(monkeypatch):
    import abstain.cuda._kernels as kernels

    val, y, new = two_classes()
    abstainer = Abstainer("auroc", budget=0.15, calibration="platt", scale="logits").fit(val, y)
    whole = abstainer.summarise(cp.asarray(new)).to_bytes()
    monkeypatch.setattr(kernels, "_AT_A_TIME", 1000)
    assert abstainer.summarise(cp.asarray(new)).to_bytes() == whole


def test_rows_without_a_score_go_to_a_person():
    val, y, new = two_classes()
    new[[3, 17]] = np.nan
    abstainer = Abstainer("auroc", budget=0.15, calibration="platt", scale="logits").fit(val, y)
    tensor = torch.from_numpy(new).cuda()
    with pytest.raises(ValueError, match="2 of 40000 rows are NaN"):
        abstainer.decide(tensor)
    decisions = abstainer.decide(tensor, missing="refer")
    assert decisions.abstain[[3, 17]].all()
    assert decisions.proba[3].isnan().all()
    assert decisions.abstention_rate <= 0.15
    with pytest.raises(ValueError, match="Leave rows out"):
        abstainer.decide(tensor, missing="drop")


def test_what_is_for_memory_alone_is_refused():
    val, y, new = two_classes()
    abstainer = Abstainer("auroc", budget=0.15, calibration="platt", scale="logits").fit(val, y)
    tensor = torch.from_numpy(new).cuda()
    with pytest.raises(ValueError, match="`sample_weight` is for scores in memory"):
        abstainer.decide(tensor, np.ones(len(new)))
    with pytest.raises(ValueError, match="`at_most` is for scores in memory"):
        abstainer.decide(new).policy.apply(tensor, at_most=3)
    with pytest.raises(TypeError, match="floating-point"):
        abstainer.decide(tensor.int())
    with pytest.raises(ValueError, match="column for each of 2 classes"):
        abstainer.decide(torch.zeros(5, 3).cuda())
    with pytest.raises(ValueError, match="must be finite"):
        abstainer.decide(torch.full((200,), torch.inf).cuda())


def test_tensors_of_a_graph_and_of_half_precision_are_taken():
    val, y, new = two_classes()
    abstainer = Abstainer("auroc", budget=0.15, calibration="platt", scale="logits").fit(val, y)
    tensor = torch.from_numpy(new).cuda()
    for one in (tensor.clone().requires_grad_(), tensor.half(), tensor.bfloat16()):
        assert abstainer.decide(one).abstention_rate == pytest.approx(0.15, abs=0.01)


def test_another_stream_is_waited_for():
    val, y, new = two_classes(1_000_000)
    abstainer = Abstainer("auroc", budget=0.15, calibration="platt", scale="logits").fit(val, y)
    stream = torch.cuda.Stream()
    source = torch.from_numpy(new).cuda()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        made = source.clone()
        for _ in range(50):
            made = made + 0.0
        there = abstainer.decide(made)
    torch.cuda.synchronize()
    assert there.abstention_rate == pytest.approx(0.15, abs=1e-3)


def test_the_page_about_it_runs():
    page = Path(__file__).parents[2] / "docs" / "guide" / "gpu.md"
    for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL):
        exec(compile(block, str(page), "exec"), {})
