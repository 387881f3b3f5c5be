"""Options that belong together: declared as fields of one frozen value, and handed on as it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from abstain.cli._spelling import spelled

#: A click decorator that gives a command an option or an argument.
Option = Callable[[Any], Any]
FILE = click.Path(path_type=Path)


def option_field(*names: str, absent: Any = None, **settings: Any) -> Any:
    """Return the field that an option fills; ``absent`` is of commands that do not have it."""
    return filled_by(click.option(*names, **settings), absent=absent)


def filled_by(option: Option, *, absent: Any = None) -> Any:
    """Return the field that an option fills which others use as well."""
    return field(default=absent, metadata={"option": option})


def in_one_value(kind: type[Any], name: str, *chosen: str, **own: Option) -> Option:
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
        For fields whose option differs from command to command.
    """
    known = {one.name: one.metadata["option"] for one in fields(kind) if one.metadata} | own
    options = {one: known[one] for one in chosen or known}

    def give(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def collected(*arguments: Any, **given: Any) -> Any:
            value = kind(**{field: given.pop(field) for field in options})
            return command(*arguments, **{name: value}, **given)

        result: Callable[..., Any] = collected
        for option in reversed([*options.values()]):
            result = option(result)
        return result

    return give


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
            raise click.BadParameter(spelled(str(error))) from error

    return callback
