"""How time and memory grow from 10^5 to 10^8 rows, and what 10^9 and 10^11 would take.

Rows are generated chunk by chunk, summarised, decided on once, and decided about chunk by chunk,
so that nothing is ever held but a chunk and a summary. Each size runs in a fresh process; the time
of generating is measured and taken out. From the measured rates the time of k workers follows,
each with its share of the rows and one merge of summaries at the end.

Run with ``python -m benchmarks.scale``; a number after it is the largest exponent (8).
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

CHUNK = 2**20
ROOT = Path(__file__).parent.parent


def chunk(k: int, n: int) -> np.ndarray:
    """Return some of the scores: few numbers are drawn, and turned for each chunk."""
    rng = np.random.default_rng(k)
    scores = np.roll(_DRAWN, int(rng.integers(len(_DRAWN))))[:n]
    return scores * np.float32(rng.uniform(0.9, 1.1))


_RNG = np.random.default_rng(0)
_DRAWN = (_RNG.normal(size=CHUNK) + 2 * (_RNG.random(CHUNK) < 0.1) - 1).astype(np.float32)


def fitted():
    from abstain import Abstainer

    rng = np.random.default_rng(1)
    y = (rng.random(5000) < 0.3).astype(int)
    scores = 2 * y + rng.normal(size=5000) - 1
    how = {"calibration": "platt", "shift": "em", "scale": "logits", "random_state": 0}
    return Abstainer("sensitivity@specificity=0.9", budget=0.15, **how).fit(scores, y)


def sizes(n: int) -> list[int]:
    return [min(CHUNK, n - begin) for begin in range(0, n, CHUNK)]


def resident() -> float:
    """Return the most memory that was resident so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(n: int) -> None:
    """Print what so many rows take, as JSON."""
    warnings.simplefilter("ignore")
    import pandas  # noqa: F401  what a user of tables has imported before

    abstainer = fitted()
    # Code is loaded, and memory of a chunk taken once, before anything counts.
    small = abstainer.decide_summary(abstainer.summarise(chunk(0, 10_000)))
    small.rows(chunk(0, 10_000))
    before = resident()
    begin = time.perf_counter()
    for k, size in enumerate(sizes(n)):
        chunk(k, size)
    made = time.perf_counter() - begin
    begin = time.perf_counter()
    summary = None
    for k, size in enumerate(sizes(n)):
        part = abstainer.summarise(chunk(k, size))
        summary = part if summary is None else summary.merge(part)
    summarised = time.perf_counter() - begin - made
    begin = time.perf_counter()
    policy = abstainer.decide_summary(summary)
    chosen = time.perf_counter() - begin
    begin = time.perf_counter()
    withheld = 0
    for k, size in enumerate(sizes(n)):
        withheld += int(policy.rows(chunk(k, size)).abstain.sum())
    applied = time.perf_counter() - begin - made
    merge = time.perf_counter()
    summary.merge(summary)
    print(
        json.dumps(
            {
                "rows": n,
                "generate": made,
                "summarise": summarised,
                "choose": chosen,
                "apply": applied,
                "merge": time.perf_counter() - merge,
                "memory": resident() - before,
                "withheld": withheld / n,
                "bytes": len(summary.to_bytes()),
            }
        )
    )


def of(n: int) -> dict[str, float]:
    child = f"from benchmarks.scale import measure; measure({n})"
    done = subprocess.run(
        [sys.executable, "-c", child], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    return json.loads(done.stdout)


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    print(f"{'rows':>10}{'summarise':>11}{'choose':>9}{'apply':>9}{'all, s':>9}", end="")
    print(f"{'ns/row':>9}{'memory, MB':>12}{'withheld':>10}{'(generate)':>12}")
    found = []
    for exponent in range(5, most + 1):
        one = of(10**exponent)
        found.append(one)
        total = one["summarise"] + one["choose"] + one["apply"]
        print(f"{one['rows']:10.0e}{one['summarise']:11.3f}{one['choose']:9.3f}", end="")
        print(f"{one['apply']:9.3f}{total:9.3f}{1e9 * total / one['rows']:9.1f}", end="")
        print(f"{one['memory']:12.0f}{one['withheld']:10.4f}{one['generate']:12.3f}", flush=True)
    large = [one for one in found if one["rows"] >= 10**6]
    totals = [one["summarise"] + one["choose"] + one["apply"] for one in large]
    if len(large) > 1:
        grown, times = large[-1]["rows"] / large[0]["rows"], totals[-1] / totals[0]
        print(f"\n{large[0]['rows']:.0e} to {large[-1]['rows']:.0e} rows: {times:.1f} times the")
        print(f"time for {grown:.0f} times the rows, {times / grown:.2f} x linear (at most 1.1);")
        slope = np.polyfit(np.log([one["rows"] for one in large]), np.log(totals), 1)[0]
        print(f"time grows as rows to the power of {slope:.3f}; memory at most", end=" ")
        print(f"{max(one['memory'] for one in large):.0f} MB above the import (at most 300).")
    last = found[-1]
    rate = (last["summarise"] + last["apply"]) / last["rows"]
    print(
        f"\nFrom {1e9 * rate:.1f} ns a row on {_cores()} cores, {last['choose']:.2f} s to choose",
        end=" ",
    )
    print(
        f"and {1e3 * last['merge']:.1f} ms to merge two summaries of {last['bytes'] / 1e6:.1f} MB:"
    )
    print(f"{'rows':>10}{'workers':>9}{'time':>12}")
    for rows in (10**9, 10**11):
        for workers in (1, 16, 256):
            levels = np.ceil(np.log2(workers)) if workers > 1 else 0
            seconds = rate * rows / workers + levels * last["merge"] + last["choose"]
            print(f"{rows:10.0e}{workers:9d}{_in_words(seconds):>12}")


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0))


def _in_words(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


if __name__ == "__main__":
    main()
