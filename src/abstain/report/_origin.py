"""How to make the page again: the command, versions, and what the input files were."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import abstain

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def origin(
    command: str | None, inputs: Sequence[str | os.PathLike[str]], calibration: str
) -> dict[str, Any]:
    """Return what it takes to make the page again."""
    return {
        "command": command,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "calibration": calibration,
        "versions": {
            "abstain": abstain.__version__,
            "python": platform.python_version(),
            **{name: found for name in _PACKAGES if (found := _version(name))},
        },
        "inputs": {os.fspath(path): _sha256(Path(path)) for path in inputs},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
