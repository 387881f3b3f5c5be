"""Options that several commands share, and checks that make them errors of the command."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any

import click

from abstain.cli._help import Grouped as Grouped
from abstain.cli._output import READ
from abstain.cli._reading import Reading as Reading
from abstain.cli._reading import reading as reading
from abstain.cli._spelling import spelled

FILE = click.Path(path_type=Path)
#: Far more than tell methods apart; each takes seconds.
MOST_REPEATS = 10_000
# With what a metric begins that is read from a file.
_COST = "cost:"


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


validation = click.argument("validation", type=FILE)
batch = click.argument("batch", type=FILE)
policy = click.argument("policy", type=FILE)
key_file = click.option(
    "--key-file",
    type=FILE,
    envvar="ABSTAIN_KEY_FILE",
    help="A secret file of 16 bytes or more: a rule that is written is signed with it, and "
    "one that is read must be signed with it.",
)
out = click.option(
    "--out",
    type=FILE,
    help="Write the rows with what was decided: .csv, .csv.gz, .tsv, .parquet or .xlsx; or, of "
    "what is streamed, a folder for one .parquet after the other, in which a run that was killed "
    "goes on when the same command is given again.",
)
random_state = click.option("--random-state", type=int, default=0, show_default=True, help="Seed.")
as_json = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON, for machines."
)
force = click.option("--force", is_flag=True, help="Write over files that exist.")
metric = click.option(
    "--metric",
    required=True,
    callback=check_with(_metric),
    shell_complete=_known_metrics,
    help="What to optimise, e.g. sensitivity@specificity=0.99, auroc, kappa:quadratic; "
    "`abstain metrics` lists them.",
)
scores = click.option(
    "--scores",
    default="p_*",
    show_default=True,
    help="The score column (binary: of the positive class), or a pattern with * that matches "
    "one column per class; what * stands for is the class name.",
)
label = click.option(
    "--label", default="y", show_default=True, help="The column with the true label."
)
identifier = click.option(
    "--id", "identifier", help="The column that names a row; row numbers without it."
)
group = click.option(
    "--group",
    multiple=True,
    callback=_only_one,
    help="A column to compare rates by, such as a hospital or a sex.",
)
groups = click.option(
    "--group",
    "groups",
    multiple=True,
    help="A column to compare by, such as a hospital or a sex; may be given several times, each "
    "by itself.",
)
sort = click.option(
    "--sort",
    type=click.Choice(["input", "pressing"]),
    default="input",
    show_default=True,
    help="The order of the rows in --out: as they came, or the most pressing first.",
)
stream = click.option(
    "--stream/--no-stream",
    default=None,
    help="Read BATCH in parts, twice, in memory that does not grow with it.  [default: for a "
    "folder, and above 200 MB]",
)
at_most = click.option(
    "--at-most",
    type=click.IntRange(min=0, max=10**9),
    help="No more rows to a person than this, e.g. 40 a day: the most pressing of those that the "
    "rule withholds.",
)
positive = click.option(
    "--positive",
    metavar="LABEL",
    help="Of two classes the positive one, as in the label column; needed where neither labels of "
    "0 and 1 nor the name of a single score column, such as p_ill, say which it is.",
)
scale = click.option(
    "--scale",
    type=click.Choice(["probabilities", "logits"]),
    default="probabilities",
    show_default=True,
    help="What the scores are.",
)
calibration = click.option(
    "--calibration", default="auto", show_default=True, help="How to calibrate."
)
decision = click.option(
    "--decision",
    type=click.Choice(["auto", "argmax", "optimal"]),
    default="auto",
    show_default=True,
    help="Predict the most probable class (argmax), or the class that suits the metric: always "
    "(optimal), or where that is expected to help (auto).",
)
shift = click.option(
    "--shift",
    default="auto",
    show_default=True,
    help="How to estimate the class proportions: auto adapts if label shift explains the scores; "
    "em always adapts, none never.",
)
level = click.option(
    "--level",
    default="0.9",
    show_default=True,
    callback=check_with(_level),
    help="How often the intervals are to hold.",
)
strict = click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1, and write nothing, if the data contradict what the figures rest on.",
)


def metrics(**settings: Any) -> Callable[[Any], Any]:
    """Return the option for several metrics, with what is special to a command."""
    return click.option(
        "--metric",
        "metrics",
        multiple=True,
        callback=check_with(_metrics),
        shell_complete=_known_metrics,
        **settings,
    )


def this_command() -> str | None:
    """Return the command as it was typed, quoted for a shell."""
    import shlex

    arguments = click.get_current_context().find_root().obj
    return None if arguments is None else shlex.join(["abstain", *arguments])
