"""The two decorators all compiled functions use, typed so that mypy sees through them."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

__all__ = ["compiled", "compiled_parallel"]

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile for one thread; the result is cached on disk."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def compiled_parallel(function: F) -> F:
    """Compile with ``numba.prange`` loops spread over threads; cached on disk."""
    return cast(F, numba.njit(cache=True, parallel=True, error_model="numpy")(function))
