"""``abstain evaluate``: how a saved rule does on rows whose labels are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from abstain.cli import _options as option


@option.command(
    "abstain evaluate triage.json scored.csv --scores p_ill "
    "--labels followed-up.csv --id patient --label ill --group hospital --group sex"
)
@option.rule
@click.argument("labelled", type=option.FILE)
@option.columns("scores", "label", "labels", "identifier", "groups")
@option.reading(refer=True)
@option.metrics(
    help="Another metric to compute beside the rule's own; may be given several times."
)
@option.level
@option.outputs("as_json")
def evaluate(
    rule: option.SavedRule,
    labelled: Path,
    *,
    columns: option.Columns,
    reading: option.Reading,
    metrics: tuple[Any, ...],
    level: float,
    outputs: option.Outputs,
) -> None:
    """Apply the rule in POLICY to LABELLED and compare with the true labels.

    Prints the metric on all rows, on those kept and on those withheld, with intervals, by each
    --group, what had been estimated without labels, and whether the interval held what came
    true. Rows without a label are left out and counted.
    """
    if columns.labels is not None and columns.identifier is None:
        raise click.UsageError("--labels needs --id: the column, in both files, that names a row.")

    from abstain.cli._predictions import read_predictions
    from abstain.cli._true_labels import text_columns, true_labels
    from abstain.evaluation import evaluate as evaluated

    policy = rule.load()
    rows = read_predictions(labelled, option.Columns(columns.scores), reading, rule=policy)
    found = true_labels(labelled, columns, reading, rows.rows, policy)
    by = {}
    for name in columns.groups:
        column = text_columns(labelled, {"--group": name}, reading, rows.rows)[name]
        by[name] = [one or "(empty)" for one, own in zip(column, found.rows, strict=True) if own]
    classes = policy.classes
    decisions = policy.apply(
        rows.scores_for(classes).filter(found.rows), **rows.unscored_and_known(classes)
    )
    judged = evaluated(
        decisions,
        found.labels,
        groups=None if not by else by if len(by) > 1 else next(iter(by.values())),
        metrics=metrics,
        level=level,
    )
    said = [line for line in (found.line(), judged.to_text()) if line]
    option.emit(
        {**judged.to_dict(), "labels": found.counts, **rows.remarks}, said, outputs.as_json
    )
