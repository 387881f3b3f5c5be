"""What every command prints and where it may write."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

__all__ = ["check_outputs", "emit", "wrote"]


def emit(found: Any, lines: Iterable[str], as_json: bool) -> None:
    """Print what was found on stdout: as JSON for machines, or as lines for people."""
    if not as_json:
        click.echo("\n".join(lines))
        return
    import json

    from abstain._numerics import plain

    click.echo(json.dumps(plain(found), indent=2))


def wrote(what: str, path: Path | None) -> None:
    """Say on stderr what was written, if it was."""
    if path is not None:
        click.echo(f"Wrote {what} to {path}", err=True)


def check_outputs(*paths: Path | None, force: bool) -> None:
    """Refuse, before any work, to write where something stands or no folder is."""
    for path in paths:
        if path is None:
            continue
        if not path.parent.is_dir():
            raise click.UsageError(f"Cannot write {path}: there is no folder {path.parent}.")
        if path.exists() and not force:
            raise click.UsageError(f"{path} exists; add --force to write over it.")
