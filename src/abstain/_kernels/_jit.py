"""The decorators all compiled functions use, typed so that mypy sees through them."""

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar, cast

import numba

__all__ = ["SMALL_IN_DESCENT", "compiled", "compiled_parallel", "compiled_reordering"]

F = TypeVar("F", bound=Callable[..., object])

# Waking threads costs more than they save on arrays smaller than this.
SMALL = 100_000
# The same for loops that a descent calls again and again, where a busy machine makes every call
# wait for threads that the system has put aside meanwhile.
SMALL_IN_DESCENT = 200_000


def compiled(function: F) -> F:
    """Compile for one thread; the result is cached on disk."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def compiled_reordering(function: F) -> F:
    """Compile as ``compiled``, and let long sums be taken in lanes, which changes last digits.

    The order is fixed when the function is compiled, so results still repeat.
    """
    fast = {"reassoc", "contract"}
    return cast(
        F, numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=fast)(function)
    )


def compiled_parallel(function: F, *, small: int = SMALL) -> F:
    """Compile with ``numba.prange`` loops spread over threads; cached on disk.

    A call whose first argument is small runs on one thread, by the same operations in the same
    order. Such a function can be called from Python only.
    """
    parallel = numba.njit(cache=True, parallel=True, error_model="numpy")(function)
    serial = compiled(_renamed(cast(FunctionType, function)))

    @wraps(function)
    def dispatch(first: Any, *rest: Any) -> object:
        return (serial if first.size < small else parallel)(first, *rest)

    return cast(F, dispatch)


def _renamed(function: FunctionType) -> FunctionType:
    """Return a copy with a name of its own, by which the disk cache tells the two apart."""
    copy = FunctionType(function.__code__, function.__globals__, function.__name__ + "_serial")
    copy.__qualname__ = function.__qualname__ + "_serial"
    copy.__module__ = function.__module__
    return copy
