"""``--verbose``: the library's own log on stderr, with the time since the command began."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from abstain.cli._printable import printable

_ASKED = "abstain.verbose"
# Without the option only what cannot wait is said; with it the stages, and twice the reasons.
_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


def _listen(context: click.Context, parameter: click.Parameter, count: int) -> None:
    """Count how often it was asked for, before the command and after it."""
    asked = context.meta[_ASKED] = context.meta.get(_ASKED, 0) + count
    logging.getLogger("abstain").setLevel(_LEVELS[min(asked, len(_LEVELS) - 1)])


_option = click.option(
    "-v",
    "--verbose",
    count=True,
    expose_value=False,
    callback=_listen,
    help="Say on stderr what is done, and how long it takes; -vv says why, too.",
)


def with_verbose(command: Any) -> Any:
    """Give a command the option, if it has not got it yet."""
    if any(parameter.name == "verbose" for parameter in getattr(command, "params", ())):
        return command
    return _option(command)


class _Lines(logging.Handler):
    """One line on stderr for each record: the time since the command began, the room, the text."""

    start = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        room = record.name.removeprefix("abstain.")
        # On a terminal a progress bar may stand in the line.
        wipe = "\r\x1b[K" if sys.stderr.isatty() else ""
        elapsed = time.perf_counter() - self.start
        click.echo(f"{wipe}[{elapsed:7.2f} s] {room}: {printable(record.getMessage())}", err=True)


@contextmanager
def plain_logs() -> Iterator[None]:
    """Send the library's log to stderr, and leave logging as it was."""
    logger, lines = logging.getLogger("abstain"), _Lines()
    before, lines.start = logger.level, time.perf_counter()
    logger.addHandler(lines)
    try:
        yield
    finally:
        logger.removeHandler(lines)
        logger.setLevel(before)
