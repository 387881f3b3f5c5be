"""A rule that is read from a file, and the secret that rules are signed with.

The secret is read from a file, too: a command line is no place for one.
"""

# ruff: noqa: RUF009 - a field that an option fills is a field of a dataclass

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abstain.cli._values import FILE, filled_by

if TYPE_CHECKING:
    from abstain import Policy

_LEAST, _MOST = 16, 4096
KEY_FILE = click.option(
    "--key-file",
    type=FILE,
    envvar="ABSTAIN_KEY_FILE",
    help="A secret file of 16 bytes or more: a rule that is written is signed with it, and "
    "one that is read must be signed with it.",
)


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


@dataclass(frozen=True)
class SavedRule:
    """The file of a rule.

    Attributes
    ----------
    policy : Path
        Where it is.
    key_file : Path or None
        Where the secret is that it must be signed with.
    """

    policy: Path
    key_file: Path | None = filled_by(KEY_FILE)

    @cached_property
    def key(self) -> bytes | None:
        """The secret."""
        return signing_key(self.key_file)

    def load(self) -> Policy:
        """Return the rule, once its signature was checked."""
        from abstain import Policy

        return Policy.load(self.policy, key=self.key)
