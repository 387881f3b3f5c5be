"""The binary experiments: IMDB and cat v dog under label shift, two genomics tasks without.

Ten models, three trials each; the seeds are the paper's (its Section 6 and Tables 1 and 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import expit

from abstain._inputs import FloatArray, IntArray
from abstain.exceptions import extra
from abstain.metrics import AUROC, SensitivityAtSpecificity
from abstain.paper._experiment import Published, read_arrays
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


class _Binary:
    """The predictions of a data set, read from its two files, and the trials that are made of it.

    Under label shift validation and test set are bootstrapped, and one test row in three is
    positive. A task of several, on a last axis, is without: one half of its test set is to
    calibrate on, the other to judge by.
    """

    def __init__(self, folder: Path, *, name: str, task: int | None = None) -> None:
        tail = () if task is None else (None,)
        layout: dict[str, tuple[int | None, ...]] = {}
        for side in ("valid", "test"):
            layout[f"{side}_logits"] = (N_MODELS, None, *tail)
            layout[f"{side}_labels"] = (None, *tail)
        stored = read_arrays(folder / f"{name}.npz", layout)
        drawn = (N_MODELS, None, len(stored["test_labels"]), *tail)
        stored |= read_arrays(folder / f"{name}_mc.npz", {"test_mc_logits": drawn})
        self._stored = stored if task is None else {k: v[..., task] for k, v in stored.items()}
        self._shifted = task is None

    def trials(self, repeat: int) -> Iterator[tuple[str, Trial]]:
        """Return the trial of each preparation."""
        model, trial = divmod(repeat, 3)
        side, own, rows = self._drawn(np.random.RandomState(trial * 100 + model * 10))
        logits_val, y_val = self._rows(side, model, own)
        logits, y = self._rows("test", model, rows)
        platt, draws = _platt(logits_val, y_val), self._stored["test_mc_logits"][model]
        default = DefaultCalibration(logits_val, y_val, logits)
        # How logits are prepared, how by default, and how those of the validation rows are.
        ways: dict[str, tuple[Prepare, Callable[[], Prepare], Prepare]] = {
            "calibrated": (platt, default.unadapted, platt),
            "uncalibrated": (_raw, lambda: _raw, _raw),
        }
        if self._shifted:
            ways = {
                "adapted": (adapted(platt, logits_val, logits), default.adapted, platt),
                "unadapted": (platt, default.unadapted, platt),
            }
        for prepared, (prepare, prepare_default, before) in ways.items():
            yield (
                prepared,
                Trial(
                    y=y,
                    logits=logits,
                    prepare=prepare,
                    prepare_default=prepare_default,
                    y_val=y_val,
                    proba_val=before(logits_val),
                    draws=lambda: (draw[rows].astype(np.float64) for draw in draws),
                    seed=repeat,
                ),
            )

    def _rows(self, side: str, model: int, rows: IntArray) -> tuple[FloatArray, IntArray]:
        """Return logits of a model and labels of some rows."""
        logits = self._stored[f"{side}_logits"][model][rows].astype(np.float64)
        return logits, self._stored[f"{side}_labels"][rows].astype(np.intp)

    def _drawn(self, rng: np.random.RandomState) -> tuple[str, IntArray, IntArray]:
        """Return where validation rows are from, which they are, and the rows to judge by."""
        labels = self._stored["test_labels"]
        if not self._shifted:
            chosen = rng.choice(np.arange(len(labels)), len(labels) // 2, replace=False)
            return "test", chosen, np.setdiff1d(np.arange(len(labels)), chosen)
        n = len(self._stored["valid_labels"])
        bootstrap = rng.choice(n, size=n, replace=True)
        positives = rng.choice(np.flatnonzero(labels == 1), size=n // 3, replace=True)
        n_negatives = n - len(positives)
        negatives = rng.choice(np.flatnonzero(labels == 0), size=n_negatives, replace=True)
        return "valid", bootstrap, np.concatenate([negatives, positives])


def _raw(logits: FloatArray) -> FloatArray:
    p = expit(logits)
    return np.column_stack([1 - p, p])


def _platt(logits: FloatArray, y: IntArray) -> Prepare:
    """Fit Platt scaling as the paper did: L2 with C = 1, the intercept penalised too."""
    with extra("sklearn", "The paper's Platt scaling needs scikit-learn"):
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
        source=partial(_Binary, name=name),
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
        source=partial(_Binary, name="hema", task=task),
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
