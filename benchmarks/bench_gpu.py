"""Scores on a GPU: the work there, and whole calls, against a copy of the same array.

The floor is a device-to-device copy of the scores. Work on the device is timed by its own events.
The choice between is made on the host, from a summary whose size does not depend on the rows, and
takes as long for a million rows as for a billion; so whole calls are shown beside it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from abstain import Abstainer
from benchmarks._row import Row

ROWS = (10**7, 10**8)
REPEATS = 20


def run() -> Iterator[Row]:
    try:
        import cupy as cp

        name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    except Exception as error:  # whatever is missing, there is nothing to measure
        print(f"  No CUDA device and CuPy here: {str(error).partition(chr(10))[0]}")
        return
    print(f"  {name}")
    abstainer = fitted()
    for n in ROWS:
        yield from measured(cp, abstainer, n)


def fitted() -> Abstainer:
    rng = np.random.default_rng(0)
    y = (rng.random(5000) < 0.3).astype(int)
    scores = 2 * y + rng.normal(size=5000) - 1
    how: dict[str, Any] = {"calibration": "platt", "shift": "em", "scale": "logits"}
    metric = "sensitivity@specificity=0.9"
    return Abstainer(metric, budget=0.15, random_state=0, **how).fit(scores, y)


def measured(cp: Any, abstainer: Abstainer, n: int) -> Iterator[Row]:
    from abstain.cuda._kernels import add_rows, logistic_of, mark_rows

    warnings.simplefilter("ignore")
    scores = (2 * cp.random.standard_normal(n, dtype=cp.float32) - 1).astype(cp.float32)
    copied = cp.empty_like(scores)
    how = logistic_of(abstainer.calibrator_.picked)
    policy = abstainer.decide(scores).policy
    numbers = *(policy.priors / policy.source_priors), policy.region.lower, policy.region.upper
    floor = on_device(cp, lambda: cp.copyto(copied, scores))
    bins = on_device(cp, lambda: add_rows(scores, how, ends=False))
    ends = on_device(cp, lambda: add_rows(scores, how, ends=True))
    mask = on_device(cp, lambda: mark_rows(scores, how, *numbers))
    peer = "copy on the device"
    what = f"{n:.0e} float32 logits"
    yield Row(f"{what}: calibrate, bin", bins, peer, floor)
    yield Row(f"{what}: the same with the ends of bins", ends, peer, floor)
    yield Row(f"{what}: calibrate, adapt, mask", mask, peer, floor)
    yield Row(f"{what}: all of the work on the device", bins + mask, peer, floor, at_most=10)
    apply = whole_call(cp, lambda: policy.apply(scores))
    yield Row(f"{what}: policy.apply, whole", apply, peer, floor, at_most=10)
    decide = whole_call(cp, lambda: abstainer.decide(scores))
    yield Row(f"{what}: decide, whole, with its estimate", decide, peer, floor, at_most=10)


def on_device(cp: Any, function: Callable[[], Any]) -> float:
    """Return the median time of work on the device, in seconds."""
    function()
    begin, end, found = cp.cuda.Event(), cp.cuda.Event(), []
    for _ in range(REPEATS):
        begin.record()
        function()
        end.record()
        end.synchronize()
        found.append(cp.cuda.get_elapsed_time(begin, end))
    return float(np.median(found)) / 1e3


def whole_call(cp: Any, function: Callable[[], Any]) -> float:
    """Return the median time of a whole call, in seconds."""
    function()
    found = []
    for _ in range(5):
        start = time.perf_counter()
        function()
        cp.cuda.Device().synchronize()
        found.append(time.perf_counter() - start)
    return float(np.median(found))
