"""The two decorators all compiled functions use, typed for mypy, and a way to hold threads back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

import numba

__all__ = ["compiled", "compiled_parallel", "one_thread"]

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile for one thread; the result is cached on disk."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def compiled_parallel(function: F) -> F:
    """Compile with ``numba.prange`` loops spread over threads; cached on disk."""
    return cast(F, numba.njit(cache=True, parallel=True, error_model="numpy")(function))


@contextmanager
def one_thread() -> Iterator[None]:
    """Run compiled loops on one thread: for thousands of small batches, waking others costs more.

    It changes no result.
    """
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)
