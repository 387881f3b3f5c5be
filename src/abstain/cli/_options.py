"""Options that several commands share, and the headings that help lists them under."""

# ruff: noqa: RUF009 - a field that an option fills is a field of a dataclass

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abstain.cli._output import AS_JSON as AS_JSON
from abstain.cli._output import READ
from abstain.cli._output import Outputs as Outputs
from abstain.cli._output import emit as emit
from abstain.cli._reading import Columns as Columns
from abstain.cli._reading import Reading as Reading
from abstain.cli._terminal import SECTIONS
from abstain.cli._values import FILE as FILE
from abstain.cli._values import (
    Option,
    check_with,
    filled_by,
    in_one_value,
    option_field,
    with_options,
)
from abstain.cli._values import SavedRule as SavedRule

if TYPE_CHECKING:
    from abstain import Policy
    from abstain.cli._labels import Classes
    from abstain.cli._predictions import PredictionFiles, Predictions

#: Far more than tell methods apart; each takes seconds.
MOST_REPEATS = 10_000
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
        place = {name: title for title, names in SECTIONS.items() for name in names.split()}
        for title in (*SECTIONS, "Other options"):
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


@dataclass(frozen=True)
class Tables:
    """The tables that a command reads, and how.

    Attributes
    ----------
    columns : Columns
        Which columns are what.
    reading : Reading
        What the user said about the files.
    batch, validation : Path or None
        BATCH, and the labelled one.
    rule : SavedRule or None
        The rule that is to be applied; its scale is the scores'.
    method : Method
        Where there is no rule yet, how to make one.
    """

    columns: Columns
    reading: Reading
    batch: Any = None
    validation: Path | None = None
    rule: Any = None
    method: Method = field(default_factory=Method)

    @property
    def policy(self) -> Policy:
        """The rule."""
        return self.rule.loaded  # type: ignore[no-any-return]

    @property
    def inputs(self) -> tuple[Path | None, ...]:
        """All that is read."""
        own = () if self.rule is None else (self.rule.policy, self.rule.key_file)
        return (*own, self.validation, self.batch)

    @property
    def _scale(self) -> dict[str, Any]:
        return {"scale": self.method.scale} if self.rule is None else {"rule": self.policy}

    def new(self, *, others: bool = False) -> Predictions:
        """Return all rows of BATCH; with the other columns only where that is asked for."""
        return self.files().read(others=others)

    def files(self, *, stream: bool = False) -> PredictionFiles:
        """Return the files of BATCH, to be read in parts or not."""
        from abstain.cli._predictions import prediction_files

        columns = self.columns.of_batch
        return prediction_files(self.batch, columns, self.reading, stream=stream, **self._scale)

    def labelled(self) -> Predictions:
        """Return all rows of VALIDATION."""
        from abstain.cli._predictions import read_validation

        return read_validation(
            Path(str(self.validation)), self.columns, self.reading, **self._scale
        )

    def answers(self, rows: Predictions, option: str, classes: Sequence[Any]) -> Any:
        """Return what readers answered about rows, by the columns of an option; None without."""
        from abstain.cli._labels import opinions_in

        names = self.columns.readers if option == "--reviewer" else self.columns.opinions
        return opinions_in(rows.of.path, names, option, self.reading, rows.rows, classes)

    def classes(self, source: Predictions, needing: Iterable[str] = ()) -> Classes:
        """Return what is known of the classes of VALIDATION; see ``classes_of``."""
        from abstain.cli._labels import classes_of

        return classes_of(source, self.columns.positive, needing=needing)


def tables(
    *names: str,
    method: Sequence[str] | None = None,
    batch: str | None = None,
    optional: bool = False,
    refer: bool = False,
    stream: bool = False,
) -> Option:
    """Give a command its tables and the options about them, handed to it as ``tables``.

    Parameters
    ----------
    *names : str
        The options that say which columns are what.
    method : sequence of str, optional
        Beside --scale and --calibration those of how a rule is made, of commands that begin with
        VALIDATION; the others begin with POLICY.
    batch : str, optional
        What help calls BATCH.
    optional : bool
        Whether it may be left out.
    refer, stream : bool
        As for ``reading``.
    """
    first = rule if method is None else click.argument("validation", type=FILE)
    given = [
        first,
        click.argument("batch", type=FILE, required=not optional, metavar=batch),
        columns(*names),
        reading(refer=refer, stream=stream),
    ]
    fields = ["rule" if method is None else "validation", "batch", "columns", "reading"]
    if method is not None:
        given.append(in_one_value(Method, "method", "scale", "calibration", *method))
        fields.append("method")
    gathered = in_one_value(Tables, "tables", *fields, **dict.fromkeys(fields))
    return lambda command: with_options(gathered(command), given)


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
