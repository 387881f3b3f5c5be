"""Options that several commands share, and checks that make them errors of the command."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

__all__ = [
    "FILE",
    "as_json",
    "batch",
    "calibration",
    "check_with",
    "force",
    "group",
    "identifier",
    "label",
    "metric",
    "out",
    "policy",
    "random_state",
    "scale",
    "scores",
    "shift",
    "this_command",
    "validation",
]

FILE = click.Path(path_type=Path)


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
            raise click.BadParameter(str(error)) from error

    return callback


def _metric(name: str) -> Any:
    from abstain import metrics

    return metrics.get(name)


def _known_metrics(context: click.Context, parameter: click.Parameter, start: str) -> list[str]:
    from abstain import metrics

    return [name for name, _ in metrics.summaries() if name.startswith(start)]


validation = click.argument("validation", type=FILE)
batch = click.argument("batch", type=FILE)
policy = click.argument("policy", type=FILE)
out = click.option("--out", type=FILE, help="Write one row per decision (CSV or Parquet).")
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
group = click.option("--group", help="A column to compare rates by, such as a hospital or a sex.")
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
shift = click.option("--shift", default="em", show_default=True, help="How to estimate the shift.")


def this_command() -> str | None:
    """Return the command as it was typed, quoted for a shell."""
    import shlex

    arguments = click.get_current_context().find_root().obj
    return None if arguments is None else shlex.join(["abstain", *arguments])
