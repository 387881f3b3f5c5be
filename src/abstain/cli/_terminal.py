"""What a terminal is given: text of any kind as it may be shown, and with ``--verbose`` the log.

A name may hold the signs that move a cursor, change a title or turn the direction of writing.
They are shown as Python writes them; so a terminal shows what is there and does nothing.

The library tells who writes Python to ``pass scale="logits"``; whoever reads it in a terminal has
to type ``--scale logits``. A message has its arguments between backticks, and what it offers to do
is with it as ``ways``: both are put in other words here (``spelled``).
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from abstain.exceptions import Way

# Control characters, what turns the direction of writing, and halves of characters, which are how
# Python holds the bytes of a file's name that are no text.
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
)
_CONTROL = re.compile(f"[{_UNSEEN}]")
_IN_A_LINE = re.compile(f"[{_UNSEEN}\t\n]")


def printable(text: str, stream: object = None) -> str:
    r"""Return text whose lines stay lines, and nothing in it is a command to a terminal.

    What the encoding of a stream does not have, where one is given, is escaped as well.

    Examples
    --------
    >>> print(printable("red: \x1b[31m"))
    red: \x1b[31m
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"
    text = _CONTROL.sub(_escaped, text)
    return text.encode(encoding, "backslashreplace").decode(encoding)


def in_a_line(name: object) -> str:
    r"""Return a name, of a column, a class, a row or a file, that stays in the line it is put in.

    Examples
    --------
    >>> print(in_a_line("blood\npressure"))
    blood\npressure
    """
    return _IN_A_LINE.sub(_escaped, str(name))


def say(text: str) -> None:
    """Say something on stderr; where that cannot be written, nothing is said."""
    with suppress(OSError):
        click.echo(printable(text, sys.stderr), err=True)


def tell(text: str) -> None:
    """Print a result on stdout."""
    click.echo(printable(text, sys.stdout))


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


_ASKED = "abstain.verbose"
# Without the option only what cannot wait is said; with it the stages, and twice the reasons.
_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


def _listen(context: click.Context, parameter: click.Parameter, count: int) -> None:
    """Count how often it was asked for, before the command and after it."""
    asked = context.meta[_ASKED] = context.meta.get(_ASKED, 0) + count
    logging.getLogger("abstain").setLevel(_LEVELS[min(asked, len(_LEVELS) - 1)])


_option = click.option(
    "-v",
    "--verbose",
    count=True,
    expose_value=False,
    callback=_listen,
    help="Say on stderr what is done, and how long it takes; -vv says why, too.",
)


def with_verbose(command: Any) -> Any:
    """Give a command the option, if it has not got it yet."""
    if any(parameter.name == "verbose" for parameter in getattr(command, "params", ())):
        return command
    return _option(command)


class _Lines(logging.Handler):
    """One line on stderr for each record: the time since the command began, the room, the text."""

    start = 0.0

    def emit(self, record: logging.LogRecord) -> None:
        room = record.name.removeprefix("abstain.")
        # On a terminal a progress bar may stand in the line.
        wipe = "\r\x1b[K" if sys.stderr.isatty() else ""
        elapsed = time.perf_counter() - self.start
        click.echo(f"{wipe}[{elapsed:7.2f} s] {room}: {printable(record.getMessage())}", err=True)


@contextmanager
def plain_logs() -> Iterator[None]:
    """Send the library's log to stderr, and leave logging as it was."""
    logger, lines = logging.getLogger("abstain"), _Lines()
    before, lines.start = logger.level, time.perf_counter()
    logger.addHandler(lines)
    try:
        yield
    finally:
        logger.removeHandler(lines)
        logger.setLevel(before)


#: The headings of help, and the options that stand under each.
SECTIONS = {
    "What to decide": "metric metrics budget budgets target cost errors value_of_metric "
    "arms confidence prior_range team equal at_most drop_certificate methods repeats",
    "What to watch": "every floor capacity tolerance false_alarms state close acknowledge",
    "Columns": "scores time label target_label labels prediction positive identifier group groups "
    "by known_labels readers opinions",
    "Reading files": "labelled scale percent separator decimal encoding sheets missing validation",
    "Method": "calibration shift estimator decision score level random_state",
    "Output": "out audit policy report webhook title force strict as_json help",
}
# The arguments of the library that an option of the same name stands for.
_WHOLE = (SECTIONS[title] for title in ("What to decide", "What to watch", "Method"))
OPTIONS = tuple(" ".join((*_WHOLE, "audit missing positive prediction scale time")).split())
_NAMES = {name: f"--{name.replace('_', '-')}" for name in OPTIONS} | {
    "abstain": "--cost",
    "budgets": "--budget",
    "classes": "the names of the score columns",
    "groups": "the column of --group",
    "ids": "the column of --id",
    "metrics": "--metric",
    "prediction_val": "--prediction",
    "sample_weight": "the weights",
    "opinions": "--opinion",
    "reviewer": "--reviewer",
    "selected": "--audit",
    "y": "the label column",
    "y_source": "the labels of VALIDATION",
    "y_target": "the column of --known-labels",
    "y_true": "the label column",
    "y_val": "the label column of VALIDATION",
}
_SCORES = {
    "proba": "the scores",
    "scores": "the scores",
    "scores_target": "the scores of BATCH",
    "scores_val": "the scores of VALIDATION",
}
# What is not done by an option of the same name.
_WAYS = {
    "Abstainer(score)": "use it with `abstain run --score`",
    "Abstainer.decide": "`abstain run`",
    "KnownPriors": "give the proportions in Python, with KnownPriors(...)",
    "Policy.adapt": "`abstain adapt`",
    "classes": "name the score columns so that each ends in its class, with --scores 'p_*'",
    "drop_certificate": "add --drop-certificate",
    "predictions": "both tables need the column of --prediction",
    "scores": "name one column per class with --scores 'p_*', or the score of the positive class",
    "share": "For 15 percent give 15% or 0.15, for {value} rows give {value}",
    "target": "give e.g. sensitivity=0.85",
}

_COUNTED = " Rows are counted from 0 below the header."


def spelled(told: object) -> str:
    """Return what an error, a warning or a text says, with options instead of arguments."""
    message = str(told)
    for way in getattr(told, "ways", ()):
        python, typed = str(way), _typed(way)
        message = message.replace(python, typed).replace(_begun(python), _begun(typed))
    for name, words in _SCORES.items():
        said = {f"`{name}` rows": f"the rows of {words}", f"`{name}` has": f"{words} have"}
        for python, typed in (said | {f"`{name}` is": f"{words} are", f"`{name}`": words}).items():
            message = message.replace(python, typed)
    for name, words in _NAMES.items():
        message = message.replace(f"`{name}`", words)
    counts = "first is row " in message or "first at row " in message
    if counts and not message.endswith(_COUNTED):
        message += _COUNTED
    return _begun(message) if message.startswith("the ") else message


def _typed(way: Way) -> str:
    """Return a way out as the command line has it."""
    python = str(way)
    if way.name in _WAYS:
        return _WAYS[way.name].format(value=way.value)
    if way.name not in OPTIONS:
        return python.replace("pass ", "give ", 1)
    option = _NAMES[way.name]
    if way.value is not None:
        text = str(way.value)
        option += f" {text}" if text.replace("-", "").replace(".", "").isalnum() else f" '{text}'"
    return f"add {option}" if python.startswith("pass ") else option


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]
