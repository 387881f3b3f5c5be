"""The command line: how fast it starts, and a million rows from file to file."""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from abstain.datasets import screening_clinic
from benchmarks._row import Row

ROWS = 1_000_000
RUN = "import sys; sys.argv[0] = 'abstain'; from abstain.cli import main; main()"
SETTINGS = (
    "--scores", "logit", "--scale", "logits", "--label", "ill", "--budget", "0.15",
    "--metric", "sensitivity@specificity=0.9",
)  # fmt: skip


def run() -> Iterator[Row]:
    yield Row("abstain --help", _shortest(["--help"]), "goal", 0.4, at_most=1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clinic = screening_clinic(5_000, ROWS, random_state=0)
        validation = pa.table({"logit": clinic.scores_val, "ill": clinic.y_val})
        parquet.write_table(validation, folder / "validation.parquet")
        ids = np.char.add("P", np.arange(ROWS).astype(str))
        target = pa.table({"patient": ids, "logit": clinic.scores_target})
        parquet.write_table(target, folder / "target.parquet")
        files = [str(folder / "validation.parquet"), str(folder / "target.parquet")]
        out = ["--id", "patient", "--force", "--out"]
        for suffix in ("parquet", "csv"):
            command = ["run", *files, *SETTINGS, *out, str(folder / f"decisions.{suffix}")]
            took = _shortest(command, repeats=3)
            yield Row(f"a million rows, Parquet to {suffix}", took, "goal", 10, at_most=1)
        # The largest of all children so far, which are these.
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        yield Row("peak memory of these", peak / 1e9, "goal", 1.0, at_most=1, unit="GB")
        page = ["--force", "--report", str(folder / "report.html")]
        yield Row(
            "a million rows, with the report",
            _shortest(["run", *files, *SETTINGS, *page], repeats=1),
            "without it",
            took,
        )


def _shortest(arguments: list[str], repeats: int = 5) -> float:
    command = [sys.executable, "-c", RUN, *arguments]
    timings = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        timings.append(time.perf_counter() - start)
    return min(timings)
