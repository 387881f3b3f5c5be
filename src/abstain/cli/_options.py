"""Options that several commands share, and checks that make them errors of the command."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

__all__ = ["check_outputs", "check_with", "json_option"]

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON, for machines."
)


def check_with(
    check: Callable[[Any], Any],
) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return a click callback that turns the library's complaint into a usage error."""

    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        if value is None:
            return None
        try:
            return check(value)
        except (OSError, TypeError, ValueError) as error:
            raise click.BadParameter(str(error)) from error

    return callback


def check_outputs(*paths: Path | None, force: bool) -> None:
    """Refuse, before any work, to write where something stands or no folder is."""
    for path in paths:
        if path is None:
            continue
        if not path.parent.is_dir():
            raise click.UsageError(f"Cannot write {path}: there is no folder {path.parent}.")
        if path.exists() and not force:
            raise click.UsageError(f"{path} exists; add --force to write over it.")
