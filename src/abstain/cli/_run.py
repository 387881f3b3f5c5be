"""``abstain run``: two files of predictions in, decisions out."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abstain.cli._amount import amount, amount_options
from abstain.cli._options import (
    calibration_option,
    check_outputs,
    force_option,
    group_option,
    id_option,
    json_option,
    label_option,
    metric_option,
    scale_option,
    scores_option,
    shift_option,
)

if TYPE_CHECKING:
    from abstain import Decisions
    from abstain.cli._tables import Predictions

__all__ = ["run"]


@click.command(
    epilog="Example: abstain run validation.csv target.csv --label ill --scores p_ill "
    "--metric sensitivity@specificity=0.9 --budget 0.15 --out decisions.csv --report report.html"
)
@click.argument("validation", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@metric_option
@amount_options
@scores_option
@label_option
@id_option
@group_option
@scale_option
@calibration_option
@shift_option
@click.option(
    "--decision",
    type=click.Choice(["argmax", "optimal"]),
    default="argmax",
    show_default=True,
    help="Predict the most probable class, or the class that suits the metric.",
)
@click.option(
    "--score", help="Withhold by this score of uncertainty instead, e.g. max-probability."
)
@click.option("--random-state", type=int, default=0, show_default=True, help="Seed.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write one row per decision (CSV or Parquet)."
)
@click.option(
    "--policy", "policy_path", type=click.Path(path_type=Path), help="Save the rule as JSON."
)
@click.option(
    "--report",
    "report_path",
    type=click.Path(path_type=Path),
    help="Write a page about the decisions: one HTML file, to open, mail or print.",
)
@force_option
@json_option
def run(
    validation: Path,
    target: Path,
    *,
    metric: Any,
    scores: str,
    label: str,
    identifier: str | None,
    group: str | None,
    scale: Any,
    calibration: str,
    shift: str,
    decision: Any,
    score: str | None,
    random_state: int,
    out: Path | None,
    policy_path: Path | None,
    report_path: Path | None,
    force: bool,
    as_json: bool,
    **how_much: Any,
) -> None:
    """Choose which rows of TARGET go to a person.

    VALIDATION is a table (CSV or Parquet) of scores with true labels, TARGET one of scores of
    the same classifier on new rows; its labels, if any, are not looked at. Either may be a
    quoted pattern of many files, such as 'site-*.csv.gz'.
    """
    check_outputs(out, policy_path, report_path, force=force)
    settings = amount(**how_much)

    from abstain import Abstainer
    from abstain.cli._summary import facts, lines
    from abstain.cli._tables import named_classes, read_predictions, scores_for

    source = read_predictions(validation, scores=scores, label=label)
    new = read_predictions(target, scores=scores, identifier=identifier, group=group)
    abstainer = Abstainer(
        metric,
        **settings,
        score=score,
        decision=decision,
        calibration=calibration,
        shift=shift,
        scale=scale,
        random_state=random_state,
    )
    labels, classes = named_classes(source.labels, source.classes)
    abstainer.fit(source.scores, labels, classes=classes)
    decisions = abstainer.decide(scores_for(new, abstainer.classes_, target))
    paths = {"decisions": out, "the rule": policy_path, "the report": report_path}
    _write(paths, decisions, (source.scores, labels), (source.files, new), (identifier, group))
    found = facts(decisions)
    click.echo(json.dumps(found, indent=2) if as_json else "\n".join(lines(found)))
    for what, path in paths.items():
        if path is not None:
            click.echo(f"Wrote {what} to {path}", err=True)


def _write(
    paths: dict[str, Path | None],
    decisions: "Decisions",
    validation: tuple[Any, Any],
    sources: tuple[tuple[Path, ...], "Predictions"],
    names: tuple[str | None, str | None],
) -> None:
    """Write what was asked for: the decisions, the rule, the report."""
    from abstain.cli._report import write_report
    from abstain.cli._tables import write_decisions

    out, policy, report = paths.values()
    files, new = sources
    if out is not None:
        write_decisions(out, decisions, new.ids, names[0] or "row")
    if policy is not None:
        decisions.policy.save(policy)
    if report is not None:
        inputs = (*files, *new.files)
        write_report(report, decisions, new, validation=validation, names=names, inputs=inputs)
