"""Options that several commands share, and checks that make them errors of the command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Any

import click

from abstain.cli._help import Grouped
from abstain.cli._output import READ, Outputs
from abstain.cli._reading import Columns, Reading
from abstain.cli._rule import SavedRule
from abstain.cli._spelling import spelled

#: A click decorator that gives a command an option or an argument.
Option = Callable[[Any], Any]

FILE = click.Path(path_type=Path)
#: Far more than tell methods apart; each takes seconds.
MOST_REPEATS = 10_000
# With what a metric begins that is read from a file.
_COST = "cost:"
_SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "\\t": "\t"}


def command(example: str) -> Callable[[Any], click.Command]:
    """Make a function a command whose help lists its options under headings, then an example."""
    return click.command(cls=Grouped, epilog=f"Example: {example}")


def in_one_value(kind: Callable[..., Any], name: str, options: Mapping[str, Option]) -> Option:
    """Give a command options, and hand them to it as one frozen value.

    Parameters
    ----------
    kind : callable
        Makes the value of what was given.
    name : str
        What the command calls the value.
    options : mapping of str to callable
        The options, by the fields that they fill; help lists them in this order.
    """

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
        if value is None:
            return None
        try:
            return check(value)
        except (OSError, TypeError, ValueError) as error:
            raise click.BadParameter(spelled(str(error))) from error

    return callback


def reads(path: str | Path) -> None:
    """Note a file that an option names for reading, so that nothing is written over it."""
    click.get_current_context().meta.setdefault(READ, []).append(Path(path))


def _metric(name: str) -> Any:
    from abstain import metrics

    if name.startswith(_COST) and not name.startswith(f"{_COST}["):
        reads(name.removeprefix(_COST))
    return metrics.get(name)


def _metrics(names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(_metric(name) for name in names)


def fraction(text: str) -> float:
    """Read a number that may be written as a percentage: ``0.15`` or ``15%``."""
    percent = text.strip().endswith("%")
    number = text.strip().removesuffix("%").strip()
    try:
        value = float(number)
    except ValueError as error:
        point = number.replace(",", ".", 1)
        hint = f"; write {point}" if point.replace(".", "", 1).isdigit() else ""
        raise ValueError(f"{text!r} is no number{hint}, such as 0.15 or 15%.") from error
    if not percent or not isfinite(value):
        return value
    try:
        # Divided in decimals, so that 15% is the very number 0.15.
        return float(Decimal(number).scaleb(-2))
    except ArithmeticError:  # next to nothing
        return value / 100


def _level(text: str) -> float:
    from abstain._inputs import check_level

    return check_level(fraction(text))


def _known_metrics(context: click.Context, parameter: click.Parameter, start: str) -> list[str]:
    from abstain import metrics

    return [name for name, _ in metrics.summaries() if name.startswith(start)]


def _only_one(
    context: click.Context, parameter: click.Parameter, names: tuple[str, ...]
) -> str | None:
    """Take the one that was given: a report compares by one column."""
    if len(names) > 1:
        raise click.BadParameter(
            f"{context.info_name} compares by one column; got {', '.join(names)}. "
            f"`abstain evaluate` takes several."
        )
    return names[0] if names else None


def _separator(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    separator = None if text is None else _SEPARATORS.get(text, text)
    if separator is not None and (
        len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0'
    ):
        raise click.BadParameter(
            f"{text!r} must be one ASCII character, or one of {', '.join(list(_SEPARATORS)[:4])}."
        )
    return separator


def _encoding(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    import codecs

    if text is None:
        return None
    try:
        name = codecs.lookup(text).name
        # There are codecs that are no encodings of text, and some that cannot be read in parts.
        if codecs.getincrementaldecoder(name)().decode("a,1\n".encode(name), True) != "a,1\n":
            raise LookupError(name)
        return name
    except (LookupError, TypeError, ValueError) as error:
        raise click.BadParameter(
            f"{text!r} is no encoding; such as windows-1252, latin-1 or utf-16 are."
        ) from error


def _sheets(
    context: click.Context, parameter: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    if len(names) > 2:
        raise click.BadParameter(f"Give one, or two for VALIDATION and BATCH; got {len(names)}.")
    return names


validation = click.argument("validation", type=FILE)
batch = click.argument("batch", type=FILE)
as_json = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON, for machines."
)
strict = click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1, and write nothing, if the data contradict what the figures rest on.",
)
metric = click.option(
    "--metric",
    required=True,
    callback=check_with(_metric),
    shell_complete=_known_metrics,
    help="What to optimise, e.g. sensitivity@specificity=0.99, auroc, kappa:quadratic; "
    "`abstain metrics` lists them.",
)
level = click.option(
    "--level",
    default="0.9",
    show_default=True,
    callback=check_with(_level),
    help="How often the intervals are to hold.",
)
random_state = click.option("--random-state", type=int, default=0, show_default=True, help="Seed.")


def metrics(**settings: Any) -> Option:
    """Return the option for several metrics, with what is special to a command."""
    return click.option(
        "--metric",
        "metrics",
        multiple=True,
        callback=check_with(_metrics),
        shell_complete=_known_metrics,
        **settings,
    )


_KEY_FILE = click.option(
    "--key-file",
    type=FILE,
    envvar="ABSTAIN_KEY_FILE",
    help="A secret file of 16 bytes or more: a rule that is written is signed with it, and "
    "one that is read must be signed with it.",
)
#: The argument POLICY and its key, handed to a command as ``rule``.
rule = in_one_value(
    SavedRule, "rule", {"policy": click.argument("policy", type=FILE), "key_file": _KEY_FILE}
)

_COLUMNS = {
    "scores": click.option(
        "--scores",
        default="p_*",
        show_default=True,
        help="The score column (binary: of the positive class), or a pattern with * that matches "
        "one column per class; what * stands for is the class name.",
    ),
    "label": click.option(
        "--label", default="y", show_default=True, help="The column with the true label."
    ),
    "target_label": click.option(
        "--target-label",
        help="The column with the true label in BATCH: compare realised values, over resamples. "
        "Without it values are estimated.",
    ),
    "labels": click.option(
        "--labels",
        type=FILE,
        help="Take the labels from this file, by the id in the column --id of both; without it "
        "they are in LABELLED.",
    ),
    "prediction": click.option(
        "--prediction",
        help="The column with the predicted label, in both tables; without it the class with the "
        "highest score.",
    ),
    "positive": click.option(
        "--positive",
        metavar="LABEL",
        help="Of two classes the positive one, as in the label column; needed where neither "
        "labels of 0 and 1 nor the name of a single score column, such as p_ill, say which it is.",
    ),
    "identifier": click.option(
        "--id", "identifier", help="The column that names a row; row numbers without it."
    ),
    "group": click.option(
        "--group",
        multiple=True,
        callback=_only_one,
        help="A column to compare rates by, such as a hospital or a sex.",
    ),
    "groups": click.option(
        "--group",
        "groups",
        multiple=True,
        help="A column to compare by, such as a hospital or a sex; may be given several times, "
        "each by itself.",
    ),
    "known_labels": click.option(
        "--known-labels",
        help="A column of BATCH with the true label where it is known, and nothing elsewhere; "
        "these rows are not withheld.",
    ),
}


def columns(*names: str) -> Option:
    """Give a command options that say which columns are what, handed to it as ``columns``."""
    return in_one_value(Columns, "columns", {name: _COLUMNS[name] for name in names})


_READING = {
    "percent": click.option(
        "--percent", is_flag=True, help="The scores are percentages: divide by 100."
    ),
    "separator": click.option(
        "--separator",
        callback=_separator,
        help="What separates columns in text files: one character, or comma, semicolon, tab, "
        "pipe.  [default: told from the header]",
    ),
    "decimal": click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="The decimal sign of scores in text.  [default: told from the scores, or asked]",
    ),
    "encoding": click.option(
        "--encoding",
        callback=_encoding,
        help="The encoding of text files, e.g. windows-1252.  [default: told from the file]",
    ),
    "sheets": click.option(
        "--sheet",
        "sheets",
        multiple=True,
        callback=_sheets,
        help="The sheet of workbooks that have several; twice for one of VALIDATION and one of "
        "BATCH.",
    ),
}
_STREAM = click.option(
    "--stream/--no-stream",
    default=None,
    help="Read BATCH in parts, twice, in memory that does not grow with it.  [default: for a "
    "folder, and above 200 MB]",
)


def reading(*, refer: bool = False, stream: bool = False) -> Option:
    """Give a command the options of reading, handed to it as ``reading``.

    ``refer`` is for commands that decide: they can give rows without a score to a person.
    ``stream`` is for those that can do so with BATCH in parts.
    """
    what = "refer them to a person, drop them" if refer else "drop them"
    missing = click.option(
        "--missing",
        type=click.Choice(["refer", "drop", "error"] if refer else ["drop", "error"]),
        default="error",
        show_default=True,
        help=f"What to do with rows without a score: {what}, or stop and name them.",
    )
    options = {**_READING, "missing": missing}
    return in_one_value(Reading, "reading", options | ({"stream": _STREAM} if stream else {}))


@dataclass(frozen=True)
class Method:
    """How scores become probabilities, and what is drawn, as the options say it.

    Attributes
    ----------
    scale : {"probabilities", "logits"}
        What the scores are.
    calibration, shift, decision, score : str or None
        As the library calls them.
    level : float
        How often intervals are to hold.
    random_state : int
        The seed.
    """

    scale: Any
    calibration: str
    shift: str = "auto"
    decision: Any = "auto"
    score: str | None = None
    level: float = 0.9
    random_state: int = 0


_METHOD = {
    "scale": click.option(
        "--scale",
        type=click.Choice(["probabilities", "logits"]),
        default="probabilities",
        show_default=True,
        help="What the scores are.",
    ),
    "calibration": click.option(
        "--calibration", default="auto", show_default=True, help="How to calibrate."
    ),
    "shift": click.option(
        "--shift",
        default="auto",
        show_default=True,
        help="How to estimate the class proportions: auto adapts if label shift explains the "
        "scores; em always adapts, none never.",
    ),
    "decision": click.option(
        "--decision",
        type=click.Choice(["auto", "argmax", "optimal"]),
        default="auto",
        show_default=True,
        help="Predict the most probable class (argmax), or the class that suits the metric: "
        "always (optimal), or where that is expected to help (auto).",
    ),
    "score": click.option(
        "--score", help="Withhold by this score of uncertainty instead, e.g. max-probability."
    ),
    "level": level,
    "random_state": random_state,
}


def method(*names: str) -> Option:
    """Give a command --scale, --calibration and more, handed to it as ``method``."""
    fields = ("scale", "calibration", *names)
    return in_one_value(Method, "method", {name: _METHOD[name] for name in fields})


_OUTPUTS = {
    "sort": click.option(
        "--sort",
        type=click.Choice(["input", "pressing"]),
        default="input",
        show_default=True,
        help="The order of the rows in --out: as they came, or the most pressing first.",
    ),
    "policy": click.option("--policy", type=FILE, help="Save the rule as JSON."),
    "key_file": _KEY_FILE,
    "report": click.option(
        "--report",
        type=FILE,
        help="Write a page about the decisions: one HTML file, to open, mail or print.",
    ),
    "force": click.option("--force", is_flag=True, help="Write over files that exist."),
    "strict": strict,
    "as_json": as_json,
}
#: What --out is where rows are decided about.
DECISIONS = (
    "Write the rows with what was decided: .csv, .csv.gz, .tsv, .parquet or .xlsx; or, of "
    "what is streamed, a folder for one .parquet after the other, in which a run that was killed "
    "goes on when the same command is given again."
)


def outputs(*names: str, out: str | None = None, default: str | None = None) -> Option:
    """Give a command options that say what to write and how to speak, handed to it as ``outputs``.

    Parameters
    ----------
    *names : str
        Which, but for --out.
    out : str, optional
        The help of --out, of commands that have it.
    default : str, optional
        Where --out goes unless it is said.
    """
    options = {name: _OUTPUTS[name] for name in names}
    if out is not None:
        option = click.option("--out", type=FILE, default=default, show_default=True, help=out)
        options = {"out": option} | options
    return in_one_value(Outputs, "outputs", options)


def this_command() -> str | None:
    """Return the command as it was typed, quoted for a shell."""
    import shlex

    arguments = click.get_current_context().find_root().obj
    return None if arguments is None else shlex.join(["abstain", *arguments])
