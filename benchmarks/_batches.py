"""The batches whole calls are measured on: two classes in one or two columns, and ten classes."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from abstain import Abstainer, Decisions
from abstain.datasets import screening_clinic
from abstain.metrics import Metric

__all__ = [
    "ROOT",
    "Batch",
    "classes",
    "decide_and_read",
    "one_column",
    "rows",
    "ten_classes",
    "two_columns",
]

# Where processes are started that import the benchmarks again.
ROOT = Path(__file__).parent.parent
BUDGET = 0.15
VALIDATION = 5_000
CLASSES = 10


@dataclass(frozen=True, eq=False)
class Batch:
    """Logits at validation, with labels, and of the rows to decide about."""

    scores_val: NDArray[Any]
    y_val: NDArray[Any]
    scores: NDArray[Any]

    def fitted(self, metric: Metric | str) -> Abstainer:
        """Return an abstainer with the usual settings, fitted on the validation part."""
        abstainer = Abstainer(metric, budget=BUDGET, scale="logits", random_state=0)
        return abstainer.fit(self.scores_val, self.y_val)


def rows(usual: int) -> int:
    """Return how many rows to measure on: ABSTAIN_BENCH_ROWS where that is fewer."""
    return min(usual, int(os.environ.get("ABSTAIN_BENCH_ROWS", usual)))


def one_column(n: int) -> Batch:
    """Two classes, the logit of the positive one."""
    clinic = screening_clinic(VALIDATION, n, random_state=0)
    return Batch(clinic.scores_val, clinic.y_val, clinic.scores_target)


def two_columns(n: int) -> Batch:
    """Two classes, a logit for each."""
    batch = one_column(n)
    halves = [-0.5, 0.5]
    return Batch(np.outer(batch.scores_val, halves), batch.y_val, np.outer(batch.scores, halves))


def ten_classes(n: int) -> Batch:
    """Ten classes, the later ones more frequent in the rows to decide about."""
    rng = np.random.default_rng(0)
    moved = np.arange(1.0, CLASSES + 1) / np.arange(1, CLASSES + 1).sum()
    y_val = rng.integers(CLASSES, size=VALIDATION)
    y = rng.choice(CLASSES, size=n, p=moved)
    scores_val, scores = rng.normal(size=(VALIDATION, CLASSES)), rng.normal(size=(n, CLASSES))
    scores_val[np.arange(VALIDATION), y_val] += 2
    scores[np.arange(n), y] += 2
    return Batch(scores_val, y_val, scores)


def classes(k: int, n_val: int, n: int) -> Batch:
    """Very many classes: float32 logits, most of each row's probability in a few of them."""
    rng = np.random.default_rng(0)
    y_val, y = (rng.permutation(np.arange(m) % k) for m in (n_val, n))
    made = [rng.standard_normal((m, k), dtype=np.float32) for m in (n_val, n)]
    for logits, labels in zip(made, (y_val, y), strict=True):
        logits[np.arange(len(labels)), labels] += 4
    return Batch(made[0], y_val, made[1])


def decide_and_read(abstainer: Abstainer, scores: NDArray[Any]) -> Decisions:
    """Decide, and read what a user reads, whether or not it waits to be asked for."""
    decisions = abstainer.decide(scores)
    _ = decisions.abstain, decisions.prediction, decisions.proba, decisions.estimate
    return decisions
