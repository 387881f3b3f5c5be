"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from abstain._logs import logger

__all__ = ["landing", "replacing", "write_text"]

_logger = logger("files")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path`` that takes its place when the block succeeds.

    When the block fails, or the program is interrupted in it, the temporary file is removed and
    whatever stood at ``path`` stays.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"Cannot write {target}: there is no folder {target.parent}.")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files private; what people share should be as readable as usual.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(target)
        _logger.info("wrote %s", target)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def landing() -> Iterator[Callable[[Path], Path]]:
    """Give a function from paths to temporary files, which take their places all together.

    When the block fails none of them does.
    """
    with ExitStack() as stack:
        yield lambda path: stack.enter_context(replacing(path))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
