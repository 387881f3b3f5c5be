"""Bias-corrected temperature and vector scaling against the first implementation of the paper."""

import tracemalloc
from collections.abc import Iterator

import numpy as np

from abstain import calibration
from abstain.calibration import log_loss
from benchmarks._peers import abstention
from benchmarks._row import Row, best_of

SIZES = ((50_000, 10), (10_000, 100))


def run() -> Iterator[Row]:
    peer = abstention("calibration")
    for n, k in SIZES:
        rng = np.random.default_rng(0)
        y = rng.integers(k, size=n)
        logits = rng.normal(size=(n, k)) + 2 * np.eye(k)[y]
        labels = np.eye(k)[y]
        for name, factory in (
            ("bcts", peer.TempScaling(verbose=False, bias_positions="all")),
            ("vector", peer.VectorScaling(verbose=False)),
        ):
            ours = calibration.get(name, scale="logits")
            theirs = factory(logits, labels)
            seconds = best_of(lambda c=ours, z=logits, t=y: c.fit(z, t), 5)
            peers = best_of(lambda f=factory, z=logits, t=labels: f(z, t), 1)
            what = f"{name} fit, {n:,} x {k}"
            yield Row(what, seconds, "abstention", peers, at_least=5)
            # Log losses as 1 + loss, so that the bound of 1e-6 is one on their ratio.
            yield Row(
                f"{what}: log loss",
                1 + log_loss(y, ours.predict_proba(logits)),
                "abstention",
                1 + log_loss(y, theirs(logits)),
                at_most=1 + 1e-6,
                unit="",
            )
            yield Row(
                f"{what}: most memory",
                _peak(lambda c=ours, z=logits, t=y: c.fit(z, t)),
                "the scores",
                logits.nbytes / 1e6,
                at_most=2,
                unit="MB",
            )


def _peak(function) -> float:
    """Return the most megabytes that NumPy held at a time during a call."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
