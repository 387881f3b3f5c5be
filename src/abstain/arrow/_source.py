"""Where batches come from: every kind of Arrow stream behind one face.

A source knows its schema, gives its batches from the beginning as often as it can, and reads no
more columns than it is asked for where its kind allows that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

_KINDS = (
    "a PyArrow dataset, scanner, reader, table or list of record batches, a Polars LazyFrame, a "
    "DuckDB relation, another object with __arrow_c_stream__, or a function that opens one of them"
)
_END: Any = object()


@dataclass(frozen=True)
class Source:
    """Batches with a schema.

    Attributes
    ----------
    schema : pyarrow.Schema
        The schema of all columns.
    batches : callable
        Gives batches of some columns, all when None, of about so many rows.
    once : bool
        Whether it can be read only once.
    """

    schema: Any
    batches: Callable[[Sequence[str] | None, int], Iterator[Any]]
    once: bool = False


def opened(given: Any) -> Source:
    """Return what batches come from.

    Raises
    ------
    TypeError
        If it is no kind of Arrow stream.
    """
    pa = pyarrow()
    if isinstance(given, pa.dataset.Dataset):
        return Source(given.schema, partial(_of_dataset, given))
    if isinstance(given, pa.dataset.Scanner):
        return Source(given.projected_schema, _selecting(given.to_batches))
    if isinstance(given, pa.RecordBatchReader):
        return Source(given.schema, _selecting(lambda: given), once=True)
    if isinstance(given, pa.Table):
        return _table(given)
    if isinstance(given, pa.RecordBatch):
        return _table(pa.Table.from_batches([given]))
    module = type(given).__module__.partition(".")[0].lstrip("_")
    if module == "duckdb":
        return Source(_fetched(given.limit(0), 1).schema, partial(_of_relation, given))
    if module == "polars" and hasattr(given, "collect"):
        return _lazy(given)
    if hasattr(given, "__arrow_c_stream__"):
        reader = partial(pa.RecordBatchReader.from_stream, given)
        return Source(reader().schema, _selecting(reader))
    if callable(given):
        return _function(given)
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        return _of_batches(given, pa)
    raise TypeError(f"`source` must be {_KINDS}; got {type(given).__name__}.")


def _selecting(
    read: Callable[[], Iterable[Any]],
) -> Callable[[Sequence[str] | None, int], Iterator[Any]]:
    """Return what picks columns of batches that come with all of them, as large as they are."""

    def batches(columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        for batch in read():
            yield batch if columns is None else batch.select(list(columns))

    return batches


def _of_dataset(dataset: Any, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
    # Few at a time: by default a dataset reads far ahead, whatever that takes.
    yield from dataset.to_batches(
        columns=None if columns is None else list(columns),
        batch_size=rows,
        batch_readahead=2,
        fragment_readahead=1,
    )


def _table(table: Any) -> Source:
    def batches(columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        some = table if columns is None else table.select(list(columns))
        yield from some.to_batches(max_chunksize=rows)

    return Source(table.schema, batches)


def _of_relation(relation: Any, columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
    """Run the query of a DuckDB relation anew, which hands over batch by batch."""
    if columns is not None:
        quoted = (f'"{name.replace(chr(34), chr(34) * 2)}"' for name in columns)
        relation = relation.select(", ".join(quoted))
    yield from _fetched(relation, rows)


def _fetched(relation: Any, rows: int) -> Any:
    # By its newest name, and by the one that DuckDB had before.
    fetch = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    return fetch(rows)


def _lazy(frame: Any) -> Source:
    """Return a Polars LazyFrame as a source, collected in batches by its streaming engine."""
    if not hasattr(frame, "collect_batches"):
        raise TypeError(
            "`source` is a LazyFrame of a Polars that cannot collect in batches; update "
            "Polars, or pass a PyArrow dataset of the files."
        )
    schema = frame.head(0).collect().to_arrow().schema

    def batches(columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        some = frame if columns is None else frame.select(list(columns))
        for part in some.collect_batches(chunk_size=rows, maintain_order=True):
            table = part.to_arrow()
            yield from (table.cast(schema) if columns is None else table).to_batches()

    return Source(schema, batches)


def _function(function: Callable[[], Any]) -> Source:
    """Return what a function opens anew for each pass, its first stream for the first one."""
    first = function()
    if callable(first) and not hasattr(first, "__arrow_c_stream__"):
        raise TypeError("`source` is a function that returns a function; return a stream.")
    waiting = [opened(first)]
    schema = waiting[0].schema

    def batches(columns: Sequence[str] | None, rows: int) -> Iterator[Any]:
        source = waiting.pop() if waiting else opened(function())
        if source.schema != schema:
            raise ValueError(
                "`source` is a function whose streams have different columns; it must open the "
                "same one every time."
            )
        yield from source.batches(columns, rows)

    return Source(schema, batches)


def _of_batches(given: Iterable[Any], pa: Any) -> Source:
    """Return the source of batches that come one by one; a list can be read again."""
    if isinstance(given, list | tuple):
        if given and all(isinstance(batch, pa.RecordBatch) for batch in given):
            _check_alike(given)
            return _table(pa.Table.from_batches(list(given)))
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

    return opened(pa.RecordBatchReader.from_batches(first.schema, batches()))


def _check_alike(batches: Sequence[Any], number: int | None = None) -> None:
    for place, batch in enumerate(batches):
        if batch.schema != batches[0].schema:
            raise ValueError(
                f"`source` must give batches of one schema; batch "
                f"{place if number is None else number} has the columns "
                f"{', '.join(map(str, batch.schema))}, the first one has "
                f"{', '.join(map(str, batches[0].schema))}."
            )


def ahead(chunks: Iterable[T], *, depth: int = 2) -> Generator[T, None, None]:
    """Yield the chunks, of which the next ``depth`` are made ready in the background.

    PyArrow and NumPy leave the interpreter, so one plain thread is enough. No more than these few
    chunks wait at any time: memory stays where it is, however fast the reader is. An error of
    theirs is raised here, in its place. The thread ends when this iterator does.
    """
    iterator = iter(chunks)
    with ThreadPoolExecutor(1, thread_name_prefix="abstain-ahead") as thread:
        ready = deque(thread.submit(next, iterator, _END) for _ in range(depth))
        try:
            while (chunk := ready.popleft().result()) is not _END:
                ready.append(thread.submit(next, iterator, _END))
                yield chunk
        finally:
            for waiting in ready:
                waiting.cancel()
            # A generator closes its files in the thread that opened them; none is left to do so
            # where the interpreter is ending.
            with suppress(RuntimeError):
                thread.submit(getattr(iterator, "close", lambda: None)).result()


def pyarrow() -> Any:
    """Return the package; the error names the extra where it is missing."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.dataset
    except ModuleNotFoundError as error:
        raise ImportError(
            "Arrow streams need pyarrow, which comes with an extra: pip install 'abstain[arrow]'"
        ) from error
    return pyarrow
