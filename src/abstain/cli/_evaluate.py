"""``abstain evaluate``: how a saved rule does on rows whose labels are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from abstain.cli import _options as option
from abstain.cli._output import emit


@click.command(
    cls=option.Grouped,
    epilog="Example: abstain evaluate triage.json scored.csv --scores p_ill "
    "--labels followed-up.csv --id patient --label ill --group hospital --group sex",
)
@option.policy
@option.key_file
@click.argument("labelled", type=option.FILE)
@option.scores
@option.label
@click.option(
    "--labels",
    type=option.FILE,
    help="Take the labels from this file, by the id in the column --id of both; without it they "
    "are in LABELLED.",
)
@option.identifier
@option.groups
@option.reading(refer=True)
@option.metrics(
    help="Another metric to compute beside the rule's own; may be given several times."
)
@option.level
@option.as_json
def evaluate(
    policy: Path,
    labelled: Path,
    *,
    key_file: Path | None,
    scores: str,
    label: str,
    labels: Path | None,
    identifier: str | None,
    groups: tuple[str, ...],
    reading: option.Reading,
    metrics: tuple[Any, ...],
    level: float,
    as_json: bool,
) -> None:
    """Apply the rule in POLICY to LABELLED and compare with the true labels.

    Prints the metric on all rows, on those kept and on those withheld, with intervals, by each
    --group, what had been estimated without labels, and whether the interval held what came
    true. Rows without a label are left out and counted.
    """
    if labels is not None and identifier is None:
        raise click.UsageError("--labels needs --id: the column, in both files, that names a row.")

    from abstain import Policy
    from abstain.cli._followed_up import followed_up, text_columns
    from abstain.cli._key import signing_key
    from abstain.cli._tables import read_predictions
    from abstain.evaluation import evaluate as evaluated

    rule = Policy.load(policy, key=signing_key(key_file))
    rows = read_predictions(labelled, scores=scores, reading=reading, rule=rule)
    wanted = {"--label": label} if labels is None else {"--id": str(identifier)}
    texts = text_columns(labelled, wanted, reading, rows.rows)
    found = followed_up(
        texts,
        rule.classes.tolist(),
        file=labelled,
        label=label,
        identifier=identifier,
        labels=labels,
        reading=reading,
    )
    by = {}
    for name in groups:
        column = text_columns(labelled, {"--group": name}, reading, rows.rows)[name]
        by[name] = [one or "(empty)" for one, own in zip(column, found.rows, strict=True) if own]
    decisions = rule.apply(
        rows.scores_for(rule.classes).filter(found.rows), **rows.aside(rule.classes)
    )
    judged = evaluated(
        decisions,
        found.labels,
        groups=None if not by else by if len(by) > 1 else next(iter(by.values())),
        metrics=metrics,
        level=level,
    )
    said = judged.to_text()
    if found.line():
        said = f"{found.line()}\n{said}"
    emit({**judged.to_dict(), "labels": found.counts, **rows.remarks}, [said], as_json)
