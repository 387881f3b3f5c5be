"""Excel workbooks in and out, through openpyxl."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa

from abstain._files import version_of
from abstain.cli._archives import check_archive
from abstain.cli._header import checked_names, listed
from abstain.cli._terminal import in_a_line

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
# The largest whole number below which all are numbers of Excel.
_EXACT = 2**53
_PLAIN = {int, float, bool, str, date, datetime, time, timedelta}


def openpyxl_module() -> Any:
    """Return openpyxl, or say which extra brings it."""
    try:
        import openpyxl
    except ModuleNotFoundError as error:
        raise ImportError(
            "Excel files need openpyxl, which comes with an extra: pip install 'abstain[excel]'; "
            "or save the table as CSV"
        ) from error
    return openpyxl


def sheet_table(path: Path, sheet: str | None) -> pa.Table:
    """Return a sheet of a workbook: the first row that is not empty is the header."""
    return _loaded(path, version_of(path), sheet)[0]


def sheet_lines(path: Path, sheet: str | None) -> list[int]:
    """Return the row of the sheet, as Excel counts, that each row of the table stands in."""
    return _loaded(path, version_of(path), sheet)[1]


# A command asks for the names first, then for columns; loading is what takes the time.
@lru_cache(maxsize=2)
def _loaded(path: Path, version: tuple[int, ...], sheet: str | None) -> tuple[pa.Table, list[int]]:
    openpyxl = openpyxl_module()
    check_archive(path)
    with path.open("rb") as stream:
        with _workbook_errors(path):
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        filled = _filled_rows(
            path, _sheet_of(path, {one.title: one for one in book.worksheets}, sheet)
        )
        book.close()
    if not filled:
        raise ValueError(f"{path} is empty.")
    lines, cells = zip(*filled, strict=True)
    columns = list(zip_longest(*cells))
    while columns and not any(_is_value(cell) for cell in columns[-1]):
        columns.pop()
    header = ["" if column[0] is None else str(column[0]) for column in columns]
    names = checked_names(path, header)
    table = pa.table([_typed(column[1:]) for column in columns], names=list(names))
    return table, list(lines[1:])


@contextmanager
def _workbook_errors(path: Path) -> Iterator[None]:
    """Turn what openpyxl raises on a damaged workbook into one error that names the file."""
    try:
        yield
    except (OSError, MemoryError):
        raise
    except Exception as error:  # of the parts of a workbook each fails in its own way
        raise ValueError(
            f"{path} cannot be read as a workbook: {type(error).__name__}, {error}. If Excel can "
            f"open it, save it anew, or as CSV."
        ) from error


def _filled_rows(path: Path, sheet: Any) -> list[tuple[int, Any]]:
    """Return the rows that are not empty, each with its number."""
    filled = []
    with _workbook_errors(path):
        # How large it says it is may be wrong, by accident or not.
        sheet.reset_dimensions()
        for line, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            if line > MOST_ROWS or len(row) > MOST_COLUMNS:
                raise ValueError(
                    f"a row or a column beyond the {MOST_ROWS:,} rows and {MOST_COLUMNS:,} "
                    f"columns of a sheet"
                )
            if any(_is_value(cell) for cell in row):
                filled.append((line, row))
    return filled


def _sheet_of(path: Path, sheets: dict[str, Any], sheet: str | None) -> Any:
    names = list(sheets)
    if not names:
        raise ValueError(f"{path} has no sheet with cells.")
    if sheet is not None:
        if sheet not in sheets:
            raise ValueError(f"{path} has no sheet {sheet!r}; its sheets are {listed(names)}.")
        return sheets[sheet]
    if len(names) != 1:
        raise ValueError(
            f"{path} has {len(names)} sheets. Say which with --sheet, e.g. --sheet "
            f"'{in_a_line(names[0])}'; there are {listed(names)}."
        )
    return sheets[names[0]]


def _is_value(cell: Any) -> bool:
    return cell is not None and cell != ""


def _typed(values: Iterable[Any]) -> pa.Array:
    """Return cells as a column: of numbers, of truths, of dates, or else of text."""
    cells = [cell if _is_value(cell) else None for cell in values]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {int, float} and not any(abs(cell) > _EXACT for cell in cells if cell is not None):
        return pa.array(cells, pa.float64())
    too_long = kinds == {int} and any(abs(cell) >= 2**63 for cell in cells if cell is not None)
    if len(kinds) > 1 or too_long or not kinds <= _PLAIN:
        texts = [str(cell).lower() if isinstance(cell, bool) else cell for cell in cells]
        return pa.array([None if text is None else str(text) for text in texts], pa.string())
    return pa.array(cells)


def write_sheet(path: Path, table: pa.Table, *, called: Path) -> None:
    """Write a table as a workbook with one sheet.

    Text stays text: what begins with a sign of equality is no formula.
    """
    rows, columns = table.num_rows, table.num_columns
    if rows + 1 > MOST_ROWS or columns > MOST_COLUMNS:
        raise ValueError(
            f"Cannot write {called}: a sheet holds {MOST_ROWS - 1:,} rows and {MOST_COLUMNS:,} "
            f"columns, not {rows:,} and {columns:,}. Write .csv or .parquet."
        )
    openpyxl = openpyxl_module()
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("decisions")
    sheet.freeze_panes = "A2"
    plain = [not _may_hold_formulas(column) for column in table.columns]

    def cell(value: Any, is_plain: bool) -> Any:
        if is_plain or not isinstance(value, str) or not value.startswith("="):
            return value
        made = openpyxl.cell.WriteOnlyCell(sheet, value)
        made.data_type = "s"
        return made

    sheet.append([cell(name, False) for name in table.column_names])
    try:
        for batch in table.to_batches(max_chunksize=10_000):
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                sheet.append(list(map(cell, row, plain)))
        book.save(path)
    except openpyxl.utils.exceptions.IllegalCharacterError as error:
        raise ValueError(
            f"Cannot write {called}: a text holds a control character, which Excel does not "
            f"allow. Write .csv or .parquet."
        ) from error


def _may_hold_formulas(column: pa.ChunkedArray) -> bool:
    import pyarrow.compute as pc

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    return bool(pc.any(pc.starts_with(column, "=")).as_py())
