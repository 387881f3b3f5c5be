"""The matrix: every score, with every family of metrics, in every mode that is meant for it.

A cell is one way of deciding. Each test file takes all cells through one way out; decisions are
made once and shared. Only public names are used, so that the inside may change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from abstain import Abstainer, Cost, metrics
from abstain.datasets import screening_clinic, simulate_four_class_normal

N_VAL, N_TARGET = 300, 240
BUDGET, COUNT = 0.15, 30
COSTS = {
    "two": [[0, 1], [5, 0]],
    "four": [[0, 1, 2, 3], [2, 0, 1, 2], [4, 2, 0, 1], [6, 4, 2, 0]],
}
OWN = "own"  # no score: the metric's own choice
CALLABLE = "callable"
DROPOUT = "dropout-variance"

TWO_ONLY = ("class-thresholds", "distance-from-half")
SCORES = (
    OWN,
    "max-probability",
    "entropy",
    "margin",
    "js-divergence",
    *TWO_ONLY,
    "random",
    CALLABLE,
    DROPOUT,
)
CONFUSION = ("accuracy", "f1", "f1:macro", "kappa:quadratic", "cost", "user-confusion")
RANKING = ("sensitivity@specificity=0.9", "auroc", "average-precision")
METRICS = {
    "two": (*RANKING, "accuracy", "f1", "kappa:quadratic", "cost", "user-confusion", "sampled"),
    "four": (
        "accuracy",
        "f1:macro",
        "kappa:quadratic",
        "cost",
        "top-k=2",
        "user-confusion",
        "sampled",
    ),
}


@dataclass(frozen=True)
class Cell:
    """One way of deciding, by the names of its parts."""

    classes: str
    metric: str
    score: str
    mode: str = "budget"

    def __str__(self) -> str:
        return f"{self.classes}/{self.metric}/{self.score}/{self.mode}"

    @property
    def family(self) -> str:
        """Which of the metric families this is."""
        if self.metric in RANKING:
            return "ranking"
        return "confusion" if self.metric in CONFUSION else self.metric

    @property
    def storable(self) -> bool:
        """Whether a policy file can hold it: functions of the user's cannot be written down."""
        return self.score != CALLABLE and self.metric not in ("user-confusion", "sampled")


def mean_recall(C):
    """A user's function of the confusion matrix."""
    return np.mean(np.diag(C) / C.sum(axis=1))


def squared_error(y_true, y_score, sample_weight=None):
    """A user's function of labels and scores, lower is better."""
    if y_score.ndim == 1:
        errors = (y_true - y_score) ** 2
    else:
        errors = np.sum((np.eye(y_score.shape[1])[y_true] - y_score) ** 2, axis=1)
    return np.average(errors, weights=sample_weight)


def make_metric(name: str, classes: str, own_name: str | None = None) -> Any:
    """Return the metric of a cell; the user's own are not registered."""
    if name == "cost":
        return metrics.ExpectedCost(COSTS[classes])
    if name == "user-confusion":
        return metrics.ConfusionMetric(mean_recall, name=own_name)
    if name == "sampled":
        return metrics.SampledMetric(
            squared_error, name=own_name, greater_is_better=False, n_samples=5, n_groups=8
        )
    return metrics.get(name)


@cache
def batch(classes: str) -> SimpleNamespace:
    """Return validation data, a target batch and a recent one of other proportions.

    Scores are in single precision, in which models put them out and ONNX reads them.
    """
    rng = np.random.default_rng(0)
    if classes == "two":
        names = np.array(["no", "yes"])
        clinic = screening_clinic(N_VAL, N_TARGET, random_state=3)
        recent = screening_clinic(10, N_TARGET, random_state=4)
        # Every other ill patient is gone.
        rows = (recent.y_target == 0) | (np.arange(N_TARGET) % 2 == 0)
        target = clinic.scores_target.astype(np.float32)
        return SimpleNamespace(
            names=names,
            positive="yes",
            scale="logits",
            calibration="platt",
            scores_val=clinic.scores_val.astype(np.float32),
            y_val=names[clinic.y_val],
            scores=target,
            y=names[clinic.y_target],
            recent=recent.scores_target[rows].astype(np.float32),
            draws=target + rng.normal(size=(5, N_TARGET)),
        )
    names = np.array(["a", "b", "c", "d"])
    val, target, recent = (
        simulate_four_class_normal(n, random_state=seed)
        for seed, n in ((0, N_VAL), (1, N_TARGET), (6, N_TARGET))
    )
    # Every other row of the first class is gone.
    rows = (recent.y > 0) | (np.arange(N_TARGET) % 2 == 0)
    noise = rng.dirichlet(np.ones(4), size=(5, N_TARGET))
    return SimpleNamespace(
        names=names,
        positive=None,
        scale="probabilities",
        calibration="bcts",
        scores_val=val.proba.astype(np.float32),
        y_val=names[val.y],
        scores=target.proba.astype(np.float32),
        y=names[target.y],
        recent=recent.proba[rows].astype(np.float32),
        draws=0.8 * target.proba + 0.2 * noise,
    )


