"""Compilation on the first call, for the loops that NumPy cannot do.

Nothing is compiled, and numba is not even imported, before a compiled function is called.
"""

from collections.abc import Callable
from functools import partial, update_wrapper
from types import FunctionType
from typing import Any, TypeVar, cast

__all__ = ["compiled"]

F = TypeVar("F", bound=Callable[..., object])


class _Compiled:
    """A function that compiles itself, and the compiled functions it calls, when first called."""

    def __init__(self, function: FunctionType) -> None:
        update_wrapper(self, function)
        self._function = function
        self._machine_code: Callable[..., object] | None = None

    def __call__(self, *arguments: Any) -> object:
        if self._machine_code is not None:
            return self._machine_code(*arguments)
        machine_code = self._dispatcher(cached=True)
        try:
            result = machine_code(*arguments)
        except OSError:
            # The folder of the cache was there, but what was compiled could not be kept in it.
            machine_code = self._dispatcher(cached=False)
            result = machine_code(*arguments)
        self._machine_code = machine_code
        return result

    def _dispatcher(self, *, cached: bool) -> Callable[..., object]:
        """Return numba's function, which compiles for each new combination of types."""
        from numba import njit

        own = self._function
        named = {
            name: value._dispatcher(cached=cached) if isinstance(value, _Compiled) else value
            for name, value in own.__globals__.items()
            if name in own.__code__.co_names
        }
        copy = FunctionType(own.__code__, {**own.__globals__, **named}, own.__name__)
        copy.__qualname__, copy.__module__ = own.__qualname__, own.__module__
        compile_it = partial(njit, nogil=True, error_model="numpy")
        try:
            return cast(Callable[..., object], compile_it(cache=cached)(copy))
        except RuntimeError:
            # No folder for a cache: a read-only installation without a home, for example.
            return cast(Callable[..., object], compile_it()(copy))


def compiled(function: F) -> F:
    """Compile for one thread on the first call; the result is cached on disk where that works.

    The function leaves the interpreter, so that threads run it beside each other. It may call
    other compiled functions by the name they have in its module.
    """
    return cast(F, _Compiled(cast(FunctionType, function)))
