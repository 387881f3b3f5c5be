"""Hundreds of classes, against one plain pass over the same matrix: softmax and argsort."""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from abstain import Abstainer, calibration
from benchmarks._row import Row

SIZES = ((5_000, 100), (5_000, 300), (5_000, 1_000))


def run() -> Iterator[Row]:
    warnings.simplefilter("ignore")
    for n, k in SIZES:
        rng = np.random.default_rng(0)
        y = rng.permutation(np.arange(n) % k)
        logits, target = (1.7 * (rng.normal(size=(n, k)) + 4 * np.eye(k)[y]) for _ in range(2))
        floor = _cpu(lambda z=logits: _plain(z))
        for name in ("temperature", "bcts", "vector"):
            one = calibration.get(name, scale="logits")
            seconds = _cpu(lambda c=one, z=logits, t=y: c.fit(z, t))
            yield Row(f"{name} fit, {n:,} x {k:,}", seconds, "softmax, argsort", floor)
        who = Abstainer("accuracy", budget=0.1, calibration="bcts", scale="logits")
        who.fit(logits, y)
        decide = _cpu(lambda w=who, z=target: w.decide(z))
        yield Row(f"decide and estimate, {n:,} x {k:,}", decide, "softmax, argsort", floor)


def _plain(logits: Any) -> Any:
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return np.argsort(shares, axis=1)


def _cpu(function: Callable[[], Any]) -> float:
    """Return the CPU seconds of one call, which a busy machine changes less than the time."""
    begin = time.process_time()
    function()
    return time.process_time() - begin
