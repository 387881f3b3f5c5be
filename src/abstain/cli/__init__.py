"""The command line: ``abstain COMMAND``, one file per command.

Public: ``main`` is the program, ``run_command`` one command of it that returns its exit code, and
``commands`` the group of click that holds them all.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abstain.cli._main import commands, run_command

__all__ = ["commands", "main", "run_command"]

#: Whether this process is a command line and nothing else.
own_process = False


def main() -> None:
    """Run the command line and exit."""
    global own_process
    own_process = True
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


def __getattr__(name: str) -> Any:
    """Load click only for what needs it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from abstain.cli import _main

    return getattr(_main, name)
