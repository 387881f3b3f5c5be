"""What every command prints, what it warns of, and where it may write."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from abstain.exceptions import AssumptionWarning, RepairWarning

__all__ = ["check_outputs", "emit", "plain_warnings", "stop_on_doubts", "wrote"]

_HEARD = "abstain.warnings"


@contextmanager
def plain_warnings(context: click.Context) -> Iterator[None]:
    """Say the library's own warnings once each, as a line on stderr, after the results."""
    heard: dict[str, type[Warning]] = {}
    said: set[str] = set()
    context.meta[_HEARD] = heard, said
    usual = warnings.showwarning

    def hear(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, AssumptionWarning | RepairWarning):
            heard.setdefault(str(message), category)
        else:
            usual(message, category, *place, **more)

    with warnings.catch_warnings():
        for kind in (AssumptionWarning, RepairWarning):
            warnings.simplefilter("always", kind)
        warnings.showwarning = hear
        try:
            yield
        finally:
            _say(heard, said)


def _say(heard: Iterable[str], said: set[str]) -> None:
    for message in [one for one in heard if one not in said]:
        said.add(message)
        click.echo(f"Warning: {message}", err=True)


def emit(found: Any, lines: Iterable[str], as_json: bool) -> None:
    """Print what was found on stdout: as JSON for machines, or as lines for people."""
    if not as_json:
        click.echo("\n".join(lines))
    else:
        import json

        from abstain._numerics import plain

        click.echo(json.dumps(plain(found), indent=2))
    context = click.get_current_context(silent=True)
    if context is not None and _HEARD in context.meta:
        _say(*context.meta[_HEARD])


def stop_on_doubts(found: Any, lines: Iterable[str], as_json: bool, *, strict: bool) -> None:
    """Where that is asked for and something speaks against the figures, print them and exit 1.

    To be called before anything is written.
    """
    context = click.get_current_context()
    heard, _ = context.meta[_HEARD]
    if not strict or not any(issubclass(kind, AssumptionWarning) for kind in heard.values()):
        return
    emit(found, lines, as_json)
    click.echo("abstain: stopped by --strict; nothing was written.", err=True)
    context.exit(1)


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
