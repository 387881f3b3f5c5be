"""Parquet files in parts, decided about and written: against PyArrow reading and writing alone.

The floor reads the columns that we read and writes the columns that we write, which it has ready
made in memory, with the same settings of the same reader and writer. Ours is the whole command:
calibration on the validation file, a pass over the scores, the choice, a pass that decides and
writes.
"""

import contextlib
import io
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from abstain.cli._main import run_command
from abstain.datasets import screening_clinic
from benchmarks._row import Row

ROWS, PARTS, CHUNK = 20_000_000, 5, 1 << 18
REPEATS = 3
RUN = ["run", "val.parquet", "batch", "--label", "y", "--id", "id", "--budget", "0.15"]
METRICS = ("accuracy", "auroc")


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _write_inputs()
        for metric in METRICS:
            _streamed(metric)
            # In turns, so that a busy spell meets both.
            pairs = [(_streamed(metric), _floor()) for _ in range(REPEATS)]
            ours, theirs = (min(one) for one in zip(*pairs, strict=True))
            yield Row(
                f"run, {metric}: {ROWS:.0e} rows at {ROWS / ours:,.0f} rows/s",
                ours,
                f"PyArrow {ROWS / theirs:,.0f} rows/s",
                theirs,
                at_least=0.5,
            )


def _write_inputs() -> None:
    Path("batch").mkdir()
    clinic = screening_clinic(5_000, 10, random_state=0)
    table = pa.table({"p": _chance(clinic.scores_val), "y": clinic.y_val})
    parquet.write_table(table, "val.parquet")
    each = ROWS // PARTS
    for part in range(PARTS):
        scores = screening_clinic(10, each, random_state=part + 1).scores_target
        table = pa.table(
            {
                "id": np.arange(part * each, (part + 1) * each),
                "p": _chance(scores).astype(np.float32),
                "site": np.random.default_rng(part).integers(0, 50, each),
            }
        )
        parquet.write_table(table, f"batch/{part}.parquet")


def _chance(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logits))


def _streamed(metric: str) -> float:
    given = [*RUN, "--scores", "p", "--metric", metric, "--out", "parts", "--stream", "--force"]
    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = run_command(given)
    taken = time.perf_counter() - start
    if code:
        raise RuntimeError(f"the command failed with {code}")
    return taken


def _floor() -> float:
    """Read the same columns and write the same columns, of which ours are there already."""
    ours = parquet.read_table("parts/part-00000.parquet", partitioning=None).slice(0, CHUNK)
    ours = ours.combine_chunks().drop_columns(["id", "site"])
    os.makedirs("floor", exist_ok=True)
    start = time.perf_counter()
    for part in range(PARTS):
        with parquet.ParquetFile(f"batch/{part}.parquet") as source:
            _copied(source, f"floor/{part}.parquet", ours)
    return time.perf_counter() - start


def _copied(source: parquet.ParquetFile, path: str, ours: pa.Table) -> None:
    writer = None
    for batch in source.iter_batches(batch_size=CHUNK, columns=["id", "p", "site"]):
        columns = dict(
            zip(["id", "site"], (batch.column("id"), batch.column("site")), strict=True)
        )
        made = ours.slice(0, batch.num_rows)
        columns |= dict(zip(made.column_names, made.columns, strict=True))
        table = pa.table(columns)
        if writer is None:
            plain = [f.name for f in table.schema if not pa.types.is_floating(f.type)]
            plain.remove("id")
            writer = parquet.ParquetWriter(path, table.schema, use_dictionary=plain)
        writer.write_table(table)
    if writer is not None:
        writer.close()
