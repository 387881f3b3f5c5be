"""What an output was made of and by: written beside every table, so that it can be made again."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from abstain import __version__
from abstain.cli._options import this_command

if TYPE_CHECKING:
    from abstain.cli._tables import Predictions

SCHEMA_VERSION = 1


def manifest_of(inputs: list[dict[str, Any]], **facts: Any) -> dict[str, Any]:
    """Return the facts of an output: what it was made by and of, and what else is known of it."""
    return {
        "schema_version": SCHEMA_VERSION,
        "command": this_command(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "abstain": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        "inputs": inputs,
        **facts,
    }


def input_facts(sources: Iterable[Predictions | Path]) -> list[dict[str, Any]]:
    """Return what is known of what was read: tables, and files that are none such as a rule.

    What is streamed is told by its size and when it was changed instead: a checksum is one more
    pass over files that are read only in passing.
    """
    files = list[tuple[Path, int | None]]()
    for source in sources:
        if isinstance(source, Path):
            files.append((source, None))
        else:
            files += zip(source.files, source.counts, strict=True)
    return [{"file": str(file), "sha256": sha256_of(file), "rows": rows} for file, rows in files]


def sha256_of(path: Path) -> str:
    """Return the checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
