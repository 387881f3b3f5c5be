"""Text from files and from the command line as a terminal may be given it.

A name may hold the signs that move a cursor, change a title or turn the direction of writing.
They are shown as Python writes them; so a terminal shows what is there and does nothing.
"""

from __future__ import annotations

import re
import sys
from contextlib import suppress

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
