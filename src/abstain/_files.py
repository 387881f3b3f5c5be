"""Writing files whole or not at all, several of them together.

What is written stands beside its place under a hidden name, until everything is there; then each
takes its place. Where that fails, or the program is told to end, what stood there before stays.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from abstain._logs import logger

#: The signals that ask a program to end: Ctrl-C, ``kill``, a terminal that is closed.
ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
# Of the name itself, so that the hidden one is not too long for the file system.
_MOST_BYTES = 150

_logger = logger("files")
_unfinished: set[Path] = set()
#: Those of files that were read, by what changes when a file does.
checksums: dict[tuple[int, ...], str] = {}


def place_of(path: str | os.PathLike[str]) -> Path:
    """Return where a file is really written: the other end of a symbolic link.

    Raises
    ------
    FileNotFoundError
        If there is no folder for it.
    ValueError
        If what stands there is no plain file, which writing would replace: a folder, a pipe, a
        device.
    """
    target = Path(path)
    if "\0" in str(target):
        raise ValueError(f"Cannot write {str(target)!r}: this is no name of a file.")
    target = Path(os.path.realpath(target))
    if target.is_symlink():
        raise ValueError(f"Cannot write {path}: it is a link to itself.")
    if not target.parent.is_dir():
        folder = target.parent if Path(path).is_symlink() else Path(path).parent
        raise FileNotFoundError(f"Cannot write {path}: there is no folder {folder}.")
    there = target.stat() if target.exists() else None
    if there is not None and not stat.S_ISREG(there.st_mode):
        what = next((word for check, word in _KINDS if check(there.st_mode)), "no plain file")
        raise ValueError(f"Cannot write {path}: it is {what}. Name a plain file.")
    return target


_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


@contextmanager
def landing() -> Iterator[Callable[[str | os.PathLike[str]], Path]]:
    """Give a function from paths to temporary files, which take their places all together.

    When the block fails, or the program is told to end in it, none of them does.
    """
    waiting: dict[Path, Path] = {}
    called: dict[Path, object] = {}

    def place(path: str | os.PathLike[str]) -> Path:
        target = place_of(path)
        with _undisturbed():
            if target not in waiting:
                waiting[target], called[target] = _hidden(target), path
        return waiting[target]

    try:
        yield place
        with _undisturbed():
            _exchange(waiting)
        for path in called.values():
            # What is not in its place yet is written by and by.
            if path not in _unfinished:
                _logger.info("wrote %s", path)
    finally:
        with _undisturbed():
            for temporary in waiting.values():
                _remove(temporary)


@contextmanager
def landing_in(folder: Path) -> Iterator[Callable[[str | os.PathLike[str]], Path]]:
    """Give such a function for files in a folder, which is made where there is none.

    When the block fails a folder that was made is gone again.
    """
    made = [part for part in (folder, *folder.parents) if not part.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"Cannot write into {folder}: it cannot be made a folder.") from error
    try:
        with landing() as place:
            yield place
    except BaseException:
        for part in made:
            with suppress(OSError):  # somebody else has put something there
                part.rmdir()
        raise


def version_of(path: str | os.PathLike[str]) -> tuple[int, ...]:
    """Return what changes when a file does."""
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the checksum of a file; one that was summed up as it was read is not read again."""
    version = version_of(path)
    if version not in checksums:
        with open(path, "rb") as file:
            checksums[version] = hashlib.file_digest(file, "sha256").hexdigest()
    return checksums[version]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path`` that takes its place when the block succeeds."""
    with landing() as place:
        yield place(path)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file whole or not at all."""
    with landing() as place:
        place(path).write_text(text, encoding="utf-8")


def discard_unfinished() -> None:
    """Remove what a program that was told to end could not."""
    for temporary in [*_unfinished]:
        _remove(temporary)


def _exchange(waiting: dict[Path, Path]) -> None:
    """Put every file in its place; where one cannot be, put back what stood in the others."""
    before: dict[Path, Path | None] = {}
    landed: set[Path] = set()
    try:
        for target, temporary in waiting.items():
            if target.exists():
                # What was private stays so, and what was not to be changed, too.
                with suppress(OSError):
                    temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            before[target] = _kept(target) if len(waiting) > 1 and target.exists() else None
            temporary.replace(target)
            landed.add(target)
            _unfinished.discard(temporary)
    except OSError:
        for target, kept in before.items():
            if kept is None:
                if target in landed:
                    target.unlink(missing_ok=True)
            elif target in landed or not target.exists():
                kept.replace(target)
        raise
    finally:
        for target, kept in before.items():
            if kept is not None and target.exists():
                _remove(kept)


def _kept(target: Path) -> Path:
    """Return the hidden name that what stands in a place has from now on."""
    kept = _hidden(target)
    kept.unlink()
    try:
        os.link(target, kept)
    except OSError:
        # A file system without links: moved away, and back where the rest fails.
        try:
            target.replace(kept)
        finally:
            _unfinished.discard(kept)
    return kept


def _hidden(target: Path) -> Path:
    """Make an empty file beside a place, no more readable than what stands there."""
    name = os.fsencode(target.name)[:_MOST_BYTES].decode(errors="ignore")
    mode = stat.S_IMODE(target.stat().st_mode) & 0o666 | 0o200 if target.exists() else 0o666
    temporary = target.with_name(f".{name}.{secrets.token_hex(6)}")
    try:
        # As for any new file, what the umask forbids is left out.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    except OSError as error:
        raise OSError(f"Cannot write {target}: {error.strerror}.") from error
    _unfinished.add(temporary)
    return temporary


def _remove(temporary: Path) -> None:
    with suppress(OSError):
        temporary.unlink()
    _unfinished.discard(temporary)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Put off the signals that ask the program to end until the block is over.

    They would leave a file that nobody knows of, or some outputs in place and others not.
    """
    waiting: list[int] = []
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in ENDING:
            usual = signal.getsignal(number)
            # Those that C installed cannot be put back, and ignored ones are ignored anyway.
            if usual not in (None, signal.SIG_IGN):
                before[number] = usual
    try:
        for number in before:
            signal.signal(number, lambda number, _: waiting.append(number))
        yield
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)
        for number in waiting:
            signal.raise_signal(number)
