"""README's first session in a fresh process: nothing compiled yet, and once more after that."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from doctest import DocTestParser
from pathlib import Path

import abstain
from benchmarks._batches import ROOT
from benchmarks._row import Row

FRESH, AGAIN = 2, 3


def run() -> Iterator[Row]:
    script = session()
    first, again = [], []
    for _ in range(FRESH):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            environment = _nothing_compiled(folder)
            first.append(_seconds(script, folder, environment))
            again += [_seconds(script, folder, environment) for _ in range(AGAIN)]
    yield Row("README's session, nothing compiled yet", min(first), "goal", 3.0, at_most=1)
    yield Row("README's session, in the next process", min(again), "goal", 1.0, at_most=1)
    imports = min(
        _seconds("import numpy, sklearn.base", ROOT, dict(os.environ)) for _ in range(AGAIN)
    )
    yield Row("README's session, in the next process", min(again), "numpy, sklearn.base", imports)


def session() -> str:
    """Return README's first block of code as a script that shows what a session shows."""
    block = re.search(r"^```pycon\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    if block is None:
        raise ValueError("README.md has no ```pycon block.")
    sources = [example.source for example in DocTestParser().get_examples(block[1])]
    return f"for source in {sources!r}:\n    exec(compile(source, 'README.md', 'single'))\n"


def _nothing_compiled(folder: Path) -> dict[str, str]:
    """Copy the package without its bytecode; return an environment with that and empty caches."""
    package = Path(abstain.__file__).parent
    shutil.copytree(
        package, folder / "src" / package.name, ignore=shutil.ignore_patterns("__pycache__")
    )
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment | {
        "PYTHONPATH": str(folder / "src"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


def _seconds(script: str, folder: Path, environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - start
