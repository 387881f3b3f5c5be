"""The secret that rules are signed with, read from a file: a command line is no place for one."""

from __future__ import annotations

from pathlib import Path

import click

_LEAST, _MOST = 16, 4096


def signing_key(path: Path | None) -> bytes | None:
    """Return all bytes of a key file as they are; None where no file was named."""
    if path is None:
        return None
    with path.open("rb") as file:
        key = file.read(_MOST + 1)
    if not _LEAST <= len(key) <= _MOST:
        raise click.UsageError(
            f"--key-file must hold {_LEAST} to {_MOST} bytes; {path} holds "
            f"{'more' if len(key) > _MOST else len(key)}. "
            f"Make a key with: head -c 32 /dev/urandom > policy.key"
        )
    return key
