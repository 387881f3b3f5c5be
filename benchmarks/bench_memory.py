"""Resident memory of ``Abstainer.decide`` in a fresh process, over the bytes of the scores.

What the system says the process holds, and not what NumPy asked for: compiled code, buffers of
threads and whatever is kept by mistake are in it.
"""

import ctypes
import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks._batches import ROOT, decide_and_read, one_column, rows, ten_classes, two_columns
from benchmarks._row import Row

CASES = {
    "one column": (one_column, 10_000_000, "sensitivity@specificity=0.9"),
    "two columns": (two_columns, 10_000_000, "sensitivity@specificity=0.9"),
    "ten classes": (ten_classes, 1_000_000, "accuracy"),
}


def run() -> Iterator[Row]:
    for case, (_, usual, metric) in CASES.items():
        child = f"from benchmarks.bench_memory import measure; measure({case!r})"
        done = subprocess.run(
            [sys.executable, "-c", child], cwd=ROOT, check=True, stdout=subprocess.PIPE
        )
        found = json.loads(done.stdout)
        what = f"{rows(usual):.0e}, {case}, {metric.partition('@')[0]}"
        for figure, goal in (
            ("decide", 1.0),
            ("held after it", None),
            ("and read", None),
            ("and read, once more", None),
        ):
            yield Row(
                f"{what}: {figure}",
                found[figure] / 1e6,
                "the scores",
                found["scores"] / 1e6,
                at_most=goal,
                unit="MB",
            )


def measure(case: str) -> None:
    """Print the bytes of the scores and what the calls add to what is resident before them."""
    make, usual, metric = CASES[case]
    batch = make(rows(usual))
    fitted = batch.fitted(metric)
    found = {"scores": batch.scores.nbytes}
    found["decide"], found["held after it"] = added(lambda: fitted.decide(batch.scores))
    found["and read"], _ = added(lambda: decide_and_read(fitted, batch.scores))
    # By now all the code is loaded: what is left grows with the rows.
    found["and read, once more"], _ = added(lambda: decide_and_read(fitted, batch.scores))
    json.dump(found, sys.stdout)


def added(function: Callable[[], Any]) -> tuple[int, int]:
    """Return how many bytes a call adds to the resident ones at its peak, and after it."""
    gc.collect()
    _give_back()
    before = _resident()
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # lowers the high-water mark to what is resident now
    except OSError:
        sampler = _Sampler()
        result = sampler.during(function)
        peak = sampler.peak
    else:
        result = function()
        peak = _status("VmHWM")
    after = _resident()
    del result
    return peak - before, after - before


def _give_back() -> None:
    """Have the C library return what was freed, or a call could take it unseen."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _status(field: str) -> int:
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(field))
    return int(line.split()[1]) * 1024


class _Sampler:
    """Looks at the resident bytes every millisecond; may miss what compiled code holds briefly."""

    def __init__(self) -> None:
        self.peak = _resident()
        self._done = threading.Event()

    def during(self, function: Callable[[], Any]) -> Any:
        thread = threading.Thread(target=self._watch)
        thread.start()
        try:
            return function()
        finally:
            self._done.set()
            thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.001):
            self.peak = max(self.peak, _resident())
