"""What a terminal is given: text of any kind as it may be shown, and with ``--verbose`` the log.

A name may hold the signs that move a cursor, change a title or turn the direction of writing.
They are shown as Python writes them; so a terminal shows what is there and does nothing.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

# Control characters, what turns the direction of writing, and halves of characters, which are how
# Python holds the bytes of a file's name that are no text.
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
)
_CONTROL = re.compile(f"[{_UNSEEN}]")
_IN_A_LINE = re.compile(f"[{_UNSEEN}\t\n]")


def printable(text: str, stream: object = None) -> str:
    r"""Return text whose lines stay lines, and nothing in it is a command to a terminal.

    What the encoding of a stream does not have, where one is given, is escaped as well.

    Examples
    --------
    >>> print(printable("red: \x1b[31m"))
    red: \x1b[31m
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"
    text = _CONTROL.sub(_escaped, text)
    return text.encode(encoding, "backslashreplace").decode(encoding)


def in_a_line(name: object) -> str:
    r"""Return a name, of a column, a class, a row or a file, that stays in the line it is put in.

    Examples
    --------
    >>> print(in_a_line("blood\npressure"))
    blood\npressure
    """
    return _IN_A_LINE.sub(_escaped, str(name))


def say(text: str) -> None:
    """Say something on stderr; where that cannot be written, nothing is said."""
    with suppress(OSError):
        click.echo(printable(text, sys.stderr), err=True)


def tell(text: str) -> None:
    """Print a result on stdout."""
    click.echo(printable(text, sys.stdout))


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


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
