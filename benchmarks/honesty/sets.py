"""The sets: scores of a classifier with labels, each one pool that every run splits afresh."""

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from abstain.datasets import (
    screening_clinic,
    simulate_binary_normal,
    simulate_four_class_normal,
)

__all__ = ["GROUPS", "NAMES", "Pool", "load", "missing"]

SIMULATED = 40_000
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows to split: scores of shape (n,) or (n, n_classes), and labels 0, 1, ..."""

    name: str
    scores: NDArray[Any]
    y: NDArray[Any]
    scale: Literal["probabilities", "logits"]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return 2 if self.scores.ndim == 1 else self.scores.shape[1]

    @property
    def proba(self) -> NDArray[Any]:
        """What the scores say, uncalibrated, a column per class."""
        return as_proba(self.scores, self.scale)


def as_proba(scores: NDArray[Any], scale: str) -> NDArray[Any]:
    """Return uncalibrated probabilities, a column per class."""
    scores = np.asarray(scores, dtype=np.float64)
    if scale == "probabilities":
        return np.column_stack([1 - scores, scores]) if scores.ndim == 1 else scores
    logits = np.column_stack([np.zeros_like(scores), scores]) if scores.ndim == 1 else scores
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba: NDArray[Any] = odds / odds.sum(axis=1, keepdims=True)
    return proba


# Prediction sets and the paper's data -----------------------------------------------------------


def _predictions(name: str) -> Pool:
    with np.load(_folder() / "predictions" / f"{name}.npz") as file:
        scores = np.concatenate([file["scores_val"], file["scores_target"]])
        y = np.concatenate([file["y_val"], file["y_target"]]).astype(int)
    return Pool(name, scores, y, "logits")


def _imdb() -> Pool:
    with np.load(_folder() / "paper" / "imdb.npz") as file:
        scores = np.concatenate([file["valid_logits"][0], file["test_logits"][0]])
        y = np.concatenate([file["valid_labels"], file["test_labels"]])
    return Pool("imdb", scores, y.astype(int), "logits")


def _retinopathy() -> Pool:
    with np.load(_folder() / "paper" / "dr.npz") as file:
        scores, y = file["det_probs"][0].astype(float), file["labels"]
    return Pool("retinopathy", scores / scores.sum(axis=1, keepdims=True), y, "probabilities")


def _folder() -> Path:
    return Path(os.environ.get("ABSTAIN_DATA", "no folder named by ABSTAIN_DATA"))


# Simulations ------------------------------------------------------------------------------------


def _clinic() -> Pool:
    """Return the demo's model at validation: over-confident, one patient in ten ill."""
    clinic = screening_clinic(SIMULATED, 1, random_state=0)
    return Pool("clinic", clinic.scores_val, clinic.y_val, "logits")


def _overlapping() -> Pool:
    """Return weak scores of two even classes, calibrated exactly."""
    simulation = simulate_binary_normal(
        SIMULATED, positive_rate=0.4, mean_negative=-0.5, mean_positive=0.5, sd_negative=1.0,
        random_state=0,
    )  # fmt: skip
    return Pool("overlapping", simulation.proba[:, 1], simulation.y, "probabilities")


def _four_classes() -> Pool:
    """Return the paper's four classes, through a model that is twice as sure as it should be."""
    simulation = simulate_four_class_normal(SIMULATED, random_state=0)
    logits = 2 * np.log(np.maximum(simulation.proba, 1e-12))
    return Pool("four_classes", logits, simulation.y, "logits")


# Sets that libraries ship, with simple models ---------------------------------------------------


