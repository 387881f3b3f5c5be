"""The group of commands, loaded one by one, and how errors become exit codes.

Exit 0: done. 1: the data is wrong, or with --strict contradicts what the figures rest on.
2: the command is wrong. 130: interrupted; 143 and 129: told to end by SIGTERM and SIGHUP.
"""

from __future__ import annotations

import io
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import click

from abstain import __version__
from abstain._files import ENDING, discard_unfinished
from abstain.cli import missing_package
from abstain.cli._output import plain_warnings
from abstain.cli._terminal import in_a_line, plain_logs, say, spelled, with_verbose
from abstain.exceptions import AbstainError

#: The module of each command.
_MODULES = {
    "adapt": "apply",
    "apply": "apply",
    "calibrate": "calibrate",
    "compare": "compare",
    "demo": "demo",
    "doctor": "demo",
    "estimate": "shift",
    "evaluate": "apply",
    "export": "export",
    "metrics": "demo",
    "monitor": "monitor",
    "report": "run",
    "reproduce": "reproduce",
    "run": "run",
    "shift": "shift",
}
NAMES = tuple(_MODULES)


class _Lazy(click.Group):
    """A group that imports a command's module when the command is asked for."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(NAMES)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in NAMES:
            return None
        command: click.Command = getattr(import_module(f"abstain.cli._{_MODULES[name]}"), name)
        # After the command it means what it does before it.
        return with_verbose(command)  # type: ignore[no-any-return]


@click.group(
    cls=_Lazy,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        # What would colour a terminal is shown, not taken out without a word.
        "color": True,
    },
)
@with_verbose
@click.version_option(__version__, prog_name="abstain")
@click.pass_context
def commands(context: click.Context) -> None:
    """Decide which predictions of a classifier should go to a person instead.

    Start with: abstain demo
    """
    context.with_resource(plain_warnings(context))


def run_command(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    with _noticed_signals() as noticed:
        try:
            code = _run(arguments)
        except (click.exceptions.Abort, KeyboardInterrupt):
            noticed.stopping = True
        except Exception:
            # Compiled code may turn an interrupt into an error of its own.
            if not noticed.numbers:
                raise
        if not noticed.stopping and not noticed.numbers:
            return code
        noticed.stopping = True
        discard_unfinished()
        number = (noticed.numbers or [signal.SIGINT])[0]
        told = "interrupted" if number == signal.SIGINT else "told to end"
        say(f"abstain: {told}; nothing half-written was left.")
        return 128 + number


def _run(arguments: Sequence[str]) -> int:
    try:
        with plain_logs():
            result: Any = commands.main(
                list(arguments), prog_name="abstain", standalone_mode=False, obj=tuple(arguments)
            )
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        say(_in_lines(said.getvalue().removesuffix("\n"), arguments))
        return error.exit_code
    except ImportError as error:
        # Commands load what reads and writes tables only when they run.
        say(f"abstain: {missing_package(error) or error}")
        return 1
    except OSError as error:
        message = str(error)
        if error.filename is not None and error.strerror is not None:
            why = error.strerror[:1].lower() + error.strerror[1:]
            message = f"Cannot open {error.filename}: {why}."
        say(_in_lines(f"abstain: {message}", arguments))
        return 1
    except (AbstainError, TypeError, ValueError) as error:
        say(_in_lines(f"abstain: {spelled(error)}", arguments))
        return 1
    return result if isinstance(result, int) else 0


def _in_lines(message: str, arguments: Sequence[str]) -> str:
    """Return a message in which no argument, such as a file's name, begins a line of its own."""
    for argument in arguments:
        shown = in_a_line(argument)
        if shown != argument and argument.strip():
            message = message.replace(argument, shown)
    return message


@dataclass
class _Noticed:
    """The signals that came, and whether the command is already being stopped."""

    numbers: list[int] = field(default_factory=list)
    stopping: bool = False


@contextmanager
def _noticed_signals() -> Iterator[_Noticed]:
    """Stop on the signals that ask a program to end as on Ctrl-C, and keep a note of them.

    Stopped so, a command removes what it has half written.
    """
    noticed = _Noticed()

    def notice(number: int, frame: Any) -> None:
        noticed.numbers.append(number)
        if not noticed.stopping:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield noticed
        return
    # Whoever started the program with nohup wants it to go on.
    heard = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, notice) for number in heard}
    try:
        yield noticed
    finally:
        for number, usual in before.items():
            signal.signal(number, signal.SIG_DFL if usual is None else usual)
