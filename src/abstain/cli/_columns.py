"""Finding files and columns: patterns of many files, and proposals where a name is not there.

Nothing is taken silently. When a column is missing the message lists what it may be, with the
exact option to add.
"""

import glob
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

__all__ = ["column_names", "found_files", "missing_column", "read_columns"]

_SAMPLE = 2_000
_MOST_LABELS = 50
_MOST_PROPOSED = 5


def found_files(path: Path) -> list[Path]:
    """Return the file, or the files that a pattern such as ``site-*.csv`` matches, sorted."""
    if path.is_file():
        return [path]
    if not glob.has_magic(str(path)):
        raise FileNotFoundError(f"There is no file {path}.")
    files = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
    files = [file for file in files if file.is_file()]
    if not files:
        raise FileNotFoundError(f"No file matches {path}.")
    return files


def column_names(path: Path) -> list[str]:
    """Return the names of a file's columns, reading as little of it as possible."""
    try:
        if path.suffix == ".parquet":
            names: list[str] = parquet.read_schema(path).names
        else:
            with csv.open_csv(path) as reader:
                names = reader.schema.names
    except (pa.ArrowInvalid, StopIteration) as error:
        raise _unreadable(path, error) from error
    return names


def read_columns(
    files: Sequence[Path], names: Sequence[str], *, as_text: Sequence[str] = ()
) -> pa.Table:
    """Read columns of all files, one below the other; some of them as text whatever they hold."""
    for file in files[1:]:
        absent = set(names).difference(column_names(file))
        if absent:
            raise ValueError(f"{file} has no column {sorted(absent)[0]!r}, which {files[0]} has.")
    tables = [_read(file, list(names), as_text) for file in files]
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"{files[0]} and the files with it do not fit together: {error}") from (
            error
        )
    if table.num_rows == 0:
        raise ValueError(f"{files[0]} has no rows.")
    return table


def missing_column(path: Path, wanted: str, option: str) -> ValueError:
    """Return an error that lists the columns there are and proposes the option to add."""
    what = "score column" if option == "--scores" else "column"
    sample = _sample(path)
    propose: Callable[[str, np.ndarray[Any, Any]], str | None] = {
        "--scores": _as_score,
        "--label": _as_label,
        "--id": _as_id,
        "--group": _as_label,
        "--prediction": _as_label,
    }[option]
    proposed = _families(sample) if option == "--scores" else []
    for name, values in sample.items():
        found = propose(name, values)
        if found is not None:
            proposed.append(found.replace("OPTION", option))
    message = f"{path} has no {what} {wanted!r}. Its columns: {', '.join(sample)}."
    if not proposed:
        return ValueError(f"{message} Name the right one with {option}.")
    listed = "".join(f"\n  {line}" for line in proposed[:_MOST_PROPOSED])
    return ValueError(f"{message} Add the option that is right:{listed}")


def _read(path: Path, names: list[str], as_text: Sequence[str]) -> pa.Table:
    try:
        if path.suffix == ".parquet":
            return parquet.read_table(path, columns=names)
        # An id like 00123 is a name, not a number.
        types = {name: pa.string() for name in as_text}
        return csv.read_csv(
            path,
            convert_options=csv.ConvertOptions(include_columns=names, column_types=types),
        )
    except pa.ArrowInvalid as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} cannot be read as a table: {error}")


def _sample(path: Path) -> dict[str, Any]:
    """Return the first rows of each column."""
    if path.suffix == ".parquet":
        batches = parquet.ParquetFile(path).iter_batches(batch_size=_SAMPLE)
        first = next(batches, None)
    else:
        with csv.open_csv(path) as reader:
            first = next(iter(reader), None)
    if first is None:
        return dict.fromkeys(column_names(path), np.empty(0))
    return {
        name: first.column(name).slice(0, _SAMPLE).to_numpy(zero_copy_only=False)
        for name in first.schema.names
    }


def _families(sample: dict[str, Any]) -> list[str]:
    """Propose patterns: columns with a common beginning whose rows sum to 1."""
    by_beginning: dict[str, list[str]] = {}
    for name, values in sample.items():
        beginning = name[: name.rfind("_") + 1]
        if beginning and values.dtype.kind == "f":
            by_beginning.setdefault(beginning, []).append(name)
    found = []
    for beginning, names in by_beginning.items():
        total = sum(sample[name] for name in names)
        if len(names) > 1 and np.allclose(total, 1, atol=1e-3):
            found.append(f"--scores '{beginning}*'  ({len(names)} columns whose rows sum to 1)")
    return found


def _as_score(name: str, values: Any) -> str | None:
    if values.dtype.kind != "f" or not values.size or not np.isfinite(values).all():
        return None
    low, high = values.min(), values.max()
    scale = "" if low >= 0 and high <= 1 else " --scale logits"
    return f"--scores {_quoted(name)}{scale}  (numbers from {low:.3g} to {high:.3g})"


def _as_label(name: str, values: Any) -> str | None:
    if values.dtype.kind == "f":
        return None
    distinct = sorted({str(value) for value in values.tolist()})
    if not 2 <= len(distinct) <= _MOST_LABELS:
        return None
    shown = ", ".join(distinct[:4]) + (", ..." if len(distinct) > 4 else "")
    return f"OPTION {_quoted(name)}  ({shown})"


def _as_id(name: str, values: Any) -> str | None:
    if values.dtype.kind == "f" or len(set(values.tolist())) < len(values):
        return None
    return f"--id {_quoted(name)}  (a different value in every row)"


def _quoted(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() else f"'{name}'"