def _cross_fitted(name: str, model: Any, X: Any, y: Any) -> Pool:
    """Scores of each fold by a model that was trained on the others."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    codes = np.unique(y, return_inverse=True)[1]
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    logits = cross_val_predict(model, X, codes, cv=folds, method="predict_log_proba")
    scores = logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits
    return Pool(name, scores, codes, "logits")


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2_000))


def _bayes() -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB(var_smoothing=1e-2)


def _breast_cancer() -> Pool:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    # Five of thirty features: all of them leave hardly an error to estimate.
    return _cross_fitted("breast_cancer", _logistic(), X[:, [1, 4, 8, 9, 11]], y)


def _digits() -> Pool:
    from sklearn.datasets import load_digits

    return _cross_fitted("digits", _bayes(), *load_digits(return_X_y=True))


def _wine() -> Pool:
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    return _cross_fitted("wine", _logistic(), X[:, :4], y)


def _fair() -> Pool:
    from statsmodels.datasets import fair

    table = fair.load_pandas().data
    return _cross_fitted("fair", _logistic(), table.drop(columns="affairs"), table.affairs > 0)


def _anes96() -> Pool:
    """Return seven ordinal classes that the scores hardly tell apart."""
    from statsmodels.datasets import anes96

    table = anes96.load_pandas().data
    return _cross_fitted("anes96", _logistic(), table.drop(columns=["PID", "vote"]), table.PID)


def _nannyml(name: str) -> Pool:
    from benchmarks.honesty.nanny import SOURCES

    source = SOURCES[name]
    reference, analysis = source.parts()
    scores = np.concatenate([reference.scores, analysis.scores])
    y = np.concatenate([reference.y, analysis.y])
    return Pool(name, scores, np.searchsorted(np.unique(y), y), "probabilities")


def _titanic() -> Pool:
    import pandas as pd

    from benchmarks.honesty.nanny import nannyml

    reference, analysis, truth = nannyml().datasets.load_titanic_dataset()
    table = pd.concat([reference, analysis.merge(truth, on="PassengerId")])
    X = np.column_stack(
        [table.Sex == "female", table.Pclass, table.Age.fillna(30), table.SibSp + table.Parch]
    )
    return _cross_fitted("titanic", _bayes(), X.astype(float), table.Survived)


_PREDICTIONS = (
    "cifar10_resnet20", "pathmnist_resnet50", "support_hospdeath", "hate_speech", "hpc_cv",
    "fvcaus_speaker_verif",
)  # fmt: skip
_NANNYML = ("car_loan", "census", "california", "credit_cards")

_LOADERS: dict[str, Callable[[], Pool]] = {
    **{name: lambda name=name: _predictions(name) for name in _PREDICTIONS},  # type: ignore[misc]
    "imdb": _imdb,
    "retinopathy": _retinopathy,
    "clinic": _clinic,
    "overlapping": _overlapping,
    "four_classes": _four_classes,
    "breast_cancer": _breast_cancer,
    "digits": _digits,
    "wine": _wine,
    "fair": _fair,
    "anes96": _anes96,
    **{name: lambda name=name: _nannyml(name) for name in _NANNYML},  # type: ignore[misc]
    "titanic": _titanic,
}
NAMES = tuple(_LOADERS)
GROUPS = {
    "predictions": _PREDICTIONS,
    "paper": ("imdb", "retinopathy"),
    "simulations": ("clinic", "overlapping", "four_classes"),
    "sklearn": ("breast_cancer", "digits", "wine"),
    "statsmodels": ("fair", "anes96"),
    "nannyml": (*_NANNYML, "titanic"),
}


@cache
def load(name: str) -> Pool:
    """Return the set of that name."""
    return _LOADERS[name]()


def missing(name: str) -> str | None:
    """Return why a set cannot be loaded here, or None if it can."""
    group = next(group for group, names in GROUPS.items() if name in names)
    if group in ("predictions", "paper"):
        file = {"imdb": "imdb", "retinopathy": "dr"}.get(name, name)
        inside = f"{group}/{file}.npz"
        if (_folder() / inside).exists():
            return None
        return f"{inside} is not in the folder that the variable ABSTAIN_DATA names"
    if group in ("statsmodels", "nannyml") and importlib.util.find_spec(group) is None:
        return f"the package {group} is not installed (pip install --group bench)"
    return None
