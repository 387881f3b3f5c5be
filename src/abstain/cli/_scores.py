"""Score columns as people write them: decimal commas, percentages, gaps.

What is certain is read; what could be two things is an error that names both ways out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from abstain._inputs import Mask
from abstain.cli._ids import names_rows
from abstain.cli._places import Places
from abstain.cli._reading import Reading
from abstain.exceptions import AssumptionWarning, warn_user

# What stands for no value; spelled as pyarrow, R, pandas and Excel do.
GAPS = ["", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "NaN", "nan", "-nan", "NULL", "null", "None"]
_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+$"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?([iI]nf|[iI]nfinity)$"


def as_numbers(
    column: pa.ChunkedArray,
    name: str,
    places: Places,
    reading: Reading,
    *,
    alone: bool,
    pattern: str | None = None,
    doubt_ids: bool = True,
) -> tuple[pa.ChunkedArray, bool]:
    """Return a score column as numbers with nulls in its gaps, and whether it has decimal commas.

    Percentages are divided by 100 where that was asked for. ``alone``: whether this is the only
    score column, so that no sum over columns tells percentages from fractions. ``pattern``: how
    the column was found, where that is not by its name. ``doubt_ids``: whether to look if it names
    rows.
    """
    commas = signed = False
    if _is_text(column.type):
        column, commas, signed = _from_text(column, name, places, reading)
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
        _doubt_ids(numbers, name, places, pattern)
    if reading.percent:
        numbers = _hundredth(numbers, name, places, certain=signed or not alone)
    return numbers, commas


def check_scale(
    columns: Sequence[pa.ChunkedArray],
    names: Sequence[str],
    places: Places,
    *,
    scale: str | None,
    choosable: bool,
) -> None:
    """Refuse scores that can be no probabilities, where they are said to be that.

    ``choosable``: whether the command has ``--scale``.
    """
    if scale != "probabilities":
        return
    for column, name in zip(columns, names, strict=True):
        low, high = (value.as_py() for value in pc.min_max(column).values())
        if low is None or (low >= 0 and high <= 1):
            continue
        ways = [] if low < 0 or high > 100 else ["--percent if they are percentages"]
        if choosable:
            ways.append("--scale logits if they are logits")
        advice = f" Add {', or '.join(ways)}." if ways else ""
        if not choosable:
            advice += " The rule was made on probabilities within 0 to 1."
        raise ValueError(
            f"{places.files[0]}: column {name!r} holds numbers from {low:.6g} to {high:.6g}; "
            f"probabilities lie within 0 to 1.{advice}"
        )


def _doubt_ids(numbers: pa.ChunkedArray, name: str, places: Places, pattern: str | None) -> None:
    """Refuse a column that seems to name rows, or warn where it was asked for by its name."""
    if not names_rows(name, numbers.drop_null().to_numpy()):
        return
    low, high = (value.as_py() for value in pc.min_max(numbers).values())
    what = (
        f"{places.files[0]}: column {name!r} holds whole numbers from {low:.0f} to {high:.0f}, as "
        f"a column does that names rows"
    )
    if pattern is None:
        warn_user(f"{what}. It is taken as the score, as --scores says.", AssumptionWarning)
        return
    raise ValueError(
        f"{what}, and --scores '{pattern}' takes it for a score. Give a pattern that only the "
        f"scores have, such as 'p_*', or the one column by its name."
    )


def without_score(columns: Sequence[pa.ChunkedArray]) -> Mask | None:
    """Return which rows lack a score in any column; None where all have theirs."""
    found = None
    for column in columns:
        if column.null_count:
            gaps = column.is_null().to_numpy().astype(np.bool_)
            found = gaps if found is None else found | gaps
    return found


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _from_text(
    column: pa.ChunkedArray, name: str, places: Places, reading: Reading
) -> tuple[pa.ChunkedArray, bool, bool]:
    """Return texts as casting takes them, and whether they have decimal commas and a sign of %."""
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
    return texts, bool(commas), bool(pc.any(percent).as_py())


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


def _hundredth(
    numbers: pa.ChunkedArray, name: str, places: Places, *, certain: bool
) -> pa.ChunkedArray:
    """Return percentages as fractions; ``certain``: whether they can be nothing else."""
    outside = _mask(pc.or_(pc.less(numbers, 0), pc.greater(numbers, 100)))
    if outside.any():
        row = int(np.argmax(outside))
        raise ValueError(
            f"{places.files[0]}: column {name!r} must be percentages within 0 to 100 for "
            f"--percent; {places.of(row)} has {numbers[row].as_py():g}."
        )
    high = pc.max(numbers).as_py()
    if not certain and high is not None and high <= 1:
        raise ValueError(
            f"{places.files[0]}: no value of column {name!r} is above 1 (the highest is "
            f"{high:.6g}), so it seems to hold fractions, and --percent would divide them by 100. "
            f"All tables of a command must be on one scale; percentages below 1 are taken with a "
            f"%, as 0.5%."
        )
    return pc.divide(numbers, 100.0)
