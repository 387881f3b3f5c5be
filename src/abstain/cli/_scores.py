"""Score columns as people write them: decimal commas, percentages, gaps.

What is certain is read; what could be two things is an error that names both ways out.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from abstain._inputs import Mask
from abstain.cli._header import listed, names_rows
from abstain.cli._reading import Columns, Reading
from abstain.cli._tables import Places, missing_column
from abstain.exceptions import AssumptionWarning, RepairWarning, warn_user

if TYPE_CHECKING:
    from abstain import Policy

# What stands for no value; spelled as pyarrow, R, pandas and Excel do.
GAPS = ["", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "NaN", "nan", "-nan", "NULL", "null", "None"]
PREFIX = "p_"
_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+$"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?([iI]nf|[iI]nfinity)$"


class ScoreNumbers(NamedTuple):
    """Score columns as numbers, and how they were written.

    ``commas`` and ``points`` name columns with decimal commas and decimal points; ``signed`` tells
    whether a sign of percent came.
    """

    columns: list[pa.ChunkedArray]
    commas: list[str]
    points: list[str]
    signed: bool


@dataclass(frozen=True)
class ScoreColumns:
    """Which columns hold scores, what these are, and what the library calls them.

    Attributes
    ----------
    file : Path
        The first of the files.
    pattern : str
        What the user calls them.
    columns : list of str
        Those that it matches.
    class_names : list of str
        What ``*`` stands for in each of several columns, or their whole names.
    names : list of str
        What the library calls the scores. A single column is named by what ``*`` stands for, or
        keeps its name: it may be that of the score, or of the positive class.
    scale : {"probabilities", "logits"} or None
        What the scores are said to be.
    choosable : bool
        Whether the command has ``--scale``.
    """

    file: Path
    pattern: str
    columns: list[str]
    class_names: list[str]
    names: list[str]
    scale: str | None
    choosable: bool

    def names_for(self, classes: Iterable[Any]) -> list[str]:
        """Return the names in the order of the classes that were fitted."""
        if len(self.columns) == 1:
            return self.names
        own, fitted = self.class_names, [str(label) for label in classes]
        if sorted(own) != sorted(fitted):
            raise ValueError(
                f"{self.file} has score columns for {listed(own)}; the fitted ones are for "
                f"{listed(fitted)}. Name the columns with --scores."
            )
        return [f"{PREFIX}{name}" for name in fitted]

    def numbers(
        self, table: pa.Table, places: Places, reading: Reading, *, doubt_ids: bool
    ) -> ScoreNumbers:
        """Return the columns of a chunk as numbers, with nulls in their gaps.

        Percentages are divided by 100 where that was asked for. ``doubt_ids``: whether to look if
        a column names rows.
        """
        made, commas, points, percent = list[pa.ChunkedArray](), list[str](), list[str](), False
        for name in self.columns:
            column, sign, signed = table.column(name), None, False
            if pa.types.is_floating(column.type):
                sign = "."
            elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                column, sign, signed = _from_text(column, name, places, reading)
            try:
                numbers = column.cast(pa.float64())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise ValueError(
                    f"{places.files[0]}: column {name!r} must be numbers; {error}."
                ) from error
            nothing = pc.is_nan(numbers)
            if pc.any(nothing).as_py():
                # NaN is how Parquet files of NumPy say that there is nothing.
                numbers = pc.if_else(nothing, pa.scalar(None, pa.float64()), numbers)
            if doubt_ids:
                _doubt_ids(numbers, name, places, self)
            made.append(_hundredth(numbers, name, places) if reading.percent else numbers)
            {",": commas, ".": points}.get(sign or "", []).append(name)
            percent = percent or signed
        if commas and points:
            raise ValueError(
                f"{places.files[0]}: column {commas[0]!r} has decimal commas, column "
                f"{points[0]!r} has decimal points. Say which it is with --decimal."
            )
        return ScoreNumbers(made, commas, points, percent)

    def table(
        self, numbers: Sequence[pa.ChunkedArray], places: Places
    ) -> tuple[pa.Table, Mask | None]:
        """Return scores as the library takes them, NaN in their gaps, and which rows have one.

        None for the rows where all have their scores. Refuses what can be no probabilities, where
        scores are said to be that.
        """
        gaps = None
        for column, name in zip(numbers, self.columns, strict=True):
            low, high = (value.as_py() for value in pc.min_max(column).values())
            if self.scale == "probabilities" and low is not None and not 0 <= low <= high <= 1:
                ways = [] if low < 0 or high > 100 else ["--percent if they are percentages"]
                if self.choosable:
                    ways.append("--scale logits if they are logits")
                advice = f" Add {', or '.join(ways)}." if ways else ""
                if not self.choosable:
                    advice += " The rule was made on probabilities within 0 to 1."
                raise ValueError(
                    f"{places.files[0]}: column {name!r} holds numbers from {low:.6g} to "
                    f"{high:.6g}; probabilities lie within 0 to 1.{advice}"
                )
            if column.null_count:
                here = column.is_null().to_numpy().astype(np.bool_)
                gaps = here if gaps is None else gaps | here
        return pa.table([one.fill_null(np.nan) for one in numbers], names=self.names), gaps


def score_columns(
    file: Path,
    names: list[str],
    columns: Columns,
    reading: Reading,
    *,
    scale: str | None,
    rule: Policy | None,
) -> ScoreColumns:
    """Return the columns that hold scores, once every other that was asked for is there too."""
    scores = columns.scores
    asked = {name: option for option, name in columns.by_option().items()}
    found = [name for name in names if name == scores]
    if found and asked.get(scores, "--group") != "--group":
        raise ValueError(
            f"{file}: --scores and {asked[scores]} both name the column {scores!r}; a score is "
            f"another column."
        )
    # What is asked for as something else is no score, though a pattern may match it.
    found = found or [name for name in fnmatch.filter(names, scores) if name not in asked]
    if not found:
        raise missing_column(file, scores, "--scores", reading)
    for name, option in asked.items():
        if name not in names:
            raise missing_column(file, name, option, reading)
    scale = scale if rule is None else rule.calibrator.scale
    if reading.percent and scale == "logits":
        raise click.UsageError(
            "--percent is for probabilities, and these scores are logits"
            + (" by --scale." if rule is None else " by the rule.")
        )
    before, star, after = scores.partition("*")
    starred = found
    if star and "*" not in after:
        starred = [name[len(before) : len(name) - len(after)] for name in found]
    alone = len(found) == 1
    return ScoreColumns(
        file,
        scores,
        found,
        class_names=[] if alone else starred,
        names=found if alone and not star else [f"{PREFIX}{name}" for name in starred],
        scale=scale,
        choosable=rule is None,
    )


def _doubt_ids(numbers: pa.ChunkedArray, name: str, places: Places, scores: ScoreColumns) -> None:
    """Refuse a column that seems to name rows, or warn where it was asked for by its name."""
    if not names_rows(name, numbers.drop_null().to_numpy()):
        return
    low, high = (value.as_py() for value in pc.min_max(numbers).values())
    what = (
        f"{places.files[0]}: column {name!r} holds whole numbers from {low:.0f} to {high:.0f}, as "
        f"a column does that names rows"
    )
    if scores.columns == [scores.pattern]:
        warn_user(f"{what}. It is taken as the score, as --scores says.", AssumptionWarning)
        return
    raise ValueError(
        f"{what}, and --scores '{scores.pattern}' takes it for a score. Give a pattern that only "
        f"the scores have, such as 'p_*', or the one column by its name."
    )


def _from_text(
    column: pa.ChunkedArray, name: str, places: Places, reading: Reading
) -> tuple[pa.ChunkedArray, str | None, bool]:
    """Return texts as casting takes them, their decimal sign, and whether they have one of %."""
    texts = pc.utf8_trim_whitespace(column)
    texts = pc.if_else(pc.is_in(texts, pa.array(GAPS)), pa.scalar(None, texts.type), texts)

    def refuse(wrong: pa.ChunkedArray, why: str) -> ValueError:
        row = int(np.argmax(_mask(wrong)))
        return ValueError(
            f"{places.files[0]}: column {name!r} must be numbers; {places.of(row)} has "
            f"{column[row].as_py()!r}. {why}".rstrip()
        )

    percent = pc.ends_with(texts, "%")
    if pc.any(percent).as_py():
        if not pc.all(percent).as_py():
            raise refuse(pc.invert(percent), "Others have a %; write all of them the same way.")
        if not reading.percent:
            row = int(np.argmax(_mask(percent)))
            raise ValueError(
                f"{places.files[0]}: column {name!r} holds percentages ({column[row].as_py()!r} "
                f"in {places.of(row)}). Add --percent to divide them by 100."
            )
        texts = pc.utf8_trim_whitespace(pc.utf8_rtrim(texts, characters="%"))
    comma, point = (pc.match_substring(texts, sign) for sign in (",", "."))
    commas = reading.decimal == "," or (
        reading.decimal is None and _decimal_commas(texts, comma, name, places)
    )
    if commas:
        if pc.any(point).as_py():
            raise refuse(point, "Others have a decimal comma; thousands separators are not read.")
        texts = pc.replace_substring(texts, ",", ".")
    elif pc.any(comma).as_py():
        raise refuse(comma, "Thousands separators are not read; nor are commas beside points.")
    wrong = pc.invert(pc.match_substring_regex(texts, _NUMBER))
    if pc.any(wrong).as_py():
        raise refuse(wrong, "")
    sign = "," if commas else "." if pc.any(point).as_py() else None
    return texts, sign, bool(pc.any(percent).as_py())


def _decimal_commas(
    texts: pa.ChunkedArray, comma: pa.ChunkedArray, name: str, places: Places
) -> bool:
    """Tell whether commas are decimal ones, and ask where they may separate thousands."""
    if not pc.any(comma).as_py():
        return False
    thousands = pc.match_substring_regex(texts, _THOUSANDS)
    twice = pc.match_substring_regex(texts, r",.*[.,]|\..*,")
    if pc.any(twice).as_py():
        return False
    if pc.any(pc.and_(comma, pc.invert(thousands))).as_py():
        return True
    row = int(np.argmax(_mask(comma)))
    raise ValueError(
        f"{places.files[0]}: column {name!r} has {texts[row].as_py()!r} in {places.of(row)}, "
        f"where the comma may be a decimal one. Add --decimal , if it is; thousands separators "
        f"are not read."
    )


def _mask(truths: pa.ChunkedArray) -> Mask:
    mask: Mask = truths.fill_null(False).to_numpy().astype(np.bool_)
    return mask


def _hundredth(numbers: pa.ChunkedArray, name: str, places: Places) -> pa.ChunkedArray:
    outside = _mask(pc.or_(pc.less(numbers, 0), pc.greater(numbers, 100)))
    if outside.any():
        row = int(np.argmax(outside))
        raise ValueError(
            f"{places.files[0]}: column {name!r} must be percentages within 0 to 100 for "
            f"--percent; {places.of(row)} has {numbers[row].as_py():g}."
        )
    return pc.divide(numbers, 100.0)


def no_percentages(file: Path, name: str, high: float) -> ValueError:
    """Return the error for a column that is said to hold percentages, and goes only so high."""
    return ValueError(
        f"{file}: no value of column {name!r} is above 1 (the highest is {high:.6g}), so it seems "
        f"to hold fractions, and --percent would divide them by 100. All tables of a command must "
        f"be on one scale; percentages below 1 are taken with a %, as 0.5%."
    )


def remark_on_gaps(what: str, count: int, first: list[Any], reading: Reading) -> dict[str, Any]:
    """Refuse rows without a score, or say what becomes of them."""
    if reading.missing == "error":
        raise ValueError(
            f"{what}. Add --missing refer to give them to a person, or --missing drop to leave "
            f"them out."
        )
    done = {"refer": "referred to a person", "drop": "left out"}[reading.missing]
    warn_user(f"{what}; they are {done}.", RepairWarning)
    return {"without_score": {"rows": count, "done": reading.missing, "first": first}}
