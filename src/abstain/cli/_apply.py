"""``abstain apply``: a saved rule and new predictions in, decisions out."""

from pathlib import Path

import click

from abstain.cli import _options as option
from abstain.cli._output import check_outputs, emit, stop_on_doubts, wrote

__all__ = ["apply"]


@click.command(epilog="Example: abstain apply triage.json batch.csv --scores p_ill --out out.csv")
@option.policy
@option.batch
@option.scores
@option.identifier
@option.out
@option.force
@option.strict
@option.as_json
def apply(
    policy: Path,
    batch: Path,
    *,
    scores: str,
    identifier: str | None,
    out: Path | None,
    force: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Decide about the rows of BATCH by the rule in POLICY, as it stands.

    Scores must be of the classifier, and on the scale, that the policy was made with.
    """
    check_outputs(out, force=force)

    from abstain import Policy
    from abstain.cli._summary import facts, lines
    from abstain.cli._tables import read_predictions, write_decisions

    rule = Policy.load(policy)
    rows = read_predictions(batch, scores=scores, identifier=identifier)
    decisions = rule.apply(rows.scores_for(rule.classes))
    found = facts(decisions)
    stop_on_doubts(found, lines(found), as_json, strict=strict)
    if out is not None:
        write_decisions(out, decisions, rows.ids, rows.id_name)
    emit(found, lines(found), as_json)
    wrote("decisions", out)
