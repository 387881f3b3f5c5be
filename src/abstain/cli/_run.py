"""``abstain run``: two files of predictions in, decisions out."""

import json
from pathlib import Path
from typing import Any

import click

from abstain.cli._amount import amount, amount_options
from abstain.cli._options import check_outputs, check_with, json_option

__all__ = ["run"]


def _metric(name: str) -> Any:
    from abstain import metrics

    return metrics.get(name)


@click.command(
    epilog="Example: abstain run validation.csv target.csv --label ill --scores p_ill "
    "--metric sensitivity@specificity=0.9 --budget 0.15 --out decisions.csv"
)
@click.argument("validation", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option(
    "--metric",
    required=True,
    callback=check_with(_metric),
    help="What to optimise, e.g. sensitivity@specificity=0.99, auroc, kappa:quadratic.",
)
@amount_options
@click.option(
    "--scores",
    default="p_*",
    show_default=True,
    help="The score column (binary: of the positive class), or a pattern with * that matches "
    "one column per class; what * stands for is the class name.",
)
@click.option("--label", default="y", show_default=True, help="The column with the true label.")
@click.option("--id", "identifier", help="The column that names a row; row numbers without it.")
@click.option(
    "--scale",
    type=click.Choice(["probabilities", "logits"]),
    default="probabilities",
    show_default=True,
    help="What the scores are.",
)
@click.option("--calibration", default="auto", show_default=True, help="How to calibrate.")
@click.option("--shift", default="em", show_default=True, help="How to estimate the shift.")
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
@click.option("--force", is_flag=True, help="Write over files that exist.")
@json_option
def run(
    validation: Path,
    target: Path,
    *,
    metric: Any,
    scores: str,
    label: str,
    identifier: str | None,
    scale: Any,
    calibration: str,
    shift: str,
    decision: Any,
    score: str | None,
    random_state: int,
    out: Path | None,
    policy_path: Path | None,
    force: bool,
    as_json: bool,
    **how_much: Any,
) -> None:
    """Choose which rows of TARGET go to a person.

    VALIDATION is a table (CSV or Parquet) of scores with true labels, TARGET one of scores of
    the same classifier on new rows; its labels, if any, are not looked at.
    """
    check_outputs(out, policy_path, force=force)
    settings = amount(**how_much)

    from abstain import Abstainer
    from abstain.cli._summary import facts, lines
    from abstain.cli._tables import read_predictions, write_decisions

    source = read_predictions(validation, scores=scores, label=label)
    new = read_predictions(target, scores=scores, identifier=identifier)
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
    labels, classes = _named_classes(source.labels, source.classes)
    abstainer.fit(source.scores, labels, classes=classes)
    decisions = abstainer.decide(new.scores)
    if out is not None:
        write_decisions(out, decisions, new.ids, identifier or "row")
    if policy_path is not None:
        decisions.policy.save(policy_path)
    found = facts(decisions)
    click.echo(json.dumps(found, indent=2) if as_json else "\n".join(lines(found)))
    for path, what in ((out, "decisions"), (policy_path, "the rule")):
        if path is not None:
            click.echo(f"Wrote {what} to {path}", err=True)


def _named_classes(labels: Any, names: list[str] | None) -> tuple[Any, Any]:
    """Compare labels with column names as text, unless they are numbers on both sides."""
    if names is None:
        return labels, None
    if labels.dtype.kind in "iu" and all(name.lstrip("-").isdigit() for name in names):
        return labels, [int(name) for name in names]
    return labels.astype(str), names
