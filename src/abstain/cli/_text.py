"""Text tables as people have them: found out for sure, or asked for; never guessed.

The encoding is told from the first bytes, the separator from the header and the lines below it.
What is not as usual (UTF-8, commas) is known to the caller, who says it.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyarrow import csv as arrow

from abstain._files import version_of
from abstain.cli._archives import unpacked
from abstain.cli._header import checked_names
from abstain.cli._reading import Reading

_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
_HEAD = 1 << 18
_MOST_HEAD = 1 << 24
_ROWS = 20
_LINE = re.compile("\r\n|\n|\r")
# Cells of many columns or long texts: a row must fit into a block.
BLOCKS = (1 << 23, 1 << 27, 1 << 30)
csv.field_size_limit(1 << 30)


@dataclass(frozen=True)
class TextFormat:
    """How a text file is written, and what its columns are called.

    Attributes
    ----------
    encoding, separator : str
        As found, or as given.
    names : tuple of str
        The names of the columns, without spaces around them.
    skip : int
        How many lines stand before the header.
    unusual : tuple of str
        In words what is not as usual, for the user to be told.
    """

    encoding: str
    separator: str
    names: tuple[str, ...]
    skip: int
    unusual: tuple[str, ...]


def text_format(path: Path, reading: Reading) -> TextFormat:
    """Find out how a text file is written.

    Raises
    ------
    ValueError
        If it cannot be told for sure; the message names the option to add. Also where the header
        is missing or names a column twice.
    """
    return _text_format(path, version_of(path), reading.encoding, reading.separator)


@lru_cache(maxsize=256)
def _text_format(
    path: Path, version: tuple[int, ...], encoding: str | None, separator: str | None
) -> TextFormat:
    size = _HEAD
    while True:
        with unpacked(path) as stream:
            raw = stream.read(size)
        whole = len(raw) < size
        head, found = _decoded(path, raw, encoding, whole)
        skip, head, stated = _before_header(head)
        rows = _sampled(head, separator or stated or ",", whole)
        # A header of thousands of columns may be longer than the head.
        if len(rows) > 2 or whole or size >= _MOST_HEAD:
            break
        size *= 8
    if not rows:
        raise ValueError(f"{path} is empty.")
    separator = separator or stated or _separator_of(path, head, whole)
    names = checked_names(path, _sampled(head, separator, whole)[0])
    unusual = [] if found in ("utf-8", "utf-8-sig") else [found]
    if separator != "," and len(names) > 1:
        unusual.append(f"separated by {_SEPARATORS.get(separator, repr(separator))}s")
    return TextFormat(found, separator, names, skip, tuple(unusual))


def text_chunks(
    path: Path, names: list[str], numbers: Sequence[str], reading: Reading
) -> Iterator[pa.Table]:
    """Yield chunks of a text file: scores as numbers, or as text where they are not plain ones.

    What PyArrow cannot take as it began is begun again, with larger blocks or with text, and goes
    on where it was. The columns that are no ``numbers`` are text, whatever they hold.
    """
    form = text_format(path, reading)
    # Where points separate thousands, what looks like a number is none.
    plain, block, given = reading.decimal != ",", 0, 0
    while True:
        texts = [name for name in names if not plain or name not in numbers]
        kinds = {name: pa.string() if name in texts else pa.float64() for name in names}
        try:
            for table in rows_from(_parsed(path, form, names, kinds, BLOCKS[block]), given):
                given += table.num_rows
                yield table
            return
        except (pa.ArrowException, UnicodeError) as error:
            if "straddling" in str(error) and block < len(BLOCKS) - 1:
                block += 1
            elif "conversion error" in str(error) and plain and numbers:
                plain = False
            else:
                raise ValueError(_why_unreadable(path, form, error)) from error


def rows_from(tables: Iterator[pa.Table], start: int) -> Iterator[pa.Table]:
    """Yield what comes after so many rows."""
    for table in tables:
        if start >= table.num_rows:
            start -= table.num_rows
            continue
        yield table.slice(start)
        start = 0


def _parsed(
    path: Path, form: TextFormat, names: list[str], kinds: dict[str, Any], block: int
) -> Iterator[pa.Table]:
    count, waiting = 0, list[pa.Table]()
    with unpacked(path) as stream:
        reader = arrow.open_csv(
            stream,
            read_options=arrow.ReadOptions(
                encoding=form.encoding.replace("utf-8-sig", "utf-8"),
                block_size=block,
                skip_rows=form.skip,
                column_names=list(form.names),
                skip_rows_after_names=1,
            ),
            parse_options=arrow.ParseOptions(
                delimiter=form.separator,
                newlines_in_values=True,
                # Of a single column an empty line is a row without a value.
                ignore_empty_lines=len(form.names) > 1,
            ),
            convert_options=arrow.ConvertOptions(include_columns=names, column_types=kinds),
        )
        for batch in reader:
            table = pa.Table.from_batches([batch])
            count += table.num_rows
            if len(form.names) > 1:
                yield table
                continue
            # Empty lines of a single column are rows, but for those at the end.
            full = table.num_rows
            while full and table.column(0)[full - 1].as_py() in (None, ""):
                full -= 1
            if full:
                yield pa.concat_tables([*waiting, table.slice(0, full)])
                waiting = []
            waiting.append(table.slice(full))
    # Rows may have disappeared in a cell that is not closed where they are fewer than lines; and
    # where quotes come in no pairs the file may be cut off within one.
    lines = count + 1 + form.skip
    if stream.quotes and (stream.lines not in (lines, lines - 1) or stream.quotes % 2):
        _check_quotes(path, form)


def _check_quotes(path: Path, form: TextFormat) -> None:
    """Refuse a cell that is opened by a quote and not closed: it would swallow the rows below."""
    begins = 0
    with _lines(path, form, strict=True) as lines:
        try:
            for begins, _ in lines:  # noqa: B007 - kept for the message
                pass
        except csv.Error as error:
            raise ValueError(
                f"{path} cannot be read as a table: a quote is not closed, or something stands "
                f"after a closing one, in the row below that of line {begins or 1} ({error}). "
                f"Within quotes a quote is written twice."
            ) from error


def first_rows(path: Path, reading: Reading, most: int) -> pa.Table:
    """Return the first rows of all columns, typed by what they hold."""
    form = text_format(path, reading)
    with _lines(path, form) as lines:
        rows = list(islice((row for _, row in lines), most))
    width = len(form.names)
    if not rows:
        return pa.table({name: pa.array([], pa.string()) for name in form.names})
    buffer = io.StringIO()
    # Rows that are too short or too long are told of when the table is read.
    csv.writer(buffer).writerows([*row, *[""] * width][:width] for row in rows)
    return arrow.read_csv(
        io.BytesIO(buffer.getvalue().encode()),
        read_options=arrow.ReadOptions(column_names=list(form.names), block_size=BLOCKS[-1]),
        parse_options=arrow.ParseOptions(newlines_in_values=True),
    )


def line_of(path: Path, row: int, reading: Reading) -> int:
    """Return the line of a row of data, counted from 1 as editors do."""
    with _lines(path, text_format(path, reading)) as lines:
        return next((line for line, _ in islice(lines, row, row + 1)), 0)


@contextmanager
def _lines(
    path: Path, form: TextFormat, *, strict: bool = False
) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """Give the rows below the header, each with the line that it begins on."""
    encoding = "utf-8-sig" if form.encoding == "utf-8" else form.encoding
    try:
        with unpacked(path) as stream:
            text = io.TextIOWrapper(cast(Any, stream), encoding, newline="")
            for _ in range(form.skip):
                text.readline()
            yield islice(_numbered(text, form, strict), 1, None)
    except UnicodeError as error:
        raise ValueError(_other_encoding(path, form)) from error


def _numbered(text: Any, form: TextFormat, strict: bool) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(text, delimiter=form.separator, strict=strict)
    begins = form.skip + 1
    for row in reader:
        if row or len(form.names) == 1:
            yield begins, row
        begins = form.skip + reader.line_num + 1


def _decoded(path: Path, raw: bytes, encoding: str | None, whole: bool) -> tuple[str, str]:
    """Return the beginning as text, and its encoding."""
    _check_kind(path, raw)
    if encoding is None:
        encoding = _encoding_of(path, raw)
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)()
    try:
        return decoder.decode(raw, final=whole), encoding
    except UnicodeError as error:
        raise ValueError(f"{path} is not {encoding} ({error}). Say what with --encoding.") from (
            error
        )


def _encoding_of(path: Path, raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in raw[:1000]:
        raise ValueError(
            f"{path} has no byte-order mark but zero bytes, as UTF-16 does. If it is that, add "
            f"--encoding utf-16-le (or utf-16-be); if it is no text, save it as CSV."
        )
    for encoding in ("utf-8", "windows-1252"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(raw)
        except UnicodeError:
            continue
        return encoding
    raise ValueError(
        f"{path} is neither UTF-8 nor windows-1252. Say what it is with --encoding, e.g. "
        f"--encoding mac-roman."
    )


def _check_kind(path: Path, raw: bytes) -> None:
    """Say what a file is that is no text, whatever it is called."""
    if not raw:
        raise ValueError(f"{path} is empty.")
    kinds = {
        b"PK\x03\x04": "a workbook or an archive; if it is Excel's, its name must end in .xlsx",
        b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls); save it as .xlsx or CSV",
        b"PAR1": "Parquet; its name must end in .parquet",
        b"\x1f\x8b": "compressed; its name must end in .gz",
    }
    for beginning, what in kinds.items():
        if raw.startswith(beginning):
            raise ValueError(f"{path} is {what}.")


def _before_header(head: str) -> tuple[int, str, str | None]:
    """Skip empty lines and Excel's ``sep=;``: how many lines, the rest, and that separator."""
    skip, stated = 0, None
    while head:
        # Lines end as in Unix, in Windows, or in old Macs.
        end = _LINE.search(head)
        text = head if end is None else head[: end.start()]
        if text.strip() and not (text.startswith("sep=") and len(text) == 5):
            break
        stated = text[4:] or stated
        skip, head = skip + 1, "" if end is None else head[end.end() :]
    return skip, head, stated


