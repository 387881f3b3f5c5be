"""The command line: ``abstain COMMAND``, one file per command."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit."""
    try:
        from abstain.cli._main import run_command
    except ModuleNotFoundError as error:
        if error.name not in {"click", "pyarrow", "rich"}:
            raise
        sys.exit(
            f"abstain: the command line needs {error.name}, which comes with an extra: "
            f"pip install 'abstain[cli]'"
        )
    sys.exit(run_command(sys.argv[1:]))
