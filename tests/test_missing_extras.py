"""An optional package that is missing is named in one line, with the extra that brings it."""

import subprocess
import sys

import pytest

from abstain import Abstainer
from abstain.datasets import screening_clinic
from abstain.shift import MaximumLikelihoodShift


@pytest.fixture(scope="module")
def decisions():
    clinic = screening_clinic(300, 300, random_state=0)
    abstainer = Abstainer("auroc", budget=0.1, calibration="platt", scale="logits", random_state=0)
    return abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target)


def draw(decisions, tmp_path):
    from abstain.plots import RegionDisplay

    RegionDisplay.from_decisions(decisions)


def draw_reliability(decisions, tmp_path):
    from abstain.plots import ReliabilityDisplay

    ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.7])


def make_frame(decisions, tmp_path):
    decisions.to_frame()


def read_frame(decisions, tmp_path):
    class Frame:
        columns = ("p_0", "p_1")

    decisions.policy.apply(Frame())


def wrap_a_model(decisions, tmp_path):
    from abstain import AbstainingClassifier

    AbstainingClassifier(None)


def export_onnx(decisions, tmp_path):
    decisions.policy.to_onnx()


def export_sql(decisions, tmp_path):
    decisions.policy.to_sql("duckdb", table="t", scores=["s"])


def log_to_mlflow(decisions, tmp_path):
    from abstain.mlflow import log_policy

    log_policy(decisions.policy)


def load_from_mlflow(decisions, tmp_path):
    from abstain.mlflow import load_policy

    load_policy("runs:/1/policy")


def stream(decisions, tmp_path):
    from abstain.arrow import apply

    apply([], decisions.policy)


def collect(decisions, tmp_path):
    from abstain.torch import collect_logits

    collect_logits(None, [])


def draw_dropout(decisions, tmp_path):
    from abstain.torch import sample_predictions

    sample_predictions(None, [])


def draw_dropout_by_keras(decisions, tmp_path):
    from abstain.keras import sample_predictions

    sample_predictions(None, [])


def decide_in_dask(decisions, tmp_path):
    from abstain.dask import apply

    apply(None, decisions.policy)


def decide_in_spark(decisions, tmp_path):
    from abstain.spark import apply

    apply(None, decisions.policy)


@pytest.mark.parametrize(
    ("hidden", "extra", "use"),
    [
        ("matplotlib", "abstain[plots]", draw),
        ("matplotlib", "abstain[plots]", draw_reliability),
        ("narwhals", "abstain[dataframes]", make_frame),
        ("narwhals", "abstain[dataframes]", read_frame),
        ("pyarrow", "abstain[arrow]", stream),
        ("sklearn", "abstain[sklearn]", wrap_a_model),
        ("onnx", "abstain[onnx]", export_onnx),
        ("sqlglot", "abstain[sql]", export_sql),
        ("mlflow", "abstain[mlflow]", log_to_mlflow),
        ("mlflow", "abstain[mlflow]", load_from_mlflow),
        ("dask", "abstain[dask]", decide_in_dask),
        ("pyspark", "abstain[spark]", decide_in_spark),
        ("torch", "abstain[torch]", collect),
        ("torch", "abstain[torch]", draw_dropout),
        ("keras", "keras", draw_dropout_by_keras),
    ],
)
def test_one_line_names_the_extra(hidden, extra, use, decisions, tmp_path, monkeypatch):
    for name in [*sys.modules]:
        if name.partition(".")[0] == hidden or name == "abstain.classifier":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, hidden, None)
    with pytest.raises(ImportError) as raised:
        use(decisions, tmp_path)
    message = str(raised.value)
    assert "\n" not in message
    assert f"pip install '{extra}'" in message or f"pip install {extra}" in message


def test_without_scikit_learn_its_errors_are_their_bases(decisions, monkeypatch):
    for name in [*sys.modules]:
        if name.partition(".")[0] == "sklearn":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ValueError, match="not fitted"):
        Abstainer("auroc", budget=0.1).decide([0.2, 0.7])
    p = [[0.3, 0.7], [0.8, 0.2], [0.6, 0.4]]
    stopped = MaximumLikelihoodShift(max_iter=1, algorithm="em")
    with pytest.warns(UserWarning, match="max_iter"):
        stopped.fit(p, p[::2], [1, 0, 0])


@pytest.mark.parametrize("hidden", ["click", "pyarrow"])
def test_the_command_line_names_its_extra(hidden, tmp_path):
    (tmp_path / "scores.csv").write_text("p,y\n0.1,0\n0.9,1\n")
    command = ["run", "scores.csv", "scores.csv", "--scores", "p", "--label", "y",
               "--metric", "auroc", "--budget", "0.1"]  # fmt: skip
    program = (
        f"import sys; sys.modules[{hidden!r}] = None; sys.argv[1:] = {command!r}\n"
        f"from abstain.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert f"needs {hidden}" in done.stderr
    assert "pip install 'abstain[cli]'" in done.stderr
