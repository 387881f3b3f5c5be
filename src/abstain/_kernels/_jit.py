"""The decorators all compiled functions use, typed so that mypy sees through them."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["compiled", "compiled_parallel", "compiled_parallel_if_large"]

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile for one thread; the result is cached on disk."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def compiled_parallel(function: F) -> F:
    """Compile with ``numba.prange`` loops spread over threads; cached on disk."""
    return cast(F, numba.njit(cache=True, parallel=True, error_model="numpy")(function))


# Entries of the first argument below which waking the other threads costs more than it saves.
_LARGE = 2_000_000


def compiled_parallel_if_large(function: F) -> F:
    """Compile as ``compiled_parallel``, and run on one thread if the first argument is small.

    For loops called many times in a row, as in a descent: there, on a busy machine, each call
    would wait for threads that the system has put aside.
    """
    kernel = compiled_parallel(function)

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        threads = numba.get_num_threads()
        if args[0].size >= _LARGE or threads == 1:
            return kernel(*args)
        numba.set_num_threads(1)
        try:
            return kernel(*args)
        finally:
            numba.set_num_threads(threads)

    return cast(F, call)
