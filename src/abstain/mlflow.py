"""Policies in MLflow: logged as a pyfunc model, and what is known of them to the run.

The model is the policy's own JSON file and the name of this module; nothing is pickled.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from abstain._numerics import plain
from abstain.decisions import Decisions
from abstain.exceptions import extra
from abstain.policy import Policy

__all__ = ["load_policy", "log_policy"]

FILE = "policy.json"
# MLflow takes parameters of up to this many characters.
_LONGEST = 6_000


def log_policy(
    policy: Policy | Decisions, name: str = "policy", *, log_run: bool = True, **options: Any
) -> Any:
    """Log a policy to the active MLflow run, or to a new one.

    Parameters
    ----------
    policy : Policy or Decisions
        The rule; of decisions theirs, and the share that they withhold is logged with it.
    name : str
        What the model is called within the run.
    log_run : bool
        Whether to log what is known of the policy to the run too: how it was made as parameters
        (``abstain.metric``, ``abstain.budget``, ...), what was estimated as metrics
        (``abstain.before``, ``abstain.after``, ``abstain.after_low``, ...), the checksum of the
        policy as the tag ``abstain.sha256``. A parameter that the run has already is left alone.
    **options
        Handed to ``mlflow.pyfunc.log_model``, such as ``registered_model_name``. Options given
        here take the place of those made from the policy: ``input_example``, ``signature``,
        ``metadata``, ``pip_requirements``.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its ``model_uri`` is what :func:`load_policy` and ``mlflow.pyfunc.load_model`` take.

    Notes
    -----
    MLflow hands to a model what its signature names and nothing else. By default that is a column
    of scores for each class, ``p_<class>``; of two classes the positive one alone will do. Where
    other columns (an id) are to come through, or an array is to go in, pass a few rows of what
    will come as ``input_example``: the signature is then that of these.
    """
    mlflow = _package()
    decisions = policy if isinstance(policy, Decisions) else None
    rule: Policy = policy.policy if isinstance(policy, Decisions) else policy
    settings = _settings(rule)
    made: dict[str, Any] = {
        "pip_requirements": [f"abstain[dataframes,mlflow]=={rule.version}"],
        "metadata": {f"abstain.{key}": value for key, value in settings.items()},
        **_shown(mlflow, rule, options),
    }
    with tempfile.TemporaryDirectory() as folder:
        rule.save(Path(folder) / FILE)
        info = mlflow.pyfunc.log_model(
            name=name,
            loader_module="abstain.mlflow",
            data_path=str(Path(folder) / FILE),
            **{**made, **options},
        )
    if log_run and info.run_id is not None:
        _log_to_run(mlflow.MlflowClient(), info.run_id, settings, _figures(rule, decisions))
    return info


def _log_to_run(
    client: Any, run_id: str, settings: dict[str, str], figures: dict[str, float]
) -> None:
    """Log to a run: parameters that it does not have yet, metrics, tags."""
    there = client.get_run(run_id).data.params
    for key, text in settings.items():
        if key in ("sha256", "version"):
            client.set_tag(run_id, f"abstain.{key}", text)
        elif f"abstain.{key}" not in there:
            client.log_param(run_id, f"abstain.{key}", text)
    for key, figure in figures.items():
        if np.isfinite(figure):
            client.log_metric(run_id, f"abstain.{key}", figure)


def _settings(policy: Policy) -> dict[str, str]:
    """Return how the rule was made, as text."""
    found: dict[str, Any] = {
        "metric": policy.metric.name,
        "classes": json.dumps(plain(policy.classes)),
        "positive": policy.positive,
        "scale": policy.calibrator.scale,
        "calibration": policy.calibrator.name,
        "shift": None if policy.shift is None else policy.shift.name,
        "withholds": policy.region.describe(),
        "predicts": policy.rule.describe(),
        "version": policy.version,
        "created": policy.created,
        "sha256": policy.sha256,
    }
    if policy.assumption is not None:
        found["assumed"] = policy.assumption.assumed
    chosen = policy.selection
    if chosen is not None:
        for key in ("budget", "target", "cost", "score", "decision"):
            found[key] = plain(getattr(chosen, key))
    return {key: str(value)[:_LONGEST] for key, value in found.items() if value is not None}


def _figures(policy: Policy, decisions: Decisions | None) -> dict[str, float]:
    """Return what was estimated of the rule, as numbers."""
    found: dict[str, float] = {}
    if decisions is not None:
        found |= {"rows": len(decisions), "abstention_rate": decisions.abstention_rate}
    if policy.estimate is not None:
        for when in ("before", "after"):
            one = getattr(policy.estimate, when)
            low, high = one.interval
            found |= {when: one.value, f"{when}_low": low, f"{when}_high": high}
    if policy.assumption is not None and policy.assumption.p_value is not None:
        found["label_shift_p"] = policy.assumption.p_value
    if policy.assumption is not None and policy.assumption.worlds is not None:
        found |= {f"world.{name}": share for name, share in policy.assumption.worlds.items()}
    for kind, priors in (("prior", policy.priors), ("source_prior", policy.source_priors)):
        for label, share in zip(policy.classes.tolist(), priors, strict=True):
            found[f"{kind}.{_as_key(label)}"] = float(share)
    return found


def _as_key(label: Any) -> str:
    """Return a label with nothing but the letters that MLflow allows in a name."""
    text = str(label)
    return "".join(one if one.isalnum() or one in "_-. /" else "_" for one in text)


def _shown(mlflow: Any, policy: Policy, options: dict[str, Any]) -> dict[str, Any]:
    """Return an example of what goes in, and the signature of that and of what comes out."""
    if "signature" in options:
        return {}
    example = options.get("input_example")
    if example is None:
        example = _example(policy)
    elif not (hasattr(example, "columns") or isinstance(example, np.ndarray)):
        return {}
    with warnings.catch_warnings():
        # Of whole numbers MLflow says that they cannot be missing; labels are not.
        warnings.simplefilter("ignore", UserWarning)
        signature = mlflow.models.infer_signature(example, policy.apply(example).to_frame())
    if "input_example" not in options and len(policy.classes) == 2:
        types = mlflow.types
        negative, positive = signature.inputs.inputs
        optional = types.ColSpec(negative.type, negative.name, required=False)
        signature.inputs = types.Schema([optional, positive])
    return {"input_example": example, "signature": signature}


def _example(policy: Policy) -> Any:
    """Return rows that are likely of each of the first classes, and a doubtful one, as a frame."""
    pandas: Any = import_module("pandas")
    n = len(policy.classes)
    shares = np.full((n, n), 0.1 / max(n - 1, 1))
    np.fill_diagonal(shares, 0.9)
    shares = np.vstack([shares[:4], np.full(n, 1 / n)])
    values = np.log(shares) if policy.calibrator.scale == "logits" else shares
    return pandas.DataFrame(values, columns=[f"p_{label}" for label in policy.classes.tolist()])


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
    with extra("mlflow", "Logging to MLflow needs mlflow"), warnings.catch_warnings():
        # Loading MLflow warns about type hints of its own, which is no user's business.
        warnings.simplefilter("ignore")
        import mlflow
        import mlflow.artifacts
        import mlflow.models
        import mlflow.pyfunc
        import mlflow.types
    return mlflow
