"""Policies in MLflow, against a store in a folder of the test's own."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

# Read when MLflow is loaded: nothing is to be reported to anybody from a test.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # MLflow warns about type hints of its own
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed (extra: mlflow)")
    pytest.importorskip("mlflow.pyfunc", reason="MLflow's models need pandas")
pandas = pytest.importorskip("pandas")

from abstain import Abstainer  # noqa: E402
from abstain.datasets import screening_clinic, simulate_four_class_normal  # noqa: E402
from abstain.mlflow import load_policy, log_policy  # noqa: E402

# MLflow's own modules may warn; ours and what they call may not.
pytestmark = pytest.mark.filterwarnings("ignore:::mlflow")

NAMES = np.array(["none", "mild", "bad", "awful"])


@pytest.fixture(scope="module")
def decided():
    simulation = simulate_four_class_normal(200, random_state=0)
    abstainer = Abstainer("kappa:quadratic", budget=0.2, calibration="bcts", random_state=0)
    abstainer.fit(simulation.proba, NAMES[simulation.y], classes=NAMES)
    return simulation.proba, abstainer.decide(simulation.proba)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Make MLflow keep everything in a folder, and forget it afterwards."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    mlflow.set_experiment("policies")
    yield tmp_path / "runs"
    mlflow.set_tracking_uri(before)


def test_a_policy_goes_in_and_comes_back(decided, store):
    proba, decisions = decided
    with mlflow.start_run() as run:
        info = log_policy(decisions.policy)
    for uri in (info.model_uri, f"runs:/{run.info.run_id}/policy"):
        again = load_policy(uri)
        assert again.to_dict() == decisions.policy.to_dict()
        assert (again.apply(proba).abstain == decisions.abstain).all()
    kept = sorted(path.name for path in store.rglob("*") if "policy" in path.name)
    assert kept == ["policy.json"]
    assert not list(store.rglob("*.pkl"))


def test_as_a_model_it_gives_a_frame_of_decisions(decided, store):
    proba, decisions = decided
    frame = pandas.DataFrame(proba, columns=[f"p_{name}" for name in NAMES])
    frame.insert(0, "patient", [f"number {row}" for row in range(len(proba))])
    with mlflow.start_run():
        info = log_policy(decisions.policy, "triage", input_example=frame.head(3))
    model = mlflow.pyfunc.load_model(info.model_uri)
    found = model.predict(frame)
    assert list(found.columns)[:5] == ["patient", "abstain", "reason", "prediction", "gain"]
    assert found["patient"].tolist() == frame["patient"].tolist()
    assert (found["abstain"] == decisions.abstain).all()
    assert (found["prediction"] == decisions.prediction).all()
    with mlflow.start_run():
        info = log_policy(decisions.policy, "triage", input_example=proba[:3])
    model = mlflow.pyfunc.load_model(info.model_uri)
    assert (model.predict(proba)["abstain"] == decisions.abstain).all()


def test_what_is_no_policy_is_refused(store, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("something else")
    with mlflow.start_run() as run:
        mlflow.log_artifact(str(other), "things")
    with pytest.raises(FileNotFoundError, match=r"There is no policy\.json at runs:/"):
        load_policy(f"runs:/{run.info.run_id}/things")


def test_the_requirement_is_this_library(decided, store):
    with mlflow.start_run():
        info = log_policy(decided[1].policy)
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=info.model_uri))
    requirements = (folder / "requirements.txt").read_text().split()
    # The frames that go in and out need their extra too.
    assert f"abstain[dataframes,mlflow]=={decided[1].policy.version}" in requirements


def test_the_run_says_what_was_logged(decided, store):
    decisions = decided[1]
    with mlflow.start_run() as run:
        mlflow.log_param("abstain.scale", "mine")
        info = log_policy(decisions)
    data = mlflow.get_run(run.info.run_id).data
    policy = decisions.policy
    assert data.params["abstain.metric"] == "kappa:quadratic"
    assert data.params["abstain.budget"] == "0.2"
    assert data.params["abstain.calibration"] == "bcts"
    assert data.params["abstain.shift"] == "auto"
    assert data.params["abstain.classes"] == '["none", "mild", "bad", "awful"]'
    assert "abstain.positive" not in data.params
    assert data.params["abstain.scale"] == "mine"
    after = policy.estimate.after
    low, high = after.interval
    figures = [data.metrics[f"abstain.{key}"] for key in ("after", "after_low", "after_high")]
    assert figures == pytest.approx([after.value, low, high])
    assert data.metrics["abstain.before"] == pytest.approx(policy.estimate.before.value)
    assert data.metrics["abstain.abstention_rate"] == pytest.approx(decisions.abstention_rate)
    assert data.metrics["abstain.prior.mild"] == pytest.approx(policy.priors[1])
    assert data.tags["abstain.version"] == policy.version
    assert data.tags.get("abstain.sha256") == getattr(policy, "sha256", None)
    assert info.metadata["abstain.metric"] == "kappa:quadratic"


def test_the_example_goes_in_and_what_is_signed_comes_out(decided, store):
    with mlflow.start_run():
        info = log_policy(decided[1].policy)
    model = mlflow.pyfunc.load_model(info.model_uri)
    found = model.predict(model.input_example)
    assert model.metadata.get_input_schema().input_names() == [f"p_{name}" for name in NAMES]
    assert model.metadata.get_output_schema().input_names() == list(found.columns)
    assert found["prediction"].tolist()[:4] == NAMES.tolist()


def test_of_two_classes_the_positive_one_will_do(store):
    clinic = screening_clinic(300, 300, random_state=0)
    abstainer = Abstainer("auroc", budget=0.1, calibration="platt", scale="logits", random_state=0)
    policy = abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target).policy
    with mlflow.start_run():
        info = log_policy(policy)
    model = mlflow.pyfunc.load_model(info.model_uri)
    expected = policy.apply(clinic.scores_target).abstain.tolist()
    one = pandas.DataFrame({"p_1": clinic.scores_target})
    assert model.predict(one)["abstain"].tolist() == expected
    both = one.assign(p_0=0.0)
    assert model.predict(both)["abstain"].tolist() == expected
    assert mlflow.get_run(info.run_id).data.params["abstain.positive"] == "1"


def test_what_the_user_says_wins(decided, store):
    with mlflow.start_run() as run:
        info = log_policy(
            decided[1].policy,
            log_run=False,
            signature=None,
            metadata={"mine": 1},
            pip_requirements=["abstain"],
        )
    assert info.signature is None
    assert info.metadata == {"mine": 1}
    assert not mlflow.get_run(run.info.run_id).data.params
    # As models were logged before there were signatures: anything goes in.
    model = mlflow.pyfunc.load_model(info.model_uri)
    assert (model.predict(decided[0])["abstain"] == decided[1].abstain).all()
