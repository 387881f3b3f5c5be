"""``abstain evaluate``: how a saved rule does on rows whose labels are known."""

from pathlib import Path
from typing import Any

import click

from abstain.cli import _options as option
from abstain.cli._output import emit

__all__ = ["evaluate"]


@click.command(
    epilog="Example: abstain evaluate triage.json followed-up.csv --scores p_ill --label ill "
    "--group hospital"
)
@option.policy
@click.argument("labelled", type=option.FILE)
@option.scores
@option.label
@option.group
@option.metrics(
    help="Another metric to compute beside the rule's own; may be given several times."
)
@option.as_json
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
    what had been estimated without labels, and whether the interval held what came true.
    """
    from abstain import Policy
    from abstain.cli._tables import read_predictions
    from abstain.evaluation import evaluate as evaluated

    rule = Policy.load(policy)
    rows = read_predictions(labelled, scores=scores, label=label, group=group)
    decisions = rule.apply(rows.scores_for(rule.classes))
    found = evaluated(decisions, rows.labels, groups=rows.groups, metrics=metrics)
    emit(found.to_dict(), [found.to_text()], as_json)
