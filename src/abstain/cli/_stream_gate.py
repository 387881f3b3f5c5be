"""Which tables are streamed, and what cannot be done with those."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from abstain.cli._columns import found_files

#: Larger inputs are streamed; what is smaller is read as it always was.
MOST_BYTES = 200_000_000
# What text is packed to, at most times: it counts for what it unpacks to.
_PACKED = 5


def is_streamed(batch: Path, stream: bool | None) -> bool:
    """Tell whether a batch is streamed: it is a folder, or large, or that was asked for."""
    if stream is not None:
        if not stream and batch.is_dir():
            raise click.UsageError(
                f"--no-stream is for files; for all tables in the folder give '{batch}/*.csv'."
            )
        return stream
    if batch.is_dir():
        return True
    try:
        files = found_files(batch)
    except (OSError, ValueError):
        return False  # what is wrong with it is said when it is read
    weighed = (file.stat().st_size * (_PACKED if _is_packed(file) else 1) for file in files)
    return sum(weighed) > MOST_BYTES


def _is_packed(file: Path) -> bool:
    return file.suffix.lower() == ".gz"


def refuse_in_streams(given: Mapping[str, Any], out: Path | None) -> None:
    """Refuse options that take all rows at once."""
    for option, value in given.items():
        if value not in (None, False):
            raise click.UsageError(
                f"{option} takes all rows in memory at once, and BATCH is streamed. Leave it out; "
                f"or, for a file that fits into memory, add --no-stream."
            )
    if out is not None and out.suffix.lower() == ".xlsx":
        raise click.UsageError(
            f"Cannot stream into the workbook {out}: name a folder, or a file that ends in "
            f".parquet, .csv, .csv.gz or .tsv."
        )
