"""The command line: ``abstain COMMAND``, one file per command."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit."""
    try:
        from abstain.cli._main import run_command
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        message = missing_package(error)
        if message is None:
            raise
        sys.exit(f"abstain: {message}")
    sys.exit(run_command(sys.argv[1:]))


def missing_package(error: ImportError) -> str | None:
    """Return what to install where the error is that of a package the command line needs."""
    name = (error.name or "").partition(".")[0]
    if name not in {"click", "narwhals", "pyarrow", "rich"}:
        return None
    return f"the command line needs {name}, which comes with an extra: pip install 'abstain[cli]'"
