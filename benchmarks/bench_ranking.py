"""Ranking metrics at millions of examples against ``numpy.argsort`` and the first package."""

from collections.abc import Iterator

import numpy as np

from abstain.metrics import AUROC, AveragePrecision, RankingMetric, SensitivityAtSpecificity
from benchmarks._batches import rows
from benchmarks._peers import abstention
from benchmarks._row import Row, best_of

BUDGET = 0.15
BINS = 65_536


def run() -> Iterator[Row]:
    for n in dict.fromkeys((rows(1_000_000), rows(10_000_000))):
        yield from _against_argsort(n)
    yield from _curves(rows(1_000_000))
    yield from _algorithm_1()


def _proba(n: int) -> np.ndarray:
    p = np.random.default_rng(0).beta(0.5, 2, size=n)
    return np.column_stack([1 - p, p])


def _metrics(bins: int | None) -> list[RankingMetric]:
    return [
        SensitivityAtSpecificity(0.99, bins=bins),
        AUROC(bins=bins),
        AveragePrecision(bins=bins),
    ]


def _against_argsort(n: int) -> Iterator[Row]:
    proba = _proba(n)
    p = np.ascontiguousarray(proba[:, 1])
    nobody = np.zeros(n, dtype=np.intp)
    order = best_of(lambda: np.argsort(p), repeats=3)
    peer = f"argsort of {n:.0e}"
    for exact, binned in zip(_metrics(None), _metrics(BINS), strict=True):
        took = best_of(lambda metric=exact: metric.choose(proba, BUDGET * n), repeats=3)
        yield Row(f"{exact.name}, exact choice", took, peer, order, at_most=1.5)
        if n < 10_000_000:
            continue
        took = best_of(lambda metric=binned: metric.choose(proba, BUDGET * n), repeats=3)
        yield Row(f"{exact.name}, choice on {BINS} bins", took, peer, order, at_most=0.2)
        one, other = (
            exact.expected(p[~metric.choose(proba, BUDGET * n).region.contains(proba, nobody)])
            for metric in (exact, binned)
        )
        yield Row(f"{exact.name}, value lost by bins", one - other, "allowed", 1e-4, 1, unit="")


def _curves(n: int) -> Iterator[Row]:
    proba = _proba(n)
    budgets = np.linspace(0.01, 0.5, 50)
    for metric in _metrics(None):
        one = best_of(lambda metric=metric: metric.curve(proba, [BUDGET]), repeats=3)
        many = best_of(lambda metric=metric: metric.curve(proba, budgets), repeats=2)
        yield Row(f"{metric.name}, curve of 50 budgets", many, "one budget", one, at_most=5)


def _algorithm_1() -> Iterator[Row]:
    n, withheld, samples = 100_000, 30_000, 100
    proba = _proba(n)
    ours = SensitivityAtSpecificity(0.99, method="sampled", n_samples=samples)
    took = best_of(lambda: ours.choose(proba, withheld))
    deterministic = SensitivityAtSpecificity(0.99)
    once = best_of(lambda: deterministic.choose(proba, withheld))
    yield Row("sensitivity, deterministic choice, N = 1e5", once, "Algorithm 1, ours", took)
    auroc = AUROC(method="sampled", n_samples=samples)
    yield Row(
        "auroc, sampled choice, M = 100",
        best_of(lambda: auroc.choose(proba, withheld), repeats=2),
        "Algorithm 1, ours",
        took,
    )
    try:
        factory = abstention("abstention").MonteCarloWindowAbstDeltaTprAtFprThreshold
    except ImportError:
        return
    theirs = factory(
        n_samples=samples,
        fpr_threshold=0.01,
        num_to_abstain_on=withheld,
        smoothing_window_size=11,
        return_max_across_windows=True,
    )()
    took_theirs = best_of(lambda: theirs(posterior_probs=proba[:, 1]), repeats=1)
    yield Row(
        "Algorithm 1, N = 1e5, d = 3e4, M = 100", took, "abstention", took_theirs, at_least=60
    )
