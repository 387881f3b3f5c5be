"""How the tables of a command are to be read: what the options about that become."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

Missing = Literal["refer", "drop", "error"]


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

    percent: bool = False
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheets: tuple[str, ...] = ()
    missing: Missing = "error"
    stream: bool | None = None

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
    group, groups : str or None, and tuple of str
        What rows are compared by: one column, or several.
    """

    scores: str
    label: str | None = None
    target_label: str | None = None
    labels: Path | None = None
    prediction: str | None = None
    positive: str | None = None
    identifier: str | None = None
    group: str | None = None
    groups: tuple[str, ...] = ()
    known_labels: str | None = None

    @property
    def of_validation(self) -> Self:
        """Those of VALIDATION: its rows need no names."""
        return replace(self, identifier=None, group=None, known_labels=None)

    @property
    def of_batch(self) -> Self:
        """Those of BATCH, whose labels are not looked at unless that is asked for."""
        return replace(self, label=self.target_label)

    def by_option(self) -> dict[str, str]:
        """Return the columns that are no scores, by the option that asks for each."""
        asked = {
            "--label": self.label,
            "--id": self.identifier,
            "--group": self.group,
            "--prediction": self.prediction,
            "--known-labels": self.known_labels,
        }
        return {option: name for option, name in asked.items() if name is not None}
