"""The binary experiments: IMDB and cat v dog under label shift, two genomics tasks without.

Ten models, three trials each; the seeds are the paper's (its Section 6 and Tables 1 and 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from abstain._inputs import FloatArray, IntArray
from abstain.metrics import AUROC, SensitivityAtSpecificity
from abstain.paper._experiment import read_arrays
from abstain.paper._published import Published
from abstain.paper._table_experiment import TableExperiment, printed_rows
from abstain.paper._trial import DefaultCalibration, Prepare, Trial, adapted

N_MODELS = 10

#: What the paper compares its own method with.
OTHERS = ("js-divergence", "distance-from-half", "class-thresholds", "dropout-variance")
METHODS = (
    "delta-metric-sampled",
    "delta-metric",
    "delta-metric-joint",
    "delta-metric-optimal",
    *OTHERS,
)


@dataclass(frozen=True, eq=False)
class _Predictions:
    """Logits of the positive class by model, and labels."""

    valid_logits: NDArray[np.float32]
    valid_labels: IntArray
    test_logits: NDArray[np.float32]
    test_labels: IntArray
    draws: NDArray[np.float16]

    @classmethod
    def read(cls, folder: Path, name: str, task: int | None = None) -> _Predictions:
        """Read the two files of a data set; a last axis of tasks holds more than one."""
        tail = () if task is None else (None,)
        stored = read_arrays(
            folder / f"{name}.npz",
            {
                "valid_logits": (N_MODELS, None, *tail),
                "valid_labels": (None, *tail),
                "test_logits": (N_MODELS, None, *tail),
                "test_labels": (None, *tail),
            },
        )
        n_test = len(stored["test_labels"])
        draws = {"test_mc_logits": (N_MODELS, None, n_test, *tail)}
        stored |= read_arrays(folder / f"{name}_mc.npz", draws)
        if task is not None:
            stored = {key: array[..., task] for key, array in stored.items()}
        for labels in ("valid_labels", "test_labels"):
            stored[labels] = stored[labels].astype(np.intp)
        return cls(draws=stored.pop("test_mc_logits"), **stored)

    def trial(
        self,
        model: int,
        rows: IntArray,
        *,
        prepare: Prepare,
        default: Callable[[], Prepare],
        y_val: IntArray,
        proba_val: FloatArray,
        seed: int,
    ) -> Trial:
        return Trial(
            y=self.test_labels[rows],
            logits=self.test_logits[model][rows].astype(np.float64),
            prepare=prepare,
            prepare_default=default,
            y_val=y_val,
            proba_val=proba_val,
            draws=lambda: (draw[rows].astype(np.float64) for draw in self.draws[model]),
            seed=seed,
        )


class _Shifted:
    """Bootstraps of the validation and test sets; the test set has one positive in three."""

    def __init__(self, folder: Path, *, name: str) -> None:
        self._predictions = _Predictions.read(folder, name)

    def trials(self, repeat: int) -> Iterator[tuple[str, Trial]]:
        """Return the adapted and the unadapted trial."""
        data = self._predictions
        model, trial = divmod(repeat, 3)
        rng = np.random.RandomState(trial * 100 + model * 10)
        n = len(data.valid_labels)
        bootstrap = rng.choice(n, size=n, replace=True)
        positives = rng.choice(np.flatnonzero(data.test_labels == 1), size=n // 3, replace=True)
        negatives = rng.choice(
            np.flatnonzero(data.test_labels == 0), size=n - len(positives), replace=True
        )
        rows = np.concatenate([negatives, positives])
        logits_val = data.valid_logits[model][bootstrap].astype(np.float64)
        y_val = data.valid_labels[bootstrap]
        logits = data.test_logits[model][rows].astype(np.float64)
        platt = _platt(logits_val, y_val)
        default = DefaultCalibration(logits_val, y_val, logits)
        preparations = {"adapted": adapted(platt, logits_val, logits), "unadapted": platt}
        for prepared, prepare in preparations.items():
            yield (
                prepared,
                data.trial(
                    model,
                    rows,
                    prepare=prepare,
                    default=getattr(default, prepared),
                    y_val=y_val,
                    proba_val=platt(logits_val),
                    seed=repeat,
                ),
            )


class _Halves:
    """The test set split at random: one half to calibrate on, the other to judge by."""

    def __init__(self, folder: Path, *, task: int) -> None:
        self._predictions = _Predictions.read(folder, "hema", task)

    def trials(self, repeat: int) -> Iterator[tuple[str, Trial]]:
        """Return the calibrated and the uncalibrated trial."""
        data = self._predictions
        model, trial = divmod(repeat, 3)
        rng = np.random.RandomState(trial * 100 + model * 10)
        n = len(data.test_labels)
        chosen = rng.choice(np.arange(n), n // 2, replace=False)
        rows = np.setdiff1d(np.arange(n), chosen)
        logits_val = data.test_logits[model][chosen].astype(np.float64)
        y_val = data.test_labels[chosen]
        logits = data.test_logits[model][rows].astype(np.float64)
        for prepared, prepare in {
            "calibrated": _platt(logits_val, y_val),
            "uncalibrated": _raw,
        }.items():
            default = DefaultCalibration(logits_val, y_val, logits)
            yield (
                prepared,
                data.trial(
                    model,
                    rows,
                    prepare=prepare,
                    default=default.unadapted if prepared == "calibrated" else lambda: _raw,
                    y_val=y_val,
                    proba_val=prepare(logits_val),
                    seed=repeat,
                ),
            )


def _raw(logits: FloatArray) -> FloatArray:
    p = expit(logits)
    return np.column_stack([1 - p, p])


def _platt(logits: FloatArray, y: IntArray) -> Prepare:
    """Fit Platt scaling as the paper did: L2 with C = 1, the intercept penalised too."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=1.0, solver="liblinear").fit(logits[:, None], y)
    slope, intercept = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
    return lambda scores: _raw(slope * scores + intercept)


