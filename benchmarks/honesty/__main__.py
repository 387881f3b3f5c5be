"""Print how honest the estimates are: ``python -m benchmarks.honesty --help``."""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.honesty import goals, run, tables
from benchmarks.honesty.sets import GROUPS, NAMES, missing
from benchmarks.honesty.shifts import SHIFTS


def main() -> None:
    chosen = _arguments()
    start = time.perf_counter()
    checks, others = _kept(chosen.again) if chosen.again else _found(chosen)
    facts: dict[str, Any] = {"checks": run.as_plain(checks), "peers": run.as_plain(others)}
    for title, lines in _tables(checks, others):
        print(f"\n{title}\n", *lines, sep="\n", flush=True)
    if not chosen.no_goals:
        before = json.loads(chosen.before.read_text())["goals"] if chosen.before else []
        found = list(goals.goals(checks, others, quick=chosen.quick))
        print("\nGoals\n", *goals.lines(found, before), sep="\n", flush=True)
        facts["goals"] = [goal.plain() for goal in found]
    splits = len({(check.set, check.shift, check.run) for check in checks})
    print(f"\n{splits} splits, {time.perf_counter() - start:.0f} s, {chosen.workers} workers")
    if chosen.json:
        chosen.json.write_text(json.dumps(facts))


def _found(chosen: argparse.Namespace) -> tuple[list[run.Check], list[run.PeerCheck]]:
    todo = run.tasks(
        _there(chosen.sets),
        runs=chosen.runs,
        shifts=chosen.shifts,
        per_run=chosen.metrics_per_run,
    )
    return run.checks(todo, workers=chosen.workers)


def _kept(file: Path) -> tuple[list[run.Check], list[run.PeerCheck]]:
    facts = json.loads(file.read_text())
    checks = [run.Check(**check) for check in facts["checks"]]
    return checks, [run.PeerCheck(**check) for check in facts["peers"]]


def _tables(checks: list[run.Check], others: list[run.PeerCheck]) -> Any:
    yield "Overall", tables.lines_of(checks, "shift")
    yield "By metric", tables.lines_of(checks, "shift", "metric")
    yield "By metric and budget", tables.lines_of(checks, "shift", "metric", "withheld")
    yield "By what is withheld", tables.lines_of(checks, "shift", "withheld")
    yield "By set", tables.lines_of(checks, "set", "shift")
    yield "By set and metric", tables.lines_of(checks, "set", "shift", "metric")
    yield "Where intervals hold least often", tables.worst_lines(checks)
    accuracy = [check for check in checks if check.metric == "accuracy"]
    peers = [check for check in others if check.metric == "accuracy"]
    yield "Error of estimated accuracy", tables.peer_lines(accuracy, peers, "shift")
    yield "Error of estimated accuracy by set", tables.peer_lines(accuracy, peers, "shift", "set")
    yield "Error by metric", tables.peer_lines(checks, others, "shift", "metric")


def _there(names: list[str]) -> list[str]:
    """Return the sets that can be loaded here, and say loudly which cannot."""
    wanted = [one for name in names for one in GROUPS.get(name, (name,))]
    for name in wanted:
        if (reason := missing(name)) is not None:
            print(f"SKIPPED {name}: {reason}", file=sys.stderr)
    return [name for name in wanted if missing(name) is None]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.honesty", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="20 splits, 2 metrics on each in turn"
    )
    parser.add_argument(
        "--sets", nargs="+", default=[*GROUPS], choices=[*GROUPS, *NAMES], metavar="SET",
        help=f"groups ({', '.join(GROUPS)}) or single sets",
    )  # fmt: skip
    parser.add_argument("--shifts", nargs="+", default=[*SHIFTS], choices=SHIFTS)
    parser.add_argument("--runs", type=int, help="splits of each set and shift (200; quick 20)")
    parser.add_argument("--metrics-per-run", type=int, help="so many metrics on each split (all)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures")
    parser.add_argument("--again", type=Path, metavar="FILE", help="print kept figures again")
    parser.add_argument("--before", type=Path, metavar="FILE", help="figures to print beside")
    parser.add_argument("--no-goals", action="store_true", help="leave out the table of goals")
    chosen = parser.parse_args()
    chosen.runs = chosen.runs or (20 if chosen.quick else 200)
    if chosen.quick and chosen.metrics_per_run is None:
        chosen.metrics_per_run = 2
    return chosen


if __name__ == "__main__":
    main()
