"""Options that several commands share, and checks that make them errors of the command."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

__all__ = [
    "calibration_option",
    "check_outputs",
    "check_with",
    "force_option",
    "group_option",
    "id_option",
    "json_option",
    "label_option",
    "metric_option",
    "scale_option",
    "scores_option",
    "shift_option",
    "this_command",
]


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


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON, for machines."
)
force_option = click.option("--force", is_flag=True, help="Write over files that exist.")
metric_option = click.option(
    "--metric",
    required=True,
    callback=check_with(_metric),
    shell_complete=_known_metrics,
    help="What to optimise, e.g. sensitivity@specificity=0.99, auroc, kappa:quadratic; "
    "`abstain metrics` lists them.",
)
scores_option = click.option(
    "--scores",
    default="p_*",
    show_default=True,
    help="The score column (binary: of the positive class), or a pattern with * that matches "
    "one column per class; what * stands for is the class name.",
)
label_option = click.option(
    "--label", default="y", show_default=True, help="The column with the true label."
)
id_option = click.option(
    "--id", "identifier", help="The column that names a row; row numbers without it."
)
group_option = click.option(
    "--group", help="A column to compare rates by, such as a hospital or a sex."
)
scale_option = click.option(
    "--scale",
    type=click.Choice(["probabilities", "logits"]),
    default="probabilities",
    show_default=True,
    help="What the scores are.",
)
calibration_option = click.option(
    "--calibration", default="auto", show_default=True, help="How to calibrate."
)
shift_option = click.option(
    "--shift", default="em", show_default=True, help="How to estimate the shift."
)


def check_outputs(*paths: Path | None, force: bool) -> None:
    """Refuse, before any work, to write where something stands or no folder is."""
    for path in paths:
        if path is None:
            continue
        if not path.parent.is_dir():
            raise click.UsageError(f"Cannot write {path}: there is no folder {path.parent}.")
        if path.exists() and not force:
            raise click.UsageError(f"{path} exists; add --force to write over it.")


def this_command() -> str | None:
    """Return the command as it was typed, quoted for a shell."""
    import shlex

    arguments = click.get_current_context().find_root().obj
    return None if arguments is None else shlex.join(["abstain", *arguments])
