"""Confusion metrics at a million examples of five classes, against NumPy and the first package."""

import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from abstain.metrics import WeightedKappa
from benchmarks._batches import rows
from benchmarks._peers import abstention
from benchmarks._row import Row, best_of

N, CLASSES = rows(1_000_000), 5


def run() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.full(CLASSES, 0.3), size=N)
    squared = np.subtract.outer(np.arange(CLASSES), np.arange(CLASSES)) ** 2.0
    capacity = 0.3 * N
    marginal = WeightedKappa("quadratic", solver="marginal")
    joint = WeightedKappa("quadratic", solver="joint")

    choose = best_of(lambda: marginal.choose(proba, capacity))
    plain = best_of(lambda: (proba.argmax(axis=1), proba @ squared))
    yield Row("kappa, marginal choice", choose, "argmax(1), proba @ W", plain, at_most=3)
    jointly = best_of(lambda: joint.choose(proba, capacity))
    yield Row("kappa, joint choice", jointly, "marginal choice", choose, at_most=10)
    optimal = best_of(lambda: joint.choose(proba, capacity, decision="optimal"))
    yield Row("kappa, joint choice with optimal decision", optimal, "marginal choice", choose)
    extra = _peak(lambda: joint.choose(proba, capacity))
    yield Row("kappa, joint choice, extra memory", extra, "input", proba.nbytes, 1, unit="B")
    draws = best_of(lambda: marginal.draws(proba, n_draws=200, seed=0), repeats=2)
    yield Row("kappa, 200 draws of the labels", draws, "marginal choice", choose)
    try:
        factory = abstention("abstention").EstMarginalWeightedKappa
    except ImportError:
        return
    score = factory(weights=squared, mode="argmax", verbose=False)()
    start = time.perf_counter()
    score(proba)  # a Python loop of many seconds: once is enough
    theirs = time.perf_counter() - start
    yield Row("kappa, marginal choice", choose, "PyPI abstention, scores", theirs, at_least=40)


def _peak(function: Callable[[], Any]) -> float:
    """Return the most memory NumPy held beyond what was there before."""
    function()
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(peak)
