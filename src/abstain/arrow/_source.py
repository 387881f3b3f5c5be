"""Where batches come from: every kind of Arrow stream behind one face.

A source knows its schema, gives its batches from the beginning as often as it can, and reads no
more columns than it is asked for where its kind allows that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from abstain.arrow._package import pyarrow

__all__ = ["Source", "opened"]

_KINDS = (
    "a PyArrow dataset, scanner, reader, table or list of record batches, a Polars LazyFrame, a "
    "DuckDB relation, another object with __arrow_c_stream__, or a function that opens one of them"
)


class Source(ABC):
    """Batches with a schema.

    Attributes
    ----------
    once : bool
        Whether it can be read only once.
    """

    once = False

    @property
    @abstractmethod
    def schema(self) -> Any:
        """The schema of all columns."""

    @abstractmethod
    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        """Yield batches of some columns, all when None, of about so many rows."""


class _Dataset(Source):
    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    @property
    def schema(self) -> Any:
        return self._dataset.schema

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        # Few at a time: by default a dataset reads far ahead, whatever that takes.
        yield from self._dataset.to_batches(
            columns=None if columns is None else list(columns),
            batch_size=rows,
            batch_readahead=2,
            fragment_readahead=1,
        )


class _Scanner(Source):
    def __init__(self, scanner: Any) -> None:
        self._scanner = scanner

    @property
    def schema(self) -> Any:
        return self._scanner.projected_schema

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        for batch in self._scanner.to_batches():
            yield _selected(batch, columns)


class _Table(Source):
    def __init__(self, table: Any) -> None:
        self._table = table

    @property
    def schema(self) -> Any:
        return self._table.schema

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        table = self._table if columns is None else self._table.select(list(columns))
        yield from table.to_batches(max_chunksize=rows)


class _Once(Source):
    """A reader: its batches come once."""

    once = True

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    @property
    def schema(self) -> Any:
        return self._reader.schema

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        for batch in self._reader:
            yield _selected(batch, columns)


class _Protocol(Source):
    """What gives a new Arrow stream whenever it is asked."""

    def __init__(self, given: Any) -> None:
        self._given = given
        self._schema: Any = None

    def _reader(self) -> Any:
        return pyarrow().RecordBatchReader.from_stream(self._given)

    @property
    def schema(self) -> Any:
        if self._schema is None:
            self._schema = self._reader().schema
        return self._schema

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        for batch in self._reader():
            yield _selected(batch, columns)


class _Duck(_Protocol):
    """A DuckDB relation, which runs its query anew and hands over batch by batch."""

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        relation = self._given
        if columns is not None:
            quoted = (f'"{name.replace(chr(34), chr(34) * 2)}"' for name in columns)
            relation = relation.select(", ".join(quoted))
        fetch = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
        yield from fetch(rows)

    @property
    def schema(self) -> Any:
        if self._schema is None:
            limited = self._given.limit(0)
            fetch = getattr(limited, "to_arrow_reader", None) or limited.fetch_record_batch
            self._schema = fetch(1).schema
        return self._schema


class _Lazy(Source):
    """A Polars LazyFrame, collected in batches by its streaming engine."""

    def __init__(self, frame: Any) -> None:
        if not hasattr(frame, "collect_batches"):
            raise TypeError(
                "`source` is a LazyFrame of a Polars that cannot collect in batches; update "
                "Polars, or pass a PyArrow dataset of the files."
            )
        self._frame = frame

    @property
    def schema(self) -> Any:
        return self._frame.head(0).collect().to_arrow().schema

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        frame = self._frame if columns is None else self._frame.select(list(columns))
        schema = self.schema
        for part in frame.collect_batches(chunk_size=rows, maintain_order=True):
            table = part.to_arrow()
            if columns is None:
                table = table.cast(schema)
            yield from table.to_batches()


class _Function(Source):
    """A function that opens the source anew."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._first: Source | None = opened(function())
        if isinstance(self._first, _Function):
            raise TypeError("`source` is a function that returns a function; return a stream.")
        self._schema = self._first.schema

    @property
    def schema(self) -> Any:
        return self._schema

    def batches(self, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        source, self._first = self._first or opened(self._function()), None
        if source.schema != self._schema:
            raise ValueError(
                "`source` is a function whose streams have different columns; it must open the "
                "same one every time."
            )
        yield from source.batches(columns, rows)


def opened(given: Any) -> Source:
    """Return what batches come from.

    Raises
    ------
    TypeError
        If it is no kind of Arrow stream.
    """
    pa = pyarrow()
    if isinstance(given, Source):
        return given
    if isinstance(given, pa.dataset.Dataset):
        return _Dataset(given)
    if isinstance(given, pa.dataset.Scanner):
        return _Scanner(given)
    if isinstance(given, pa.RecordBatchReader):
        return _Once(given)
    if isinstance(given, pa.Table):
        return _Table(given)
    if isinstance(given, pa.RecordBatch):
        return _Table(pa.Table.from_batches([given]))
    module = type(given).__module__.partition(".")[0].lstrip("_")
    if module == "duckdb":
        return _Duck(given)
    if module == "polars" and hasattr(given, "collect"):
        return _Lazy(given)
    if hasattr(given, "__arrow_c_stream__"):
        return _Protocol(given)
    if callable(given):
        return _Function(given)
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        return _of_batches(given, pa)
    raise TypeError(f"`source` must be {_KINDS}; got {type(given).__name__}.")


def _of_batches(given: Iterable[Any], pa: Any) -> Source:
    """Return the source of batches that come one by one; a list can be read again."""
    if isinstance(given, list | tuple):
        if given and all(isinstance(batch, pa.RecordBatch) for batch in given):
            _check_alike(given)
            return _Table(pa.Table.from_batches(list(given)))
        raise TypeError(
            f"`source` must be {_KINDS}; got a {type(given).__name__} that is empty or holds "
            f"something else."
        )
    iterator = iter(given)
    first = next(iterator, None)
    if not isinstance(first, pa.RecordBatch):
        raise TypeError(
            f"`source` must be {_KINDS}; got {type(given).__name__}, which gives "
            f"{'nothing' if first is None else type(first).__name__}."
        )

    def batches() -> Iterator[Any]:
        yield first
        for number, batch in enumerate(iterator, start=1):
            _check_alike([first, batch], number)
            yield batch

    return _Once(pa.RecordBatchReader.from_batches(first.schema, batches()))


def _check_alike(batches: Sequence[Any], number: int | None = None) -> None:
    for place, batch in enumerate(batches):
        if batch.schema != batches[0].schema:
            raise ValueError(
                f"`source` must give batches of one schema; batch "
                f"{place if number is None else number} has the columns "
                f"{', '.join(map(str, batch.schema))}, the first one has "
                f"{', '.join(map(str, batches[0].schema))}."
            )


def _selected(batch: Any, columns: Sequence[str] | None) -> Any:
    return batch if columns is None else batch.select(list(columns))
