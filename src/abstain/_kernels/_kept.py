"""Where compiled code is kept from one process to the next.

numba keeps it in the first folder that it may write, and looks into no other. In a container
that is read-only, code compiled when the image was built would never be found again. So here
folders are read up to the first that may be written, which is the one to be written; where there
is none, the code lives in memory. Code belongs to the text of its source file, not to the file's
date, which images and archives round; and as always with numba to the versions of numba and
Python, and to the processor.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

from abstain._logs import logger

_logger = logger("kernels")


def folders() -> dict[str, Path]:
    """Return where the code of this room may be kept, by what puts it there, the first first.

    ``NUMBA_CACHE_DIR`` where that is set, the package's own folder, the user's folder for caches.
    """
    appdirs: Any = import_module("numba.misc.appdirs")
    config: Any = import_module("numba.core.config")
    here = Path(__file__).parent.resolve()
    # Two installations that share a folder do not share code.
    own = f"abstain_{hashlib.sha256(str(here).encode()).hexdigest()[:16]}"
    found = {"the package": here / "__pycache__"}
    if config.CACHE_DIR:
        found = {"NUMBA_CACHE_DIR": Path(config.CACHE_DIR).resolve() / own} | found
    users = Path(appdirs.user_cache_dir("numba", appauthor=False))
    # Of a user without a home the path is no path, and would be made where one happens to stand.
    return found | {"the user's caches": users / own} if users.is_absolute() else found


def writable(folder: Path) -> bool:
    """Tell whether a folder may be written, or made where it is missing; nothing is tried."""
    # Not Path.exists, which raises where a folder above may not be looked into.
    while not os.path.exists(folder) and folder != folder.parent:
        folder = folder.parent
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


class Kept:
    """The kept code of one function, as numba asks for it; it never fails for want of a folder.

    Attributes
    ----------
    found_in, saved_in : Path or None
        The folder that the code came from, and the one it went to.
    """

    def __init__(self, function: FunctionType) -> None:
        self._name = function.__name__.lstrip("_")
        places = list(folders().values())
        self._caches = [_cache_in(folder, function) for folder in places]
        first = next((i for i, folder in enumerate(places) if writable(folder)), len(places))
        self._read = self._caches[: first + 1]
        self.found_in: Path | None = None
        self.saved_in: Path | None = None

    @property
    def cache_path(self) -> str | None:
        """The folder in use."""
        used = self.found_in or self.saved_in
        return None if used is None else str(used)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the code for some types of arguments, or None."""
        for kept in self._read:
            try:
                code = kept.load_overload(signature, context)
            except Exception as error:
                # Whatever is wrong with what was kept, it can be compiled again.
                _logger.debug("%s in %s is of no use: %r", self._name, kept.cache_path, error)
                continue
            if code is not None:
                self.found_in = Path(kept.cache_path)
                _logger.info("loaded the compiled %s from %s", self._name, kept.cache_path)
                return code
        return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep the code in the first folder where that works."""
        for kept in self._caches:
            try:
                kept.save_overload(signature, code)
            except Exception as error:
                # Code that cannot be kept still runs.
                _logger.debug("cannot keep %s in %s: %s", self._name, kept.cache_path, error)
                continue
            self.saved_in = Path(kept.cache_path)
            _logger.info("compiled %s, kept in %s", self._name, kept.cache_path)
            return
        _nowhere()

    def knows(self, signature: Any, codegen: Any) -> Path | None:
        """Return the folder with code for some types of arguments, without loading it."""
        for kept in self._read:
            try:
                index = kept._cache_file._load_index()
                name = index.get(kept._index_key(signature, codegen))
                if name is not None and os.access(kept._cache_file._data_path(name), os.R_OK):
                    return Path(kept.cache_path)
            except Exception:
                continue
        return None

    def enable(self) -> None:
        """Do nothing: it is always on."""

    def disable(self) -> None:
        """Do nothing: it is always on."""

    def flush(self) -> None:
        """Forget what is kept, where that may be written."""
        for kept in self._caches:
            if writable(Path(kept.cache_path)):
                kept.flush()


@cache
def _nowhere() -> None:
    """Say it once in a process."""
    _logger.info(
        "no folder can be written to keep compiled code, so every process compiles its own; set "
        "NUMBA_CACHE_DIR, or run `abstain warm-up` where something can be written"
    )


def _cache_in(folder: Path, function: FunctionType) -> Any:
    """Return numba's own cache of a function, in this folder."""
    caching: Any = import_module("numba.core.caching")
    file = inspect.getfile(function)

    class Locator(caching._CacheLocator):
        _py_file = file

        def get_cache_path(self) -> str:
            return str(folder)

        def get_source_stamp(self) -> str:
            return _stamp(file)

        def get_disambiguator(self) -> str:
            return str(function.__code__.co_firstlineno)

        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> Locator:
            return cls()

    class Implementation(caching.CompileResultCacheImpl):
        _locator_classes = (Locator,)

    class Cache(caching.FunctionCache):
        _impl_class = Implementation

    return Cache(function)


@cache
def _stamp(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()
