"""Measure ours beside peers, and write the page: ``python -m benchmarks.proof --help``."""

import argparse
import importlib.util
import json
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.proof import QUICK, SECTIONS
from benchmarks.proof._measure import measured, module_of
from benchmarks.proof._page import machine, page, section_lines

PAGE = Path("docs/evidence.md")

#: Threads of several workers would wait for each other.
ONE_THREAD = dict.fromkeys(
    ("ABSTAIN_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print or write; 1 where a row failed."""
    chosen = _arguments(arguments)
    modules = {name: module_of(name) for name in _there()}
    if chosen.again:
        facts = json.loads(chosen.again.read_text())
        if chosen.section and chosen.section not in facts["sections"]:
            sys.exit(
                f"{chosen.again} has no {chosen.section}, only {', '.join(facts['sections'])}"
            )
    else:
        os.environ.update(ONE_THREAD)
        if chosen.quick:
            os.environ[QUICK] = "1"
        facts = _measured(chosen, modules)
    if chosen.section is None or chosen.out is not None:
        file = chosen.out or PAGE
        file.write_text(page(facts, modules), encoding="utf-8")
        _say(f"wrote {file}")
    if chosen.section is not None:
        kept = facts["sections"][chosen.section]
        print(*section_lines(chosen.section, modules[chosen.section], kept), sep="\n\n")
    return 1 if any(_failed(facts)) else 0


def _measured(chosen: argparse.Namespace, modules: dict[str, Any]) -> dict[str, Any]:
    """Measure what is asked for, keeping each row as it is finished."""
    facts: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "quick": chosen.quick,
        "sections": {},
    }
    wanted = [chosen.section] if chosen.section else [*modules]
    # What times things runs when nothing else does.
    for name in sorted(wanted, key=lambda name: getattr(modules[name], "ALONE", False)):
        module = modules[name]
        rows = chosen.rows or module.names()
        kept = {"rows": {}, "skipped": module.skipped(), "seconds": 0.0}
        facts["sections"][name] = kept
        start = time.perf_counter()
        workers = 1 if getattr(module, "ALONE", False) else chosen.workers
        for row, found in measured(name, rows, workers):
            kept["rows"][row] = found
            kept["seconds"] = time.perf_counter() - start
            if chosen.json:
                chosen.json.write_text(json.dumps(facts, default=float))
            _say(f"{name} {row}: {found['error'] or 'done'}, {found['seconds']:.1f} s")
        kept["rows"] = {row: kept["rows"][row] for row in rows}
    facts["sections"] = {name: facts["sections"][name] for name in wanted}
    if chosen.json:
        chosen.json.write_text(json.dumps(facts, default=float))
    return facts


def _failed(facts: dict[str, Any]) -> Iterator[str]:
    for kept in facts["sections"].values():
        yield from (row["error"] for row in kept["rows"].values() if row["error"])


def _there() -> list[str]:
    return [name for name in SECTIONS if importlib.util.find_spec(f"benchmarks.proof.{name}")]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proof", description=__doc__)
    parser.add_argument("section", nargs="?", choices=_there(), help="only this one, and print it")
    parser.add_argument("rows", nargs="*", metavar="row", help="only these of its rows")
    parser.add_argument("--quick", action="store_true", help="few repeats, for trying out")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"the page (default {PAGE})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures")
    parser.add_argument("--again", type=Path, metavar="FILE", help="the page of kept figures")
    parser.add_argument("--workers", type=int, default=2, help="rows at a time (2)")
    chosen = parser.parse_args(arguments)
    if chosen.rows:
        names = module_of(chosen.section).names()
        for row in chosen.rows:
            if row not in names:
                parser.error(f"no row {row!r} in {chosen.section}; there are {', '.join(names)}")
    return chosen


if __name__ == "__main__":
    sys.exit(main())
