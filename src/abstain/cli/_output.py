"""What every command prints, what it warns of, and where it may write."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from abstain.cli._spelling import spelled
from abstain.exceptions import AssumptionWarning, RepairWarning

__all__ = ["check_outputs", "emit", "manifest_path", "plain_warnings", "stop_on_doubts", "wrote"]

_HEARD = "abstain.warnings"
# What --out can write a table as, by how its name ends.
ENDINGS = (".csv", ".csv.gz", ".tsv", ".parquet", ".xlsx")


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
        click.echo(f"Warning: {spelled(message)}", err=True)


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
    if path is None:
        return
    beside = manifest_path(path)
    also = f", and what it was made of to {beside}" if beside.exists() else ""
    click.echo(f"Wrote {what} to {path}{also}", err=True)


def check_outputs(
    *others: Path | None,
    table: Path | None = None,
    inputs: Iterable[Path | None] = (),
    force: bool,
) -> None:
    """Refuse, before any work, to write where something stands or no folder is.

    Parameters
    ----------
    *others : Path or None
        Outputs that are no tables: a rule, a page.
    table : Path, optional
        The output that is a table; its ending says in which format.
    inputs : iterable of Path
        What is read, which nothing may be written over; may be patterns.
    force : bool
        Whether files that exist may be written over.
    """
    beside: list[Path | None] = []
    if table is not None:
        _check_ending(table)
        beside = [manifest_path(table)]
    seen: dict[Path, Path] = {}
    read = {file.resolve(): file for path in inputs if path is not None for file in _files(path)}
    for path in [table, *others, *beside]:
        if path is None:
            continue
        if not path.parent.is_dir():
            raise click.UsageError(f"Cannot write {path}: there is no folder {path.parent}.")
        if path.is_dir():
            raise click.UsageError(f"Cannot write {path}: it is a folder.")
        place = path.resolve()
        if place in read:
            raise click.UsageError(f"Cannot write {path}: it is read as {read[place]}.")
        if place in seen:
            raise click.UsageError(f"{path} is given for two outputs; each needs its own file.")
        seen[place] = path
        if path.exists() and not force:
            raise click.UsageError(f"{path} exists; add --force to write over it.")


def manifest_path(path: Path) -> Path:
    """Return where the manifest of a table stands: beside it, under its name."""
    return path.with_name(f"{path.name}.manifest.json")


def _check_ending(path: Path) -> None:
    """Refuse an ending that stands for no format, or for one that needs an extra."""
    if not path.name.lower().endswith(ENDINGS):
        raise click.UsageError(
            f"Cannot write a table to {path}: its name must end in {', '.join(ENDINGS[:-1])} or "
            f"{ENDINGS[-1]}."
        )
    if path.suffix.lower() == ".xlsx":
        from abstain.cli._excel import needed

        needed()


def _files(path: Path) -> list[Path]:
    import glob

    if path.is_file() or not glob.has_magic(str(path)):
        return [path]
    return [Path(name) for name in glob.glob(str(path), recursive=True)]
