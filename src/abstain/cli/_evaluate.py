"""``abstain evaluate``: how a saved rule does on rows whose labels are known."""

import json
from pathlib import Path
from typing import Any

import click

from abstain.cli._options import (
    check_with,
    group_option,
    json_option,
    label_option,
    scores_option,
)

__all__ = ["evaluate"]


def _metrics(names: tuple[str, ...]) -> tuple[Any, ...]:
    from abstain import metrics

    return tuple(metrics.get(name) for name in names)


@click.command(
    epilog="Example: abstain evaluate triage.json followed-up.csv --scores p_ill --label ill "
    "--group hospital"
)
@click.argument("policy", type=click.Path(path_type=Path))
@click.argument("labelled", type=click.Path(path_type=Path))
@scores_option
@label_option
@group_option
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    callback=check_with(_metrics),
    help="Another metric to compute beside the rule's own; may be given several times.",
)
@json_option
def evaluate(
    policy: Path,
    labelled: Path,
    *,
    scores: str,
    label: str,
    group: str | None,
    metrics: tuple[Any, ...],
    as_json: bool,
) -> None:
    """Apply the rule in POLICY to LABELLED and compare with the true labels.

    Prints the metric on all rows, on those kept and on those withheld, per group with --group,
    and what had been estimated without labels.
    """
    from abstain import Policy
    from abstain.cli._tables import named_classes, read_predictions, scores_for
    from abstain.evaluation import evaluate as evaluated

    rule = Policy.load(policy)
    rows = read_predictions(labelled, scores=scores, label=label, group=group)
    y_true, _ = named_classes(rows.labels, rows.classes)
    decisions = rule.apply(scores_for(rows, rule.classes, labelled))
    found = evaluated(decisions, y_true, groups=rows.groups, metrics=metrics)
    click.echo(json.dumps(found.to_dict(), indent=2) if as_json else found.to_text())
