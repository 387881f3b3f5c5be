"""Speed: the benchmarks that a user feels, as ratios measured in one run, ours beside a peer."""

import json
import os
import subprocess
import sys
from typing import Any

from benchmarks._batches import ROOT
from benchmarks._row import Row
from benchmarks.proof import repeats

__all__ = [
    "ABOUT",
    "ALONE",
    "COLUMNS",
    "TITLE",
    "headline",
    "lines",
    "names",
    "skipped",
    "verdict",
]

#: Timings of rows at the same time would be of each other.
ALONE = True
WORDS = {
    "people": "what people wait for",
    "first_run": "the first call of a new process",
    "decide": "whole decisions",
    "policy": "applying a policy",
    "ranking": "choosing for a metric of the order",
    "confusion": "choosing for a metric of the confusion matrix",
    "shift": "class proportions",
    "calibration": "calibrating",
    "report": "the report",
    "cli": "the command line",
}
#: The most rows: ten million would take minutes, and so would a peer's loop over a million.
ROWS = dict.fromkeys(WORDS, 1_000_000) | {"confusion": 200_000, "shift": 200_000}
SECONDS = 600

TITLE = "Speed"
COLUMNS = ("what", "ours", "peer", "theirs", "ratio", "goal", "met", "by itself")
ABOUT = f"""
The benchmarks of `make bench` that need neither a GPU nor a cluster: {", ".join(WORDS.values())}.
Each times ours and the peer in turns in one process, and takes the shortest of several timings. A
ratio is ours over the peer's, so below 1 ours is the faster or smaller; where the goal says
*faster*, it is the peer's over ours. Peers are other packages (QuaPy, abstention, scikit-learn),
plain passes of NumPy over the same rows such as one `argsort`, or, as *goal*, a fixed figure.
Nothing is of more than a million rows here, while many goals were set for ten million: what a
call costs once counts for more here, and some are missed for that. The last column but one runs
a benchmark outside this page.
"""


def names() -> list[str]:
    """Return the benchmarks, by the word that picks each."""
    return [*WORDS]


def skipped() -> list[str]:
    """Return what is left out, and why."""
    return ["the benchmarks of GPUs, clusters, databases, memory and very large files"]


def lines(name: str) -> list[dict[str, Any]]:
    """Return a line for each measured ratio."""
    made = [_line(Row(**row)) for row in _measured(name)]
    made[0]["by itself"] = f"`ABSTAIN_BENCH_ROWS={ROWS[name]} python -m benchmarks {name}`"
    return made


def _measured(name: str) -> list[dict[str, Any]]:
    """Run a benchmark in a fresh process, with as many threads as a user would have."""
    settings = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    settings["ABSTAIN_BENCH_ROWS"] = str(repeats(ROWS[name], ROWS[name] // 10))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--json", name],
        cwd=ROOT, env=settings, capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    if done.returncode:
        why = done.stderr.strip().splitlines() or ["nothing was said"]
        raise RuntimeError(f"the benchmark ended with {done.returncode}: {why[-1]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _line(row: Row) -> dict[str, Any]:
    return {
        "what": row.what,
        "ours": f"{row.ours:.3g} {row.unit}",
        "peer": row.peer,
        "theirs": f"{row.theirs:.3g} {row.unit}",
        "ratio": f"{row.ratio:.2f}",
        "goal": row.goal,
        "met": {None: "", True: "yes", False: "**no**"}[row.met],
    }


def verdict(found: dict[str, list[dict[str, Any]]]) -> str:
    """Say which goals are missed, then how many are met."""
    every = [(name, line) for name, rows in found.items() for line in rows]
    missed = [
        f"{line['what']} ({name}): {line['ratio']} against {line['peer']}, goal {line['goal']}"
        for name, line in every
        if line["met"] == "**no**"
    ]
    met = sum(line["met"] == "yes" for _, line in every)
    if not missed:
        return "**Every goal of speed is met.**"
    listed = "\n".join(f"- {one}" for one in missed)
    return f"**Goals that are missed:**\n\n{listed}\n\n{met} of {met + len(missed)} are met."


def headline(found: dict[str, list[dict[str, Any]]]) -> tuple[str, str, str]:
    """Return how many times faster ours is than other packages, and how many goals are met."""
    every = [line for rows in found.values() for line in rows]
    met = sum(line["met"] == "yes" for line in every)
    missed = sum(line["met"] == "**no**" for line in every)
    beside = [line for line in every if "faster" in line["goal"]]
    ratios = [float(line["ratio"]) for line in beside]
    ours = f"{min(ratios):.3g} to {max(ratios):.3g} times faster" if ratios else ""
    peers = ", ".join(dict.fromkeys(line["peer"] for line in beside))
    return peers, ours, f"{met} of {met + missed} goals met"
