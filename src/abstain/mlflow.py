"""Policies in MLflow: logged as a pyfunc model, loaded back as a policy.

The model is the policy's own JSON file and the name of this module; nothing is pickled.
"""

import tempfile
import warnings
from pathlib import Path
from typing import Any

from abstain.policy import Policy

__all__ = ["load_policy", "log_policy"]

FILE = "policy.json"


def log_policy(policy: Policy, name: str = "policy", **options: Any) -> Any:
    """Log a policy to the active MLflow run, or to a new one.

    Parameters
    ----------
    policy : Policy
        The rule.
    name : str
        What the model is called within the run.
    **options
        Handed to ``mlflow.pyfunc.log_model``, such as ``registered_model_name``.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its ``model_uri`` is what :func:`load_policy` and ``mlflow.pyfunc.load_model`` take.
    """
    mlflow = _package()
    with tempfile.TemporaryDirectory() as folder:
        policy.save(Path(folder) / FILE)
        return mlflow.pyfunc.log_model(
            name=name,
            loader_module="abstain.mlflow",
            data_path=str(Path(folder) / FILE),
            pip_requirements=[f"abstain=={policy.version}"],
            **options,
        )


def load_policy(model_uri: str) -> Policy:
    """Load a policy that :func:`log_policy` logged.

    Parameters
    ----------
    model_uri : str
        Where MLflow keeps it, such as ``runs:/<run>/policy`` or ``models:/<name>/<version>``.
    """
    folder = Path(_package().artifacts.download_artifacts(artifact_uri=model_uri))
    found = sorted(folder.rglob(FILE))
    if not found:
        raise FileNotFoundError(f"There is no {FILE} at {model_uri}; was it logged by log_policy?")
    return Policy.load(found[0])


class _DecidingModel:
    """What ``mlflow.pyfunc.load_model`` wraps: scores in, a frame of decisions out."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Decide about the rows of a frame or an array of scores."""
        return self.policy.apply(model_input).to_frame()


def _load_pyfunc(path: str) -> _DecidingModel:
    """Load the model; MLflow calls this by name."""
    return _DecidingModel(Policy.load(path))


def _package() -> Any:
    try:
        with warnings.catch_warnings():
            # Loading MLflow warns about type hints of its own, which is no user's business.
            warnings.simplefilter("ignore")
            import mlflow
            import mlflow.artifacts
            import mlflow.pyfunc
    except ModuleNotFoundError as error:
        raise ImportError(
            "Logging to MLflow needs mlflow, which comes with an extra: "
            "pip install 'abstain[mlflow]'"
        ) from error
    return mlflow
