"""One thread for linear algebra, where its caller has threads of its own or matrices are small."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LOCK = threading.Lock()
# What each library had before the first caller came; given back when the last one leaves.
_BEFORE: list[int] = []
_CALLERS = [0]


@functools.cache
def _libraries() -> list[Any]:
    from threadpoolctl import ThreadpoolController

    found: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return found


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep linear algebra on one thread; may be nested, and entered by several threads.

    Its sums then do not depend on the number of threads, and BLAS threads that wait for work do
    not hold up those that have some.
    """
    with _LOCK:
        _CALLERS[0] += 1
        if _CALLERS[0] == 1:
            _BEFORE[:] = [library.num_threads for library in _libraries()]
            for library in _libraries():
                library.set_num_threads(1)
    try:
        yield
    finally:
        with _LOCK:
            _CALLERS[0] -= 1
            if _CALLERS[0] == 0:
                for library, number in zip(_libraries(), _BEFORE, strict=True):
                    library.set_num_threads(number)
