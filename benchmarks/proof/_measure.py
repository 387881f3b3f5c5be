"""Rows measured, each in a process that was started afresh, and what failed kept as such."""

import importlib
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

__all__ = ["measured", "module_of"]


def module_of(section: str) -> Any:
    """Return the module of a section."""
    return importlib.import_module(f"benchmarks.proof.{section}")


def measured(
    section: str, rows: Iterable[str], workers: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield rows as they are finished, from processes of their own."""
    # A process forked from one with running threads may hang.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        todo = {pool.submit(_row, section, row): row for row in rows}
        for done in as_completed(todo):
            error = done.exception()
            if error is None:
                yield todo[done], done.result()
            else:  # The process itself died.
                yield todo[done], _failure(error, 0.0)


def _row(section: str, row: str) -> dict[str, Any]:
    """Measure one row in this process."""
    start = time.perf_counter()
    try:
        lines = module_of(section).lines(row)
    except Exception as error:
        traceback.print_exc()
        return _failure(error, time.perf_counter() - start)
    return {"lines": lines, "seconds": time.perf_counter() - start, "error": ""}


def _failure(error: BaseException, seconds: float) -> dict[str, Any]:
    return {"lines": [], "seconds": seconds, "error": f"{type(error).__name__}: {error}"}
