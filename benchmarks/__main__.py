"""Run the benchmarks whose file names contain one of the given words; all without words.

``--json`` prints each row as a JSON object on a line of its own.
"""

import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path


def main() -> None:
    as_json = "--json" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--json"]
    files = sorted(Path(__file__).parent.glob("bench_*.py"))
    for file in files:
        if words and not any(word in file.stem for word in words):
            continue
        print(f"\n{file.stem.removeprefix('bench_')}", flush=True)
        for row in importlib.import_module(f"benchmarks.{file.stem}").run():
            print(json.dumps(asdict(row)) if as_json else "  " + row.text(), flush=True)


if __name__ == "__main__":
    main()
