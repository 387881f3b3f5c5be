"""Run the benchmarks whose file names contain one of the given words; all without words."""

import importlib
import sys
from pathlib import Path


def main() -> None:
    words = sys.argv[1:]
    files = sorted(Path(__file__).parent.glob("bench_*.py"))
    for file in files:
        if words and not any(word in file.stem for word in words):
            continue
        print(f"\n{file.stem.removeprefix('bench_')}", flush=True)
        for row in importlib.import_module(f"benchmarks.{file.stem}").run():
            print("  " + row.text(), flush=True)


if __name__ == "__main__":
    main()
