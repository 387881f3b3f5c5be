"""A frozen rule at work: one row, a million rows, and adapting to recent ones."""

import time
from collections.abc import Iterator

import numpy as np

from abstain import Abstainer, Policy
from abstain.datasets import screening_clinic, simulate_four_class_normal
from benchmarks._row import Row, best_of

ROWS = 1_000_000
CALLS = 1_000


def run() -> Iterator[Row]:
    binary = _binary_policy()
    one = np.array([0.3])
    yield Row(
        "apply to one row, after warm-up", _per_call(binary, one), "100 microseconds", 1e-4, 1.0
    )
    four = simulate_four_class_normal(20_000, random_state=0)
    several = (
        Abstainer("kappa:quadratic", budget=0.2, calibration="bcts", random_state=0)
        .fit(four.proba, four.y)
        .decide(four.proba)
        .policy
    )
    yield Row(
        "apply to one row of four classes",
        _per_call(several, four.proba[:1]),
        "100 microseconds",
        1e-4,
        1.0,
    )
    scores = screening_clinic(10, ROWS, random_state=0).scores_target
    yield Row(
        "apply to a million binary rows",
        best_of(lambda: binary.apply(scores)),
        "0.2 seconds",
        0.2,
        1.0,
    )
    yield Row(
        "adapt to a million binary rows",
        best_of(lambda: binary.adapt(scores), 2),
        "apply to them",
        best_of(lambda: binary.apply(scores)),
    )


def _binary_policy() -> Policy:
    clinic = screening_clinic(random_state=0)
    abstainer = Abstainer(
        "sensitivity@specificity=0.9",
        budget=0.15,
        calibration="platt",
        scale="logits",
        random_state=0,
    )
    return abstainer.fit(clinic.scores_val, clinic.y_val).decide(clinic.scores_target).policy


def _per_call(policy: Policy, row: np.ndarray) -> float:
    """Seconds per call, the best of several batches of calls."""

    def calls() -> None:
        for _ in range(CALLS):
            policy.apply(row)

    start = time.perf_counter()
    calls()
    first = time.perf_counter() - start
    return min(first, best_of(calls)) / CALLS