def _shifted(name: str, title: str, heading: str) -> TableExperiment:
    metric = SensitivityAtSpecificity(0.99)
    own = "delta-metric-sampled"
    return TableExperiment(
        name=name,
        title=f"{title}: sensitivity at 99% specificity under label shift",
        files=(f"{name}.npz", f"{name}_mc.npz"),
        source=partial(_Shifted, name=name),
        metrics=(metric,),
        fractions=(0.3, 0.15),
        paper_rows={metric.name: printed_rows((own, *OTHERS), ("adapted", "unadapted"))},
        methods=METHODS,
        published=Published("tab:imdb_and_catdog", {metric.name: (heading, own)}),
    )


def _genomics(name: str, title: str, task: int) -> TableExperiment:
    sensitivity, auroc = SensitivityAtSpecificity(0.8), AUROC()
    own = {sensitivity.name: "delta-metric-sampled", auroc.name: "delta-metric"}
    prepared = "calibrated", "uncalibrated"
    return TableExperiment(
        name=name,
        title=f"{title}: sensitivity at 80% specificity and auROC",
        files=("hema.npz", "hema_mc.npz"),
        source=partial(_Halves, task=task),
        metrics=(sensitivity, auroc),
        fractions=(0.3, 0.15),
        paper_rows={
            metric: printed_rows((method, *OTHERS), prepared, (method, "js-divergence"))
            for metric, method in own.items()
        },
        methods=METHODS,
        published=Published(
            f"tab:heme_task{task}",
            {
                sensitivity.name: ("Sensitivity", own[sensitivity.name]),
                auroc.name: ("Area under ROC", own[auroc.name]),
            },
        ),
    )


IMDB = _shifted("imdb", "IMDB", "IMDB")
CATDOG = _shifted("catdog", "Cat v dog", "Cat v Dog")
LSC = _genomics("lsc", "Leukemia stem cells", 1)
PHSC = _genomics("phsc", "Preleukemic hematopoietic stem cells", 0)
