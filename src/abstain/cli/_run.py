"""``abstain run``: two files of predictions in, decisions out."""

from pathlib import Path
from typing import Any

import click

from abstain.cli import _options as option
from abstain.cli._amount import amount, amount_options
from abstain.cli._output import check_outputs, emit, stop_on_doubts, wrote

__all__ = ["run"]


@click.command(
    epilog="Example: abstain run validation.csv batch.csv --label ill --scores p_ill "
    "--metric sensitivity@specificity=0.9 --budget 0.15 --out decisions.csv --report report.html"
)
@option.validation
@option.batch
@option.metric
@amount_options
@option.scores
@option.label
@option.identifier
@option.group
@option.scale
@option.calibration
@option.shift
@option.decision
@click.option(
    "--score", help="Withhold by this score of uncertainty instead, e.g. max-probability."
)
@option.level
@option.random_state
@option.out
@click.option("--policy", type=option.FILE, help="Save the rule as JSON.")
@click.option(
    "--report",
    type=option.FILE,
    help="Write a page about the decisions: one HTML file, to open, mail or print.",
)
@option.force
@option.strict
@option.as_json
def run(
    validation: Path,
    batch: Path,
    *,
    scores: str,
    label: str,
    identifier: str | None,
    group: str | None,
    out: Path | None,
    policy: Path | None,
    report: Path | None,
    force: bool,
    strict: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Choose which rows of BATCH go to a person.

    VALIDATION is a table (CSV or Parquet) of scores with true labels, BATCH one of scores of
    the same classifier on new rows; its labels, if any, are not looked at. Either may be a
    quoted pattern of many files, such as 'site-*.csv.gz'.
    """
    check_outputs(out, policy, report, force=force)
    parameters = amount(**settings)

    from abstain import Abstainer
    from abstain.cli._report import write_report
    from abstain.cli._summary import facts, lines
    from abstain.cli._tables import read_predictions, write_decisions

    source = read_predictions(validation, scores=scores, label=label)
    new = read_predictions(batch, scores=scores, identifier=identifier, group=group)
    abstainer = Abstainer(**parameters)
    abstainer.fit(source.scores, source.labels, classes=source.classes)
    decisions = abstainer.decide(new.scores_for(abstainer.classes_))
    found = facts(decisions)
    stop_on_doubts(found, lines(found), as_json, strict=strict)
    if out is not None:
        write_decisions(out, decisions, new.ids, new.id_name)
    if policy is not None:
        decisions.policy.save(policy)
    if report is not None:
        write_report(report, decisions, new, source)
    emit(found, lines(found), as_json)
    wrote("decisions", out)
    wrote("the rule", policy)
    wrote("the report", report)