def _sampled(head: str, separator: str, whole: bool) -> list[list[str]]:
    """Return the first rows that are in the head as a whole, quotes respected."""
    reader = csv.reader(io.StringIO(head, newline=""), delimiter=separator)
    rows = list(islice((row for row in reader if row), _ROWS + 1))
    return rows if whole or len(rows) > _ROWS else rows[:-1] or rows


def _separator_of(path: Path, head: str, whole: bool) -> str:
    """Return the one separator there can be."""
    widths = {
        separator: [len(row) for row in _sampled(head, separator, whole)]
        for separator in _SEPARATORS
    }
    splitting = [separator for separator, found in widths.items() if found[0] > 1]
    if not splitting:
        # A single column: any sign that no value holds, so that 0,5 stays one value.
        absent = [separator for separator, found in widths.items() if max(found) == 1]
        return absent[0] if absent else ","
    if len(splitting) > 1:
        splitting = [
            separator for separator in splitting if len(set(widths[separator])) == 1
        ] or splitting
    if len(splitting) > 1:
        names = " or ".join(_SEPARATORS[separator] for separator in splitting)
        raise ValueError(
            f"{path}: its columns may be separated by {names}. Say which with --separator, e.g. "
            f"--separator {_SEPARATORS[splitting[0]]}."
        )
    return splitting[0]


def _other_encoding(path: Path, form: TextFormat) -> str:
    return f"{path} is not {form.encoding} throughout; add --encoding, e.g. windows-1252."


def _why_unreadable(path: Path, form: TextFormat, error: Exception) -> str:
    if "UTF8" in str(error) or isinstance(error, UnicodeError):
        return _other_encoding(path, form)
    with _lines(path, form) as lines:
        for line, row in lines:
            if len(row) != len(form.names):
                separator = _SEPARATORS.get(form.separator, form.separator)
                return (
                    f"{path} cannot be read as a table: line {line} has {len(row)} cells, the "
                    f"header {len(form.names)} (separated by {separator}s). Repair the line, or "
                    f"say what separates columns with --separator."
                )
    return f"{path} cannot be read as a table: {' '.join(str(error).split())}"
