"""Options that belong together: declared as fields of one frozen value, and handed on as it.

Among them a rule that is read from a file, and the secret that rules are signed with. The secret
is read from a file, too: a command line is no place for one.
"""

# ruff: noqa: RUF009 - a field that an option fills is a field of a dataclass

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abstain.cli._terminal import spelled

if TYPE_CHECKING:
    from abstain import Policy

#: A click decorator that gives a command an option or an argument.
Option = Callable[[Any], Any]
FILE = click.Path(path_type=Path)


def option_field(*names: str, absent: Any = None, **settings: Any) -> Any:
    """Return the field that an option fills; ``absent`` is of commands that do not have it."""
    return filled_by(click.option(*names, **settings), absent=absent)


def filled_by(option: Option, *, absent: Any = None) -> Any:
    """Return the field that an option fills which others use as well."""
    return field(default=absent, metadata={"option": option})


def in_one_value(kind: type[Any], name: str, *chosen: str, **own: Option | None) -> Option:
    """Give a command options, and hand them to it as one frozen value.

    Parameters
    ----------
    kind : type
        The value; its fields are options.
    name : str
        What the command calls the value.
    *chosen : str
        The fields that the command has, in the order of its help; all when none is named.
    **own : callable
        For fields whose option differs from command to command; None of what is there already.
    """
    known = {one.name: one.metadata["option"] for one in fields(kind) if one.metadata} | own
    options = {one: known[one] for one in chosen or known}

    def give(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def collected(*arguments: Any, **given: Any) -> Any:
            value = kind(**{field: given.pop(field) for field in options})
            return command(*arguments, **{name: value}, **given)

        return with_options(collected, [one for one in options.values() if one is not None])

    return give


def with_options(command: Callable[..., Any], options: Sequence[Option]) -> Callable[..., Any]:
    """Give a command options, in the order of its help."""
    for option in reversed(options):
        command = option(command)
    return command


def check_with(
    check: Callable[[Any], Any],
) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return a click callback that turns the library's complaint into a usage error."""

    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        if value is None or value == ():
            return value
        try:
            return check(value)
        except (OSError, TypeError, ValueError) as error:
            raise click.BadParameter(spelled(error)) from error

    return callback


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
    try:
        with path.open("rb") as file:
            key = file.read(_MOST + 1)
    except OSError as error:
        raise ValueError(f"--key-file {path} cannot be read: {error.strerror}.") from error
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

    @cached_property
    def loaded(self) -> Policy:
        """The rule, once its signature was checked."""
        from abstain import Policy

        return Policy.load(self.policy, key=self.key)
