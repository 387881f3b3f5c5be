"""How the tables of a command are to be read: the options, and the one value they become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Literal, Self, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
Missing = Literal["refer", "drop", "error"]

_SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "\\t": "\t"}


@dataclass(frozen=True)
class Reading:
    """What the user said about the files; None where the file itself has to tell.

    Attributes
    ----------
    percent : bool
        Scores are percentages, to be divided by 100.
    separator, decimal, encoding : str or None
        Of text files.
    sheets : tuple of str
        Of workbooks: one for all tables, or one for VALIDATION and one for BATCH.
    missing : {"refer", "drop", "error"}
        What becomes of rows without a score.
    """

    percent: bool = False
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheets: tuple[str, ...] = ()
    missing: Missing = "error"

    @property
    def sheet(self) -> str | None:
        """The sheet to read."""
        return self.sheets[-1] if self.sheets else None

    @property
    def of_validation(self) -> Self:
        """The same for VALIDATION: its own sheet, and no row without a score can be of use."""
        missing: Missing = "error" if self.missing == "error" else "drop"
        return replace(self, sheets=self.sheets[:1], missing=missing)

    def typed(self) -> list[str]:
        """Return the options that say the same on a command line."""
        given = {
            "--separator": self.separator,
            "--decimal": self.decimal,
            "--encoding": self.encoding,
            "--sheet": self.sheet,
            # A rule is chosen on rows that have a score.
            "--missing": None if self.missing == "error" else "drop",
        }
        options = [part for name, value in given.items() if value for part in (name, value)]
        return ["--percent", *options] if self.percent else options


AS_FOUND = Reading()


def _separator(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    separator = None if text is None else _SEPARATORS.get(text, text)
    if separator is not None and (
        len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0'
    ):
        raise click.BadParameter(
            f"{text!r} must be one ASCII character, or one of {', '.join(list(_SEPARATORS)[:4])}."
        )
    return separator


def _encoding(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    import codecs

    if text is None:
        return None
    try:
        name = codecs.lookup(text).name
        # There are codecs that are no encodings of text, and some that cannot be read in parts.
        if codecs.getincrementaldecoder(name)().decode("a,1\n".encode(name), True) != "a,1\n":
            raise LookupError(name)
        return name
    except (LookupError, TypeError, ValueError) as error:
        raise click.BadParameter(
            f"{text!r} is no encoding; such as windows-1252, latin-1 or utf-16 are."
        ) from error


def _sheets(
    context: click.Context, parameter: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    if len(names) > 2:
        raise click.BadParameter(f"Give one, or two for VALIDATION and BATCH; got {len(names)}.")
    return names


_OPTIONS = (
    click.option("--percent", is_flag=True, help="The scores are percentages: divide by 100."),
    click.option(
        "--separator",
        callback=_separator,
        help="What separates columns in text files: one character, or comma, semicolon, tab, "
        "pipe.  [default: told from the header]",
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="The decimal sign of scores in text.  [default: told from the scores, or asked]",
    ),
    click.option(
        "--encoding",
        callback=_encoding,
        help="The encoding of text files, e.g. windows-1252.  [default: told from the file]",
    ),
    click.option(
        "--sheet",
        "sheets",
        multiple=True,
        callback=_sheets,
        help="The sheet of workbooks that have several; twice for one of VALIDATION and one of "
        "BATCH.",
    ),
)


def reading(*, refer: bool = False) -> Callable[[F], F]:
    """Give a command the options of reading, and hand them to it as one value, ``reading``.

    ``refer`` is for commands that decide: they can give rows without a score to a person.
    """
    what = "refer them to a person, drop them" if refer else "drop them"
    missing = click.option(
        "--missing",
        type=click.Choice(["refer", "drop", "error"] if refer else ["drop", "error"]),
        default="error",
        show_default=True,
        help=f"What to do with rows without a score: {what}, or stop and name them.",
    )

    def give(command: F) -> F:
        @wraps(command)
        def collected(
            *arguments: Any,
            percent: bool,
            separator: str | None,
            decimal: str | None,
            encoding: str | None,
            sheets: tuple[str, ...],
            missing: Missing,
            **others: Any,
        ) -> Any:
            given = Reading(percent, separator, decimal, encoding, sheets, missing)
            return command(*arguments, reading=given, **others)

        result: Any = collected
        for option in (missing, *reversed(_OPTIONS)):
            result = option(result)
        typed: F = result
        return typed

    return give
