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


def manifest_of(sources: Iterable[Predictions | Path], **facts: Any) -> dict[str, Any]:
    """Return the facts of an output.

    Parameters
    ----------
    sources : iterable of Predictions or Path
        What was read, in order: tables, and files that are none such as a rule.
    **facts : object
        What else is known of the output.
    """
    return {
        **_made_by(),
        "inputs": [
            {"file": str(file), "sha256": sha256_of(file), "rows": rows}
            for source in sources
            for file, rows in _files(source)
        ],
        **facts,
    }


def stream_manifest(inputs: list[dict[str, Any]], **facts: Any) -> dict[str, Any]:
    """Return the facts of an output that was streamed.

    Its inputs are told by their size and when they were changed: a checksum is one more pass over
    files that are read only in passing.
    """
    return {**_made_by(), "inputs": inputs, **facts}


def _made_by() -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "command": this_command(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "abstain": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
    }


def sha256_of(path: Path) -> str:
    """Return the checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(source: Predictions | Path) -> list[tuple[Path, int | None]]:
    if isinstance(source, Path):
        return [(source, None)]
    return list(zip(source.files, source.counts, strict=True))
