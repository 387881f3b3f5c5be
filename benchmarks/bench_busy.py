"""``Abstainer.decide`` while another process keeps a core busy: never slower than one thread.

And what two threads cost in processor time: threads that wait must not spin.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks._batches import ROOT, decide_and_read, one_column, rows, ten_classes
from benchmarks._row import Row

ROWS = 1_000_000
CASES = {
    "two classes": (one_column, "sensitivity@specificity=0.9"),
    "ten classes": (ten_classes, "accuracy"),
}
# A process makes so many calls, or fewer once they took so many seconds together.
ROUNDS, MOST_CALLS, ENOUGH = 2, 9, 10.0
# The busy process ends by itself after this many seconds, should nobody end it.
LONGEST = 300
BUSY = f"import time\nend = time.monotonic() + {LONGEST}\nwhile time.monotonic() < end: pass"
# Libraries below have threads of their own.
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("ABSTAIN", "OMP", "OPENBLAS", "MKL")}


def run() -> Iterator[Row]:
    for case, (_, metric) in CASES.items():
        usual: list[float] = []
        alone: list[float] = []
        for _ in range(ROUNDS):
            usual += _timings(case, {})
            alone += _timings(case, ONE_THREAD)
        # The median: it is the unlucky calls that the shortest would leave out.
        yield Row(
            f"one core busy, decide, {metric}, {rows(ROWS):.0e}",
            statistics.median(usual),
            "one thread",
            statistics.median(alone),
            at_most=1.1,
        )
        two, one = (
            min(_timings(case, ONE_THREAD | setting, processor=True))
            for setting in ({"ABSTAIN_NUM_THREADS": "2"}, {})
        )
        yield Row(
            f"processor time of two threads, decide, {metric}, {rows(ROWS):.0e}",
            two,
            "one thread",
            one,
            at_most=1.3,
        )


def measure(case: str, *, processor: bool = False) -> None:
    """Print how long each of several calls took, by the clock or in processor time."""
    clock = time.process_time if processor else time.perf_counter
    make, metric = CASES[case]
    batch = make(rows(ROWS))
    fitted = batch.fitted(metric)
    decide_and_read(fitted, batch.scores)
    timings: list[float] = []
    while len(timings) < MOST_CALLS and sum(timings) < ENOUGH:
        start = clock()
        decide_and_read(fitted, batch.scores)
        timings.append(clock() - start)
    json.dump(timings, sys.stdout)


def _timings(case: str, setting: dict[str, str], *, processor: bool = False) -> list[float]:
    """Return the timings of a process of its own, the number of threads set or left alone."""
    inherited = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    child = f"from benchmarks.bench_busy import measure; measure({case!r}, {processor=})"
    with _busy_core():
        done = subprocess.run(
            [sys.executable, "-c", child],
            cwd=ROOT,
            env=inherited | setting,
            check=True,
            stdout=subprocess.PIPE,
            timeout=LONGEST,
        )
    timings: list[float] = json.loads(done.stdout)
    return timings


@contextmanager
def _busy_core() -> Iterator[None]:
    busy = subprocess.Popen([sys.executable, "-S", "-c", BUSY])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()