def how_much(cell: Cell) -> dict[str, Any]:
    """Return the parameters of the cell's mode."""
    if cell.mode == "target":
        # Half of what the budget is expected to buy can be reached, and not without abstaining.
        found = [
            decided(Cell(cell.classes, cell.metric, cell.score, mode))
            for mode in ("nothing", "budget")
        ]
        nothing, bought = (
            one.metric.expected(one.proba[~one.abstain], prediction=one.columns[~one.abstain])
            for one in found
        )
        return {"target": (nothing + bought) / 2}
    return {
        "budget": {"budget": BUDGET},
        "count": {"budget": COUNT},
        "nothing": {"budget": 0.0},
        "cost": {"cost": Cost(0.25)},
        "value": {"cost": Cost(0.05, value_of_metric=1.0)},
        "optimal": {"budget": BUDGET, "decision": "optimal"},
        "argmax": {"budget": BUDGET, "decision": "argmax"},
    }[cell.mode]


@cache
def decided(cell: Cell) -> Any:
    """Return the decisions of a cell, made once."""
    data = batch(cell.classes)
    score = {OWN: None, CALLABLE: lambda proba: 1 - proba.max(axis=1)}.get(cell.score, cell.score)
    abstainer = Abstainer(
        make_metric(cell.metric, cell.classes),
        **how_much(cell),
        score=score,
        calibration=data.calibration,
        scale=data.scale,
        positive=data.positive,
        random_state=0,
    )
    abstainer.fit(data.scores_val, data.y_val)
    draws = {"score_samples": data.draws} if cell.score == DROPOUT else {}
    return abstainer.decide(data.scores, **draws)


def by_budget() -> list[Cell]:
    """Return every score with every metric, at one budget."""
    return [
        Cell(classes, metric, score)
        for classes in ("two", "four")
        for metric in METRICS[classes]
        for score in SCORES
        if classes == "two" or score not in TWO_ONLY
    ]


def by_mode() -> list[Cell]:
    """Return the other modes, with the scores that go with them."""
    found = []
    for classes in ("two", "four"):
        for metric in METRICS[classes]:
            if metric != "sampled":  # a search for each count would take long
                found.append(Cell(classes, metric, OWN, "target"))
            if metric in RANKING:
                found.append(Cell(classes, metric, OWN, "value"))
            if metric in CONFUSION:
                found.append(Cell(classes, metric, OWN, "optimal"))
                found.append(Cell(classes, metric, OWN, "argmax"))
            if metric in ("auroc", "accuracy", "top-k=2", "sampled"):
                found.append(Cell(classes, metric, OWN, "count"))
                found.append(Cell(classes, metric, OWN, "cost"))
        for score in ("entropy", CALLABLE):
            found.append(Cell(classes, "accuracy", score, "count"))
            found.append(Cell(classes, "accuracy", score, "target"))
    return found


CELLS = tuple(by_budget() + by_mode())
# What can be applied to rows that are not in the batch: all but what needs draws of dropout.
APPLICABLE = tuple(cell for cell in CELLS if cell.score != DROPOUT)


def pairs(cell: Cell) -> set[tuple[str, ...]]:
    """Return every two parts of a cell that meet in it; of a metric, its family counts."""
    parts = {"classes": cell.classes, "family": cell.family, "score": cell.score,
             "mode": cell.mode}  # fmt: skip
    both = {(*one, *other) for one, other in combinations(parts.items(), 2)}
    return both | {("classes", cell.classes, "metric", cell.metric)}


def pairwise(cells: Sequence[Cell]) -> list[Any]:
    """Leave to the slow run what shows no two parts together that other cells do not.

    Greedily the fewest cells in which whatever meets in any of them meets.
    """
    left, kept = set[tuple[str, ...]]().union(*map(pairs, cells)), set[Cell]()
    while left:
        best = max(cells, key=lambda cell: len(pairs(cell) & left))
        kept.add(best)
        left -= pairs(best)
    slow = pytest.mark.slow
    return [
        pytest.param(cell, marks=[] if cell in kept else [slow], id=str(cell)) for cell in cells
    ]
