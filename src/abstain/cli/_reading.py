"""How the tables of a command are to be read: what the options about that become."""

# ruff: noqa: RUF009 - a field that an option fills is a field of a dataclass

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import click
from click.core import ParameterSource

from abstain.cli._values import FILE, check_with, option_field

if TYPE_CHECKING:
    from abstain import Policy

Missing = Literal["refer", "drop", "error"]

_SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "\\t": "\t"}


def _separator(text: str) -> str:
    separator = _SEPARATORS.get(text, text)
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        raise ValueError(
            f"{text!r} must be one ASCII character, or one of {', '.join(list(_SEPARATORS)[:4])}."
        )
    return separator


def _encoding(text: str) -> str:
    import codecs

    try:
        name = codecs.lookup(text).name
        # There are codecs that are no encodings of text, and some that cannot be read in parts.
        if codecs.getincrementaldecoder(name)().decode("a,1\n".encode(name), True) != "a,1\n":
            raise LookupError(name)
        return name
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"{text!r} is no encoding; such as windows-1252, latin-1 or utf-16 are."
        ) from error


def _sheets(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(names) > 2:
        raise ValueError(f"Give one, or two for VALIDATION and BATCH; got {len(names)}.")
    return names


def _only_one(
    context: click.Context, parameter: click.Parameter, names: tuple[str, ...]
) -> str | None:
    """Take the one that was given: a report compares by one column."""
    if len(names) > 1:
        raise click.BadParameter(
            f"{context.info_name} compares by one column; got {', '.join(names)}. "
            f"`abstain evaluate` takes several."
        )
    return names[0] if names else None


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
    stream : bool or None
        Whether BATCH is read in parts.
    """

    percent: bool = option_field(
        "--percent", is_flag=True, help="The scores are percentages: divide by 100.", absent=False
    )
    separator: str | None = option_field(
        "--separator",
        callback=check_with(_separator),
        help="What separates columns in text files: one character, or comma, semicolon, tab, "
        "pipe.  [default: told from the header]",
    )
    decimal: str | None = option_field(
        "--decimal",
        type=click.Choice([".", ","]),
        help="The decimal sign of scores in text.  [default: told from the scores, or asked]",
    )
    encoding: str | None = option_field(
        "--encoding",
        callback=check_with(_encoding),
        help="The encoding of text files, e.g. windows-1252.  [default: told from the file]",
    )
    sheets: tuple[str, ...] = option_field(
        "--sheet",
        "sheets",
        multiple=True,
        callback=check_with(_sheets),
        help="The sheet of workbooks that have several; twice for one of VALIDATION and one of "
        "BATCH.",
        absent=(),
    )
    # Which a command offers depends on whether it decides.
    missing: Missing = "error"
    stream: bool | None = option_field(
        "--stream/--no-stream",
        default=None,
        help="Read BATCH in parts, twice, in memory that does not grow with it.  [default: for a "
        "folder, and above 10 MB unless all rows are needed at once]",
    )

    @property
    def sheet(self) -> str | None:
        """The sheet to read."""
        return self.sheets[-1] if self.sheets else None

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


@dataclass(frozen=True)
class Columns:
    """Which columns of the files are what; None for what is not asked for.

    Attributes
    ----------
    scores : str
        A column name, or a pattern with ``*`` that matches one column per class.
    label, target_label : str or None
        The true label, of VALIDATION and of BATCH.
    labels : Path or None
        A file of its own that has the labels.
    prediction, known_labels : str or None
        The predicted label, and the true one where it is known.
    positive : str or None
        Of two classes the positive one.
    identifier : str or None
        The row's name.
    by : str or None
    group, groups : str or None, and tuple of str
        What rows are compared by: one column, or several.
    time : str or None
        When each row of VALIDATION was.
    readers, opinions : tuple of str
        What readers answered, about labelled rows and about new ones.
    """

    scores: str = option_field(
        "--scores",
        default="p_*",
        show_default=True,
        help="The score column (binary: of the positive class), or a pattern with * that matches "
        "one column per class; what * stands for is the class name.",
    )
    label: str | None = option_field(
        "--label", default="y", show_default=True, help="The column with the true label."
    )
    target_label: str | None = option_field(
        "--target-label",
        help="The column with the true label in BATCH: compare realised values, over resamples. "
        "Without it values are estimated.",
    )
    labels: Path | None = option_field(
        "--labels",
        type=FILE,
        help="Take the labels from this file, by the id in the column --id of both; without it "
        "they are in LABELLED.",
    )
    prediction: str | None = option_field(
        "--prediction",
        help="The column with the predicted label, in both tables; without it the class with the "
        "highest score.",
    )
    positive: str | None = option_field(
        "--positive",
        metavar="LABEL",
        help="Of two classes the positive one, as in the label column; needed where neither "
        "labels of 0 and 1 nor the name of a single score column, such as p_ill, say which it is.",
    )
    identifier: str | None = option_field(
        "--id", "identifier", help="The column that names a row; row numbers without it."
    )
    group: str | None = option_field(
        "--group",
        multiple=True,
        callback=_only_one,
        help="A column to compare rates by, such as a hospital or a sex.",
    )
    groups: tuple[str, ...] = option_field(
        "--group",
        "groups",
        multiple=True,
        help="A column to compare by, such as a hospital or a sex; may be given several times, "
        "each by itself.",
        absent=(),
    )
    by: str | None = option_field(
        "--by",
        help="The column with the group of a row, such as a hospital: with --arms of VALIDATION, "
        "what is promised then holds in every group; with --equal or --target of BATCH.",
    )
    time: str | None = option_field(
        "--time",
        help="The column of VALIDATION with the time of each row: intervals then hold what the "
        "metric wanders in time too.",
    )
    known_labels: str | None = option_field(
        "--known-labels",
        help="A column of BATCH with the true label where it is known, and nothing elsewhere; "
        "these rows are not withheld.",
    )
    readers: tuple[str, ...] = option_field(
        "--reviewer",
        "readers",
        multiple=True,
        help="A column of VALIDATION with a reader's answers, empty where there is none; may be "
        "given several times. Without it the readers of a team are taken never to err.",
        absent=(),
    )
    opinions: tuple[str, ...] = option_field(
        "--opinion",
        "opinions",
        multiple=True,
        help="A column with a reader's answers, empty where there is none: adds the final "
        "answers; may be given several times, of readers as they were called by --reviewer.",
        absent=(),
    )

    def as_made(self, rule: Policy | None, names: Sequence[str]) -> Self:
        """Return the columns that a rule was made from, where they are there and none was said."""
        made_from = None if rule is None else rule.made_from
        context = click.get_current_context(silent=True)
        if made_from is None or context is None:
            return self
        told: dict[str, Any] = {
            name: column
            for name, column in made_from.items()
            if context.get_parameter_source(name) is ParameterSource.DEFAULT
            and fnmatch.filter(names, column)
        }
        return replace(self, **told)

    @property
    def of_batch(self) -> Self:
        """Those of BATCH, whose labels are not looked at unless that is asked for."""
        return replace(self, label=self.target_label, time=None, by=None)

    def by_option(self) -> dict[str, str]:
        """Return the columns that are no scores, by the option that asks for each."""
        asked = {
            "--label": self.label,
            "--id": self.identifier,
            "--group": self.group,
            "--by": self.by,
            "--prediction": self.prediction,
            "--known-labels": self.known_labels,
            "--time": self.time,
        }
        return {option: name for option, name in asked.items() if name is not None}
