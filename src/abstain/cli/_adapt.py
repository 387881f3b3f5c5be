"""``abstain adapt``: a saved rule and recent predictions in, the rule for today out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abstain.cli import _options as option
from abstain.cli._output import check_outputs, emit, stop_on_doubts, wrote

if TYPE_CHECKING:
    from abstain import Decisions, Policy


@click.command(
    cls=option.Grouped,
    epilog="Example: abstain adapt triage.json recent.csv --out triage-june.json",
)
@option.policy
@option.key_file
@option.batch
@option.scores
@option.reading()
@click.option("--out", type=option.FILE, help="Save the adapted rule as JSON.")
@click.option(
    "--drop-certificate", is_flag=True, help="Choose again although the rule is certified."
)
@option.force
@option.strict
@option.as_json
def adapt(
    policy: Path,
    batch: Path,
    *,
    key_file: Path | None,
    scores: str,
    reading: option.Reading,
    out: Path | None,
    drop_certificate: bool,
    force: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Estimate the class proportions of BATCH and choose the region of POLICY again.

    BATCH holds recent rows; no labels are needed. Says whether a change of proportions explains
    the recent scores; if not, do not use the adapted rule.
    """
    check_outputs(out, inputs=(policy, batch, key_file), force=force)

    from abstain import Policy
    from abstain._files import landing
    from abstain.cli._key import signing_key
    from abstain.cli._summary import facts, lines
    from abstain.cli._tables import read_predictions
    from abstain.exceptions import AssumptionWarning

    key = signing_key(key_file)
    old = Policy.load(policy, key=key)
    rows = read_predictions(batch, scores=scores, reading=reading, rule=old)
    recent = rows.scores_for(old.classes)
    new = old.adapt(recent, drop_certificate=drop_certificate)
    with warnings.catch_warnings():
        # The same rows, of which adapting has warned.
        warnings.simplefilter("ignore", AssumptionWarning)
        now, before = new.apply(recent), old.apply(recent)
    found = facts(now.judged(assumption=new.assumption)) | _changes(old, before) | rows.remarks
    said = [*lines(found), "", _old_rule(found)]
    stop_on_doubts(found, said, as_json, strict=strict)
    with landing() as place:
        if out is not None:
            new.save(place(out), key=key)
        emit(found, said, as_json)
    wrote("the rule", out)


def _changes(old: Policy, before: Decisions) -> dict[str, Any]:
    return {"old_priors": old.priors, "old_withheld": int(before.abstain.sum())}


def _old_rule(found: dict[str, Any]) -> str:
    return f"The old rule would withhold {found['old_withheld']:,} of these rows."
