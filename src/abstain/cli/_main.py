"""The group of commands, loaded one by one, and how errors become exit codes.

Exit 0: done. 1: the data is wrong, or with --strict contradicts what the figures rest on.
2: the command is wrong. 130: interrupted.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from abstain import __version__
from abstain.cli import missing_package
from abstain.cli._output import plain_warnings
from abstain.cli._spelling import spelled
from abstain.cli._verbose import plain_logs, with_verbose
from abstain.exceptions import AbstainError

__all__ = ["commands", "run_command"]

# Each command is a module of the same name with a click command of the same name; a dash in the
# command is an underscore in both.
NAMES = (
    "adapt",
    "apply",
    "calibrate",
    "compare",
    "demo",
    "doctor",
    "estimate",
    "evaluate",
    "metrics",
    "report",
    "reproduce",
    "run",
    "shift",
    "warm-up",
)


class _Lazy(click.Group):
    """A group that imports a command's module when the command is asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(NAMES)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in NAMES:
            return None
        module = name.replace("-", "_")
        command: click.Command = getattr(import_module(f"abstain.cli._{module}"), module)
        # After the command it means what it does before it.
        return with_verbose(command)  # type: ignore[no-any-return]

    def invoke(self, context: click.Context) -> Any:
        with plain_warnings(context):
            return super().invoke(context)


@click.group(
    cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@with_verbose
@click.version_option(__version__, prog_name="abstain")
def commands() -> None:
    """Decide which predictions of a classifier should go to a person instead.

    Start with: abstain demo
    """


def run_command(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    with _noticed_interrupts() as interrupts:
        try:
            return _run(arguments)
        except (click.exceptions.Abort, KeyboardInterrupt):
            interrupts.append(signal.SIGINT)
        except Exception:
            # Compiled code may turn an interrupt into an error of its own.
            if not interrupts:
                raise
        click.echo("abstain: interrupted; nothing half-written was left.", err=True)
        return 130


def _run(arguments: Sequence[str]) -> int:
    try:
        with plain_logs():
            result: Any = commands.main(
                list(arguments), prog_name="abstain", standalone_mode=False, obj=tuple(arguments)
            )
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except ImportError as error:
        # Commands load what reads and writes tables only when they run.
        click.echo(f"abstain: {missing_package(error) or error}", err=True)
        return 1
    except (AbstainError, OSError, TypeError, ValueError) as error:
        click.echo(f"abstain: {spelled(str(error))}", err=True)
        return 1
    return result if isinstance(result, int) else 0


@contextmanager
def _noticed_interrupts() -> Iterator[list[int]]:
    """Interrupt as usual on Ctrl-C, and keep a note of it."""
    noticed: list[int] = []

    def notice(number: int, frame: Any) -> None:
        noticed.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield noticed
        return
    before = signal.signal(signal.SIGINT, notice)
    try:
        yield noticed
    finally:
        signal.signal(signal.SIGINT, before)
