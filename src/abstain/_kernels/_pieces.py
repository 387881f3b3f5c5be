"""Rows cut into pieces and turned into columns, and plain threads that take a piece at a time.

NumPy is fast along long axes, and rows of classes are short. One class after the other, for all
rows of a piece, is also one fixed sequence of operations for each row: a row comes out the same
alone as in any batch.

NumPy leaves the interpreter, so plain threads are enough. They are made for
one call and end with it: none waits or spins afterwards, a process may fork, and on a busy
machine the threads that do run take over the work of those that do not.

There are as many threads as processors that this process may use, or fewer where the system gives
no more; the environment variable ``ABSTAIN_NUM_THREADS`` sets another number. Results do not
depend on it, to the last bit.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from abstain._inputs import FloatArray
from abstain._numerics import one_blas_thread

T = TypeVar("T")
A = TypeVar("A", bound="NDArray[Any]")

#: More than any machine has use for, and few enough to start.
MOST_THREADS = 4096
_WHOLE = re.compile(r"0*[1-9][0-9]{0,4}", re.ASCII)
# A thread with fewer pieces than this to do is not worth waking.
_PIECES_A_THREAD = 4
# Numbers in one piece: few enough that a handful of arrays stay in cache, enough that threads
# seldom wait for the interpreter between one operation and the next.
_NUMBERS = 262_144


def n_threads() -> int:
    """Return how many threads share the work."""
    wanted = os.environ.get("ABSTAIN_NUM_THREADS", "").strip()
    if wanted:
        if not _WHOLE.fullmatch(wanted) or int(wanted) > MOST_THREADS:
            raise ValueError(
                f"The environment variable ABSTAIN_NUM_THREADS must be a whole number from 1 "
                f"to {MOST_THREADS:,}; got {wanted[:60]!r}."
            )
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def over_rows(function: Callable[[int, int], T], n_rows: int, *, size: int) -> list[T]:
    """Return ``function(begin, end)`` of each piece of ``size`` rows, in their order.

    No rows are one empty piece. Floating-point warnings are off in all threads.
    """
    if n_rows <= size:
        with np.errstate(all="ignore"):
            return [function(0, n_rows)]
    begins = range(0, n_rows, size)
    results: dict[int, T] = {}
    waiting = deque(begins)

    def work() -> None:
        with np.errstate(all="ignore"):
            while True:
                try:
                    begin = waiting.popleft()
                except IndexError:
                    return
                try:
                    results[begin] = function(begin, min(begin + size, n_rows))
                except BaseException:
                    waiting.clear()
                    raise

    # This thread works too.
    useful = len(begins) // _PIECES_A_THREAD
    helpers = min(n_threads(), useful) - 1 if useful > 1 else 0
    if helpers < 1:
        work()
    else:
        with ThreadPoolExecutor(helpers) as pool:
            started = []
            for _ in range(helpers):
                try:
                    started.append(pool.submit(work))
                except RuntimeError:
                    # The system gives no more threads, or Python is ending: with those there are.
                    break
            work()
            for helper in started:
                helper.result()
    return [results[begin] for begin in begins]


def summed_over_rows(
    function: Callable[[int, int], tuple[T, ...]], n_rows: int, *, size: int, most_blocks: int = 64
) -> tuple[T, ...]:
    """Return the sums of what ``function(begin, end)`` gives for each piece of ``size`` rows.

    Pieces are added up in at most so many blocks, which bounds the memory of partial sums. Linear
    algebra inside stays on the thread that takes the piece.
    """
    if n_rows <= size:
        with np.errstate(all="ignore"):
            return function(0, n_rows)
    n_pieces = -(-n_rows // size)
    pieces_a_block = max(1, -(-n_pieces // most_blocks))

    def block(begin: int, end: int) -> tuple[T, ...]:
        sums = function(begin, min(begin + size, end))
        for start in range(begin + size, end, size):
            sums = _added(sums, function(start, min(start + size, end)))
        return sums

    with one_blas_thread():
        first, *others = over_rows(block, n_rows, size=size * pieces_a_block)
    for other in others:
        first = _added(first, other)
    return first


def _added(sums: tuple[T, ...], more: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(a + b for a, b in zip(sums, more, strict=True))  # type: ignore[operator]


def rows_at_a_time(n_columns: int) -> int:
    """Return how many rows make one piece."""
    return max(64, _NUMBERS // max(n_columns, 1))


def columns_of(rows: FloatArray) -> FloatArray:
    """Return a copy of shape (n_columns, n_rows), one column after the other in memory.

    A single row comes twice: of one number per column NumPy would see one long axis, and add
    along that in another order.
    """
    if len(rows) == 1:
        return np.repeat(rows.T, 2, axis=1)
    return np.array(rows.T, order="C")


def filled(out: A, function: Callable[..., Any], *columns: NDArray[Any], size: int) -> A:
    """Return an array filled with a function's values for each piece of ``size`` rows."""
    if len(out) <= size:
        with np.errstate(all="ignore"):
            out[:] = function(*columns)
        return out

    def fill(begin: int, end: int) -> None:
        out[begin:end] = function(*(column[begin:end] for column in columns))

    over_rows(fill, len(out), size=size)
    return out


def by_columns(function: Callable[[FloatArray], Any], rows: FloatArray, out: A) -> A:
    """Return an array filled with what a function makes of the rows' columns, its last axis.

    The columns are a copy, which it may overwrite.
    """

    def of(part: FloatArray) -> Any:
        return function(columns_of(part))[..., : len(part)].T

    return filled(out, of, rows, size=rows_at_a_time(rows.shape[1]))
