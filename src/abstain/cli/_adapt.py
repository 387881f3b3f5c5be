"""``abstain adapt``: a saved rule and recent predictions in, the rule for today out."""

from __future__ import annotations

import warnings
from pathlib import Path

import click

from abstain.cli import _options as option


@option.command("abstain adapt triage.json recent.csv --out triage-june.json")
@option.rule
@option.batch
@option.columns("scores")
@option.reading()
@click.option(
    "--drop-certificate", is_flag=True, help="Choose again although the rule is certified."
)
@option.outputs("force", "strict", "as_json", out="Save the adapted rule as JSON.")
def adapt(
    rule: option.SavedRule,
    batch: Path,
    *,
    columns: option.Columns,
    reading: option.Reading,
    drop_certificate: bool,
    outputs: option.Outputs,
) -> None:
    """Estimate the class proportions of BATCH and choose the region of POLICY again.

    BATCH holds recent rows; no labels are needed. Says what probably happened to them; if nothing
    that was weighed explains their scores, do not use the adapted rule.
    """
    outputs.check(rule.policy, batch, rule.key_file, table=False)

    from abstain.cli._predictions import read_predictions
    from abstain.cli._summary import facts, lines
    from abstain.exceptions import AssumptionWarning

    old = rule.load()
    rows = read_predictions(batch, columns, reading, rule=old)
    recent = rows.scores_for(old.classes)
    new = old.adapt(recent, drop_certificate=drop_certificate)
    with warnings.catch_warnings():
        # The same rows, of which adapting has warned.
        warnings.simplefilter("ignore", AssumptionWarning)
        now, before = new.apply(recent), old.apply(recent)
    withheld = int(before.abstain.sum())
    changes = {"old_priors": old.priors, "old_withheld": withheld}
    found = facts(now.judged(assumption=new.assumption)) | changes | rows.remarks
    said = [*lines(found), "", f"The old rule would withhold {withheld:,} of these rows."]
    with outputs.landing(found, said, "the rule") as place:
        if outputs.out is not None:
            new.save(place(outputs.out), key=rule.key)
