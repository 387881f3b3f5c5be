"""Compilation on the first call, for the loops that NumPy cannot do.

Nothing is compiled, and numba is not even imported, before a compiled function is called. What
was compiled is kept for the next process where that works (see ``_kept``).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import update_wrapper
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, cast

from abstain._logs import logger

_logger = logger("kernels")

F = TypeVar("F", bound=Callable[..., object])

# Threads that come first at the same time share one function, and so compile it once.
_preparing = threading.Lock()
_all: list[Compiled] = []


class Ready(NamedTuple):
    """A kernel that is ready to run: where its code came from, and how long that took."""

    name: str
    compiled: bool
    folder: Path | None
    seconds: float


class Compiled:
    """A function that compiles itself, and the compiled functions it calls, when first called."""

    def __init__(self, function: FunctionType, types: str) -> None:
        update_wrapper(self, function)
        self._function = function
        self._types = types
        self._machine_code: Any = None

    @property
    def name(self) -> str:
        """What it is called, for people."""
        return f"{self._function.__module__.rpartition('.')[2]}.{self._function.__name__[1:]}"

    def __call__(self, *arguments: Any) -> object:
        return (self._machine_code or self._prepared())(*arguments)

    def _prepared(self) -> Any:
        """Return numba's function, the same for all threads; it compiles when it is called."""
        with _preparing:
            if self._machine_code is None:
                self._machine_code = self._dispatcher()
        return self._machine_code

    def ready(self) -> Ready:
        """Compile for the types that were named, or load what was kept of that."""
        machine_code = self._prepared()
        start = time.perf_counter()
        if not hasattr(machine_code, "compile"):
            raise ValueError(
                "Nothing can be compiled: the environment variable NUMBA_DISABLE_JIT turns "
                "compilation off. Unset it."
            )
        machine_code.compile(self._signature())
        path = machine_code.stats.cache_path
        return Ready(
            self.name,
            compiled=not machine_code.stats.cache_hits,
            folder=None if path is None else Path(path),
            seconds=time.perf_counter() - start,
        )

    def kept_in(self) -> Path | None:
        """Return the folder with the code for the types that were named, compiling nothing."""
        from abstain._kernels._kept import Kept

        machine_code = self._dispatcher()
        kept = getattr(machine_code, "_cache", None)
        if not isinstance(kept, Kept):
            return None
        context = machine_code.targetctx
        context.refresh()
        return kept.knows(self._signature(), context.codegen())

    def _signature(self) -> tuple[Any, ...]:
        """Return the types as a call would show them, which is what kept code is found by."""
        sigutils: Any = import_module("numba.core.sigutils")
        arguments, _ = sigutils.normalize_signature(f"void({self._types})")
        return tuple(arguments)

    def _named(self) -> dict[str, Any]:
        code, names = self._function.__code__, self._function.__globals__
        return {name: names[name] for name in code.co_names if name in names}

    def _dispatcher(self) -> Any:
        """Return numba's function, which compiles for each new combination of types."""
        from numba import njit

        own = self._function
        named = {
            name: value._dispatcher() if isinstance(value, Compiled) else value
            for name, value in self._named().items()
        }
        copy = FunctionType(own.__code__, {**own.__globals__, **named}, own.__name__)
        copy.__qualname__, copy.__module__ = own.__qualname__, own.__module__
        return _keeping(njit(nogil=True, error_model="numpy")(copy), copy)


def _keeping(machine_code: Any, function: FunctionType) -> Any:
    """Make numba's function keep its code."""
    from abstain._kernels._kept import Kept

    if not hasattr(machine_code, "enable_caching"):
        return machine_code
    try:
        machine_code._cache = Kept(function)
    except (AttributeError, ImportError, OSError, RuntimeError, TypeError) as error:
        # The inside of another version of numba may differ. Its code is then kept for this
        # process alone, which costs seconds and nothing else.
        _logger.info("what is compiled cannot be kept here: %r", error)
    return machine_code


def compiled(types: str) -> Callable[[F], F]:
    """Compile for one thread, on the first call or ahead; it is kept on disk where that works.

    The function leaves the interpreter, so that threads run it beside each other. It may call
    other compiled functions by the name they have in its module.

    Parameters
    ----------
    types : str
        What it is called with, as numba writes types: what is compiled ahead. Other types are
        compiled when they come.
    """

    def wrap(function: F) -> F:
        made = Compiled(cast(FunctionType, function), types)
        _all.append(made)
        return cast(F, made)

    return wrap


def kernels() -> list[Compiled]:
    """Return every compiled function of this room."""
    room = import_module(__name__.rpartition(".")[0])
    for module in iter_modules(room.__path__, f"{room.__name__}."):
        import_module(module.name)
    return [one for one in _all if one.__module__.startswith(f"{room.__name__}.")]
