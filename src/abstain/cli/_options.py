"""Options that several commands share, and the headings that help lists them under."""

# ruff: noqa: RUF009 - a field that an option fills is a field of a dataclass

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from abstain.cli._output import AS_JSON as AS_JSON
from abstain.cli._output import READ
from abstain.cli._output import Outputs as Outputs
from abstain.cli._output import emit as emit
from abstain.cli._reading import Columns as Columns
from abstain.cli._reading import Reading as Reading
from abstain.cli._values import FILE as FILE
from abstain.cli._values import Option, check_with, filled_by, in_one_value, option_field
from abstain.cli._values import SavedRule as SavedRule

#: Far more than tell methods apart; each takes seconds.
MOST_REPEATS = 10_000
# The headings of help, and what stands under each.
_SECTIONS = {
    "What to decide": "metric metrics budget budgets target cost errors value_of_metric "
    "confidence prior_range at_most drop_certificate methods repeats",
    "What to watch": "every floor capacity tolerance false_alarms state close acknowledge",
    "Columns": "scores time label target_label labels prediction positive identifier group groups "
    "known_labels",
    "Reading files": "labelled scale percent separator decimal encoding sheets missing validation",
    "Method": "calibration shift estimator decision score level random_state",
    "Output": "out audit policy report webhook title force strict as_json help",
}
# Fewer options are read as quickly without headings.
_MANY = 12
# With what a metric begins that is read from a file.
_COST = "cost:"


class _Grouped(click.Command):
    """A command whose help lists its options by what they are about."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings; those that have none come last."""
        options = [one for one in self.get_params(context) if isinstance(one, click.Option)]
        if len(options) < _MANY:
            super().format_options(context, formatter)
            return
        place = {name: title for title, names in _SECTIONS.items() for name in names.split()}
        for title in (*_SECTIONS, "Other options"):
            of_it = [one for one in options if place.get(one.name or "", "Other options") == title]
            records = [record for one in of_it if (record := one.get_help_record(context))]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def command(example: str) -> Callable[[Any], click.Command]:
    """Make a function a command whose help lists its options under headings, then an example."""
    return click.command(cls=_Grouped, epilog=f"Example: {example}")


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
    from abstain._inputs import read_fraction

    return read_fraction(text)


def _level(text: str) -> float:
    from abstain._inputs import check_level

    return check_level(fraction(text))


def _known_metrics(context: click.Context, parameter: click.Parameter, start: str) -> list[str]:
    from abstain import metrics

    return [name for name, _ in metrics.summaries() if name.startswith(start)]


validation = click.argument("validation", type=FILE)
batch = click.argument("batch", type=FILE)
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


#: The argument POLICY and its key, handed to a command as ``rule``.
rule = in_one_value(
    SavedRule, "rule", "policy", "key_file", policy=click.argument("policy", type=FILE)
)


def columns(*names: str) -> Option:
    """Give a command options that say which columns are what, handed to it as ``columns``."""
    return in_one_value(Columns, "columns", *names)


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
    names = ("percent", "separator", "decimal", "encoding", "sheets", "missing")
    streaming = ("stream",) if stream else ()
    return in_one_value(Reading, "reading", *names, *streaming, missing=missing)


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

    scale: Any = option_field(
        "--scale",
        type=click.Choice(["probabilities", "logits"]),
        default="probabilities",
        show_default=True,
        help="What the scores are.",
    )
    calibration: str = option_field(
        "--calibration", default="auto", show_default=True, help="How to calibrate."
    )
    shift: str = option_field(
        "--shift",
        default="auto",
        show_default=True,
        help="How to estimate the class proportions: auto adapts as far as the scores speak for "
        "label shift; em always adapts, none never.",
    )
    decision: Any = option_field(
        "--decision",
        type=click.Choice(["auto", "argmax", "optimal"]),
        default="auto",
        show_default=True,
        help="Predict the most probable class (argmax), or the class that suits the metric: "
        "always (optimal), or where that is expected to help (auto).",
    )
    score: str | None = option_field(
        "--score", help="Withhold by this score of uncertainty instead, e.g. max-probability."
    )
    level: float = filled_by(level, absent=0.9)
    random_state: int = filled_by(random_state, absent=0)


def method(*names: str) -> Option:
    """Give a command --scale, --calibration and more, handed to it as ``method``."""
    return in_one_value(Method, "method", "scale", "calibration", *names)


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
    if out is None:
        return in_one_value(Outputs, "outputs", *names)
    option = click.option("--out", type=FILE, default=default, show_default=True, help=out)
    return in_one_value(Outputs, "outputs", "out", *names, out=option)


def this_command() -> str | None:
    """Return the command as it was typed, quoted for a shell."""
    import shlex

    arguments = click.get_current_context().find_root().obj
    return None if arguments is None else shlex.join(["abstain", *arguments])
