"""Class proportions by maximum likelihood against EM in the first implementation and in QuaPy."""

import time
import tracemalloc
from collections.abc import Iterator

import numpy as np

from abstain.shift import MaximumLikelihoodShift
from benchmarks._batches import rows
from benchmarks._peers import abstention
from benchmarks._row import Row, best_of

ROWS = rows(1_000_000)
# At this change from step to step EM is within 1e-5 of where it goes.
TOLERANCE = 1e-7


def run() -> Iterator[Row]:
    for k in (10, 2):
        source = _posteriors(np.full(k, 1 / k), 20_000, seed=0)
        moved = np.arange(1.0, k + 1) / np.arange(1, k + 1).sum()
        target = _posteriors(moved, ROWS, seed=1)
        ours = MaximumLikelihoodShift()
        seconds = best_of(lambda s=ours, a=source, b=target: s.fit(a, b), 5)
        what = f"class proportions, {ROWS:,} x {k}"
        for peer, function, goal in (
            ("abstention", _abstention_em, 20),
            ("QuaPy EMQ", _quapy_em, 5),
        ):
            priors, theirs = function(source, target)
            yield Row(what, seconds, peer, theirs, at_least=goal)
            yield Row(
                f"{what}: largest difference",
                float(np.abs(priors - ours.priors_).max()),
                "tolerance",
                1e-5,
                at_most=1,
                unit="",
            )
        tracemalloc.start()
        MaximumLikelihoodShift().fit(source, target)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        yield Row(
            f"{what}: most memory", peak, "the target", target.nbytes / 1e6, at_most=2, unit="MB"
        )


def _abstention_em(source, target):
    """EM of the first implementation, on probabilities calibrated outside it."""
    adapter = abstention("label_shift").EMImbalanceAdapter(
        verbose=False, tolerance=TOLERANCE, max_iterations=5_000
    )
    start = time.perf_counter()
    found = adapter(target, source)
    return source.mean(axis=0) * found.multipliers, time.perf_counter() - start


def _quapy_em(source, target):
    from quapy.method.aggregative import EMQ

    EMQ.MAX_ITER = 5_000
    start = time.perf_counter()
    priors, _ = EMQ.EM(source.mean(axis=0), target, epsilon=TOLERANCE)
    return np.asarray(priors), time.perf_counter() - start


def _posteriors(priors, n, *, seed):
    rng = np.random.default_rng(seed)
    k = len(priors)
    y = rng.choice(k, size=n, p=priors)
    odds = np.exp(1.5 * (rng.normal(size=(n, k)) + 1.5 * np.eye(k)[y]))
    return odds / odds.sum(axis=1, keepdims=True)
